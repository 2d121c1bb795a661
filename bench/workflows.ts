import { join } from "node:path";
import { openHoldfast, startWorkflow, workWorkflows } from "../src/index.ts";
import { startPostgres } from "../test/support/servers/postgres-server.ts";
import { startRedis } from "../test/support/servers/redis-server.ts";
import { openBullmq, openGraphileWorker } from "./peers.ts";
import type { Figure } from "./report.ts";
import { spreadOf } from "./rounds.ts";
import type { Surroundings } from "./surroundings.ts";

const items = 100;
const steps = 5;
const concurrency = 16;
const rounds = 3;

/** Items of five steps that do nothing, each stored before the next begins, to measure the cost of storing. */
export async function measureWorkflows({ folder, progress }: Surroundings): Promise<Figure[]> {
  await using postgres = await startPostgres();
  await using redis = await startRedis({ appendfsync: "always" });
  const stores = { SQLite: `sqlite:${join(folder, "workflows.db")}`, PostgreSQL: postgres.url, "Redis (appendfsync always)": redis.url };
  const shape = { items, steps, concurrency };
  const contenders: { readonly name: string; readonly run: () => Promise<number> }[] = [{ name: "bare functions", run: bareRate }];
  const closers: (() => Promise<unknown>)[] = [];
  for (const [name, store] of Object.entries(stores)) {
    const holdfast = await openHoldfast({ store });
    closers.push(() => holdfast.close());
    for (const effect of [false, true]) contenders.push({ name: `runWorkflow on ${name}${effect ? ", steps are effects" : ""}`, run: () => workflowRate(holdfast, effect) });
  }
  for (const open of [() => openBullmq(redis, shape), () => openGraphileWorker(postgres, shape)]) {
    const peer = await open();
    contenders.push(peer);
    closers.push(peer.close);
  }
  const rates = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  // Alternating, so that all have the same conditions; the first round warms up.
  for (let round = 0; round <= rounds; round += 1)
    for (const { name, run } of contenders) {
      progress(`workflows, round ${round} of ${rounds}: ${name}`);
      const rate = await run();
      if (round > 0) rates.get(name)?.push(rate);
    }
  for (const close of closers) await close();
  return [...rates].map(([name, values]) => ({ what: `items of ${steps} stored steps, ${name}`, unit: "per second", value: spreadOf(values) }));
}

const perSecond = async (work: () => Promise<unknown>): Promise<number> => {
  const beganMs = performance.now();
  await work();
  return (items * 1_000) / (performance.now() - beganMs);
};

async function doNothing(step: number): Promise<number> {
  return step;
}

function bareRate(): Promise<number> {
  return perSecond(async () => {
    const left = Array.from({ length: items }, (_, i) => i).values();
    const line = async (): Promise<void> => {
      for (const _ of left) for (let i = 1; i <= steps; i += 1) await doNothing(i);
    };
    await Promise.all(Array.from({ length: concurrency }, line));
  });
}

let rounded = 0;

async function workflowRate(holdfast: Awaited<ReturnType<typeof openHoldfast>>, effect: boolean): Promise<number> {
  rounded += 1;
  const name = `bench-${rounded}`;
  await Promise.all(Array.from({ length: items }, () => startWorkflow(holdfast, { name, input: null })));
  return perSecond(() =>
    workWorkflows(holdfast, { name, concurrency, stopsWhenIdle: true }, async (step) => {
      for (let i = 1; i <= steps; i += 1) await step.run(`step ${i}`, () => doNothing(i), { effect });
    }),
  );
}
