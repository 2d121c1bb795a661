import type { CampaignContext, CampaignResult } from "../campaign.ts";
import { Arena, asNumber, pause, whileAlive } from "../campaign.ts";
import type { ExpiringWrite, Look } from "../checkers/expiry.ts";
import { checkExpiry } from "../checkers/expiry.ts";
import { startWorkers } from "../worker-process.ts";

/** The minimum number of entries and reads: on a slow machine, a fixed time might pass without any. */
const entriesMin = 20;

/** G6. Entries live 1 to 120 ms, and readers in other processes read every millisecond. Entries must be present until they expire and absent from then on. */
export async function expiring(context: CampaignContext, { forMs }: { readonly forMs: number }): Promise<CampaignResult> {
  await using arena = new Arena(context, "expiry");
  const writes: ExpiringWrite[] = [];
  const looks: Look[] = [];
  const readers = await startWorkers(2, () =>
    arena.start("expiry", { role: "reader" }, (message, { name }) =>
      looks.push({ by: name, revision: asNumber(message.revision), nowMs: asNumber(message.nowMs), keys: message.keys as readonly string[] }),
    ),
  );
  const writers = await startWorkers(2, () =>
    arena.start("expiry", { role: "writer" }, (message) =>
      writes.push({
        key: String(message.key),
        ttlMs: asNumber(message.ttlMs),
        revision: asNumber(message.revision),
        atMs: asNumber(message.atMs),
        expiresAtMs: asNumber(message.expiresAtMs),
      }),
    ),
  );
  const everyone = [...readers, ...writers];
  for (let slice = 1; slice <= 10; slice += 1) {
    await whileAlive(everyone, pause(forMs / 10));
    arena.progress(slice / 10);
  }
  while (writes.length < entriesMin || looks.length < entriesMin) await whileAlive(everyone, pause(5));
  for (const worker of everyone) worker.kill();
  await Promise.all(everyone.map((worker) => worker.ended));
  return { figures: { entries: writes.length, looks: looks.length }, violations: checkExpiry(writes, looks) };
}
