import { expect } from "vitest";
import { spawnWorker } from "./spawn-worker.ts";

/** Eight processes, all started, open the same new file at one word, and each of them commits. */
export async function openAtOnce(path: string): Promise<void> {
  const workers = Array.from({ length: 8 }, (_, i) => spawnWorker<{ revision?: number }>("sqlite-opener", { path, key: `k${i}` }));
  for (const worker of workers) await worker.next();
  for (const worker of workers) worker.send({});
  const revisions = await Promise.all(workers.map(async (worker) => (await worker.next()).revision));
  expect(revisions.sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  for (const worker of workers) worker.send({ stop: true });
  await Promise.all(workers.map((worker) => worker.ended()));
}
