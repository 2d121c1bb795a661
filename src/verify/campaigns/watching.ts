import type { Change } from "../../store/store.ts";
import type { CampaignContext, CampaignResult } from "../campaign.ts";
import { Arena, pause, whileAlive } from "../campaign.ts";
import { checkWatch } from "../checkers/watch.ts";
import { between } from "../random.ts";
import { readWholeLog } from "../read-whole.ts";
import { startWorkers } from "../worker-process.ts";

/** Before a watcher is killed it has seen so many changes at least: on a slow machine the time alone would show nothing. */
const changesMin = 3;
const catchUpMs = 120_000;

/** G10. While several processes write, a watcher is killed and begun again after the last revision it had seen; together its lives see every change once, in order, whole. */
export async function watching(context: CampaignContext, { lives, writers }: { readonly lives: number; readonly writers: number }): Promise<CampaignResult> {
  await using arena = new Arena(context, "watch");
  const load = await startWorkers(writers, () => arena.start("load"));
  const told: { after: number; changes: Change[] }[] = [];
  let after = 0;
  const watch = () => {
    const life: { after: number; changes: Change[] } = { after, changes: [] };
    told.push(life);
    return arena.start("watch", { after }, ({ change }) => {
      life.changes.push(change as unknown as Change);
      after = (change as unknown as Change).revision;
    });
  };
  for (let life = 1; life < lives; life += 1) {
    const watcher = watch();
    await Promise.race([watcher.ready, watcher.ended]);
    await Promise.race([pause(between(arena.random, 10, 120)), watcher.ended]);
    while ((told.at(-1)?.changes.length ?? 0) < changesMin) await whileAlive([watcher, ...load], pause(5));
    watcher.kill();
    await watcher.ended;
    arena.progress(life / lives);
  }
  const last = watch();
  await Promise.race([last.ready, last.ended]);
  for (const worker of load) worker.kill();
  await Promise.all(load.map((worker) => worker.ended));
  const { revision } = await arena.store.position();
  // Waiting for one that misses the very last revision would never end: more follow it. One that sees nothing any more is not waited for for ever.
  for (const until = Date.now() + catchUpMs; after < revision && Date.now() < until; ) {
    await arena.store.commit({ writer: "verify", writes: [{ op: "put", key: "end", value: revision }] });
    await Promise.race([pause(50), last.ended]);
  }
  last.kill();
  await last.ended;
  // A server may have applied what a killed writer had sent after the watcher was asked to end: it had to see all that was there before that, and what it saw beyond.
  const rows = (await readWholeLog(arena.store)).rows.filter((row) => row.revision <= Math.max(revision, after));
  return {
    figures: { watcher_lives: lives, writers, revisions_seen: new Set(told.flatMap(({ changes }) => changes.map((change) => change.revision))).size, log_rows: rows.length },
    violations: checkWatch({ lives: told, rows }),
  };
}
