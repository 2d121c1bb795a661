import type { CampaignContext, CampaignResult } from "../campaign.ts";
import { Arena, asNumber, pause } from "../campaign.ts";
import type { ExpiringWrite, Look } from "../checkers/expiry.ts";
import { checkExpiry } from "../checkers/expiry.ts";
import { startWorkers } from "../worker-process.ts";

/** G6. Entries that live 1 to 120 ms, and readers in other processes that look every millisecond: there until their time, gone from then on. */
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
    await Promise.race([pause(forMs / 10), ...everyone.map((worker) => worker.ended)]);
    arena.progress(slice / 10);
  }
  for (const worker of everyone) worker.kill();
  await Promise.all(everyone.map((worker) => worker.ended));
  return { figures: { entries: writes.length, looks: looks.length }, violations: checkExpiry(writes, looks) };
}
