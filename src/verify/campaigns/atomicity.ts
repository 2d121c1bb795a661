import type { CampaignContext, CampaignResult } from "../campaign.ts";
import { Arena, asNumber, pause, whileAlive } from "../campaign.ts";
import type { Sighting } from "../checkers/atomic.ts";
import { checkAtomic } from "../checkers/atomic.ts";
import { atomicMembers } from "../jobs/atomic.ts";
import { startWorkers } from "../worker-process.ts";

/** The minimum number of commits and reads per round: on a slow machine, a fixed time might pass without any. */
const roundMin = 5;

/** G5. Writers repeatedly set eight keys to one value. Readers in other processes read all the while and never see a mixture. Writers are killed and replaced. */
export async function atomicity(context: CampaignContext, { forMs, kills }: { readonly forMs: number; readonly kills: number }): Promise<CampaignResult> {
  await using arena = new Arena(context, "atomic");
  const sightings: Sighting[] = [];
  let commits = 0;
  const readers = await startWorkers(2, () =>
    arena.start("atomic", { role: "reader" }, (message, { name }) =>
      sightings.push({ by: name, revision: asNumber(message.revision), values: message.values as Readonly<Record<string, unknown>> }),
    ),
  );
  for (let killed = 0; killed <= kills; killed += 1) {
    const countCommit = (): void => {
      commits += 1;
    };
    const [commitsBefore, looksBefore] = [commits, sightings.length];
    const writers = await startWorkers(2, () => arena.start("atomic", { role: "writer" }, countCommit));
    const everyone = [...readers, ...writers];
    await whileAlive(everyone, pause(forMs / (kills + 1)));
    while (commits < commitsBefore + roundMin || sightings.length < looksBefore + roundMin) await whileAlive(everyone, pause(5));
    for (const writer of writers) writer.kill();
    await Promise.all(writers.map((writer) => writer.ended));
    arena.progress((killed + 1) / (kills + 1));
  }
  for (const reader of readers) reader.kill();
  await Promise.all(readers.map((reader) => reader.ended));
  return { figures: { commits_of_8_keys: commits, looks: sightings.length, writers_killed: 2 * (kills + 1) }, violations: checkAtomic(atomicMembers, sightings) };
}
