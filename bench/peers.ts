import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { projectRoot } from "../test/support/servers/server-programs.ts";

/** Other queues, only for comparison: installed into the cache when the bench first runs, never dependencies of the project. */
const cacheFolder = process.env.HOLDFAST_TEST_CACHE ?? join(projectRoot, ".cache");
const versions = { bullmq: "6.7.0", "graphile-worker": "0.18.0" } as const;

function requirePeer<Module>(name: keyof typeof versions): Module {
  const folder = join(cacheFolder, "bench-peers", `${name}-${versions[name]}`);
  if (!existsSync(join(folder, "node_modules", name))) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{"private":true}\n');
    const { status, stderr } = spawnSync("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", `${name}@${versions[name]}`], { cwd: folder, encoding: "utf8" });
    if (status !== 0) throw new Error(`${name} could not be installed for comparison: ${stderr}`);
  }
  return createRequire(join(folder, "package.json"))(name) as Module;
}

export interface Shape {
  readonly items: number;
  readonly steps: number;
  readonly concurrency: number;
}

export interface Peer {
  readonly name: string;
  run(): Promise<number>;
  close(): Promise<unknown>;
}

interface Job {
  readonly data: { readonly step: number };
  updateData(data: { readonly step: number }): Promise<void>;
}
interface Bullmq {
  readonly Queue: new (name: string, options: object) => { addBulk(jobs: readonly object[]): Promise<unknown>; close(): Promise<unknown> };
  readonly Worker: new (
    name: string,
    work: (job: Job) => Promise<unknown>,
    options: object,
  ) => { on(event: "completed", listener: () => void): unknown; close(): Promise<unknown> };
}

/** One job per item, which stores its progress after each step, as its manual shows. */
export async function openBullmq({ port }: { readonly port: number }, { items, steps, concurrency }: Shape): Promise<Peer> {
  const { Queue, Worker } = requirePeer<Bullmq>("bullmq");
  const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };
  const queue = new Queue("bench", { connection });
  return {
    name: `BullMQ ${versions.bullmq} on Redis (appendfsync always)`,
    async run() {
      await queue.addBulk(Array.from({ length: items }, () => ({ name: "item", data: { step: 0 } })));
      const beganMs = performance.now();
      let done = 0;
      const work = async (job: Job): Promise<void> => {
        for (let step = 1; step <= steps; step += 1) await job.updateData({ step });
      };
      const worker = new Worker("bench", work, { connection, concurrency });
      await new Promise<void>((resolve) => {
        worker.on("completed", () => {
          done += 1;
          if (done === items) resolve();
        });
      });
      const rate = (items * 1_000) / (performance.now() - beganMs);
      await worker.close();
      return rate;
    },
    close: () => queue.close(),
  };
}

interface Helpers {
  addJob(task: string, payload: object): Promise<unknown>;
}
interface GraphileWorker {
  run(options: object): Promise<{ stop(): Promise<unknown> }>;
  makeWorkerUtils(options: object): Promise<{ migrate(): Promise<void>; addJobs(jobs: readonly object[]): Promise<unknown>; release(): Promise<unknown> }>;
  readonly Logger: new (factory: () => () => void) => object;
}

/** One job per step, which adds the next one, because it has no steps. */
export async function openGraphileWorker({ url }: { readonly url: string }, { items, steps, concurrency }: Shape): Promise<Peer> {
  const { run, makeWorkerUtils, Logger } = requirePeer<GraphileWorker>("graphile-worker");
  const logger = new Logger(() => () => {});
  const shared = { connectionString: url, logger };
  const utils = await makeWorkerUtils(shared);
  await utils.migrate();
  return {
    name: `graphile-worker ${versions["graphile-worker"]} on PostgreSQL, a job for each step`,
    async run() {
      await utils.addJobs(Array.from({ length: items }, () => ({ identifier: "step", payload: { step: 1 } })));
      let done = 0;
      let end: () => void = () => {};
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      const step = async (payload: { readonly step: number }, { addJob }: Helpers): Promise<void> => {
        if (payload.step < steps) await addJob("step", { step: payload.step + 1 });
        else done += 1;
        if (done === items) end();
      };
      const beganMs = performance.now();
      const runner = await run({ ...shared, concurrency, pollInterval: 100, noHandleSignals: true, taskList: { step } });
      await ended;
      const rate = (items * 1_000) / (performance.now() - beganMs);
      await runner.stop();
      return rate;
    },
    close: () => utils.release(),
  };
}
