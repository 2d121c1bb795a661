import type { Change } from "../../store/store.ts";
import type { CampaignContext, CampaignResult } from "../campaign.ts";
import { Arena, pause, whileAlive } from "../campaign.ts";
import { checkWatch } from "../checkers/watch.ts";
import { between } from "../random.ts";
import { readWholeLog } from "../read-whole.ts";
import { startWorkers } from "../worker-process.ts";

/** A watcher sees at least this many changes before it is killed: on a slow machine, a fixed time might pass without any. */
const changesMin = 3;
const catchUpMs = 120_000;

/**
 * G10. While several processes write, a watcher is repeatedly killed and restarted after the last
 * revision it saw. Together its lives see every change once, in order and complete.
 */
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
  // Further commits follow, so that a watcher that missed exactly the last revision still gets
  // past it. The wait is limited in case the watcher sees nothing any more.
  for (const until = Date.now() + catchUpMs; after < revision && Date.now() < until; ) {
    await arena.store.commit({ writer: "verify", writes: [{ op: "put", key: "end", value: revision }] });
    await Promise.race([pause(50), last.ended]);
  }
  last.kill();
  await last.ended;
  // A server may apply a killed writer's last commits after the watcher was killed. The watcher must have
  // seen everything up to `revision`, and whatever it saw beyond that is checked too.
  const rows = (await readWholeLog(arena.store)).rows.filter((row) => row.revision <= Math.max(revision, after));
  return {
    figures: { watcher_lives: lives, writers, revisions_seen: new Set(told.flatMap(({ changes }) => changes.map((change) => change.revision))).size, log_rows: rows.length },
    violations: checkWatch({ lives: told, rows }),
  };
}
