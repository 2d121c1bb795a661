import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { openEngine } from "../engines/open-store.ts";
import { systemClock } from "../kernel/clock.ts";
import { openNamespaceStore } from "../store/namespace-store.ts";
import type { Engine } from "../store/store.ts";
import type { RunJob } from "./job.ts";
import { atomicJob } from "./jobs/atomic.ts";
import { claimJob } from "./jobs/claim.ts";
import { effectsJob } from "./jobs/effects.ts";
import { expiryJob } from "./jobs/expiry.ts";
import { incrementJob } from "./jobs/increment.ts";
import { leaseJob } from "./jobs/lease.ts";
import { loadJob } from "./jobs/load.ts";
import { oneByOneJob } from "./jobs/one-by-one.ts";
import { retryJob } from "./jobs/retry.ts";
import { stepsJob } from "./jobs/steps.ts";
import { watchJob } from "./jobs/watch.ts";
import { seededRandom } from "./random.ts";
import type { Job, WorkerMessage } from "./worker-process.ts";

const jobs: Readonly<Record<string, RunJob>> = {
  atomic: atomicJob,
  claim: claimJob,
  effects: effectsJob,
  expiry: expiryJob,
  increment: incrementJob,
  lease: leaseJob,
  load: loadJob,
  "one-by-one": oneByOneJob,
  retry: retryJob,
  steps: stepsJob,
  watch: watchJob,
};

/** Runs one worker: reads its job from standard input, performs it and reports on standard output. Tests pass their own engines and jobs. */
export async function runVerifyWorker(
  stdin: NodeJS.ReadableStream,
  open: (url: string) => Promise<Engine> = openEngine,
  known: Readonly<Record<string, RunJob>> = jobs,
): Promise<void> {
  endWithParent();
  const reader = createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY });
  const lines = reader[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.done) return;
  const job = JSON.parse(first.value) as Job;
  const run = known[job.job];
  if (run === undefined) throw new Error(`There is no job ${job.job}.`);
  await using engine = await open(job.store);
  const store = openNamespaceStore(engine, job.namespace, systemClock);
  say({ ready: true });
  await run({
    job,
    store,
    scope: { store, clock: systemClock, writer: job.name },
    clock: systemClock,
    random: seededRandom(job.seed),
    say,
    commands: {
      async *[Symbol.asyncIterator]() {
        for (let line = await lines.next(); !line.done; line = await lines.next()) yield JSON.parse(line.value) as WorkerMessage;
      },
    },
  });
  // The job may end before the parent closes the pipe, which must not keep the process alive.
  reader.close();
}

const parentCheckMs = 500;

/** A killed parent cannot stop its workers, and some of them would run forever. An orphan gets a new parent process; it detects that and exits. */
function endWithParent(): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.exit(1);
  }, parentCheckMs).unref();
}

/** Synchronous, so that a message is out before the next action and survives a kill. */
function say(message: WorkerMessage): void {
  const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(1, bytes, written);
    } catch (error) {
      // The parent reads more slowly than the worker writes, and the pipe does not block.
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    }
  }
}
