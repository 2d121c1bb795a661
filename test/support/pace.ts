import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";

/** A fixed amount of work for the processor, and what it takes on a quiet machine of the kind that the limits were written for. */
const work = Buffer.alloc(1_048_576, 7);
const quietMs = 1;
const everyMs = 100;
/** A quarter of an hour: no promise is about a longer span. */
const samplesMax = 9_000;

const sampleRatio = (): number => {
  const startMs = performance.now();
  createHash("sha256").update(work).digest();
  return (performance.now() - startMs) / quietMs;
};

/**
 * How many times slower than on a quiet machine of that kind the processor itself is, for limits of processor time: others that compete for it make a
 * process wait, and do not count.
 */
export function processorPace(): number {
  const before = process.cpuUsage();
  for (let i = 0; i < 20; i += 1) createHash("sha256").update(work).digest();
  const { user, system } = process.cpuUsage(before);
  return Math.max(1, (user + system) / 1_000 / 20 / quietMs);
}

/** What wants to run now, by the processors there are to run it: a short piece of work gets its turn at once, a long one only so often. */
function contention(): number {
  return runnable() / availableParallelism();
}

function runnable(): number {
  try {
    return runnableIn(readFileSync("/proc/loadavg", "utf8"));
  } catch {
    return loadavg()[0] ?? 0;
  }
}

/** Of `0.20 0.18 0.12 3/812 11206`, where 3 of 812 want to run: the others wait for something else than a processor. */
export const runnableIn = (text: string): number => Number(/ (\d+)\//.exec(text)?.[1] ?? 0);

/** How many times slower than a quiet machine this one is at this moment. */
const slownessNow = (): number => Math.max(sampleRatio(), contention());

/**
 * Samples how many times slower than a quiet machine this one is, as long as the process runs. A timer that comes late counts as well, because a
 * process that is not scheduled cannot keep a promise.
 */
export class PaceSampler {
  readonly #samples: { readonly atMs: number; readonly ratio: number }[] = [];
  readonly #timer: NodeJS.Timeout;
  readonly #slowness: () => number;
  #dueMs = performance.now() + everyMs;

  constructor(slowness = slownessNow) {
    this.#slowness = slowness;
    this.#samples.push({ atMs: performance.now(), ratio: slowness() });
    this.#timer = setInterval(() => this.#sample(), everyMs).unref();
  }

  /** The average since then; at least 1. */
  since(fromMs: number): number {
    const late = this.#lateRatio();
    const ratios = [this.#slowness(), ...(late > 1 ? [late] : [])];
    for (let i = this.#samples.length - 1; i >= 0 && (this.#samples[i]?.atMs as number) >= fromMs; i -= 1) ratios.push(this.#samples[i]?.ratio as number);
    return Math.max(1, ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    this.#samples.push({ atMs: performance.now(), ratio: Math.max(this.#slowness(), this.#lateRatio()) });
    if (this.#samples.length > samplesMax) this.#samples.splice(0, samplesMax / 2);
    this.#dueMs = performance.now() + everyMs;
  }

  #lateRatio(): number {
    return (everyMs + Math.max(0, performance.now() - this.#dueMs)) / everyMs;
  }
}

/**
 * How many times longer than it computes a process that is ready to compute takes, because others have the processors: since the last call, for the main
 * thread of this process. 1 where the system does not tell. A process that waits for little, such as a client, notices less of a busy machine than one that always computes.
 */
export function openReadyRatio(): () => number {
  let before = readSchedule();
  return () => {
    const now = readSchedule();
    const ran = now.ranNs - before.ranNs;
    const ratio = ran > 0 ? (ran + now.waitedNs - before.waitedNs) / ran : 1;
    before = now;
    return Math.max(1, ratio);
  };
}

function readSchedule(): { readonly ranNs: number; readonly waitedNs: number } {
  try {
    const [ranNs, waitedNs] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ").map(Number);
    return { ranNs: ranNs as number, waitedNs: waitedNs as number };
  } catch {
    return { ranNs: 0, waitedNs: 0 };
  }
}

/**
 * Measures a promise that is itself a time, such as recovery within five seconds. `pace` says how many times slower than a quiet machine this one was
 * over that very span: compare `ms` with the promised time multiplied by `pace`.
 */
export async function atPace<T>(measured: () => Promise<T>, slowness = slownessNow): Promise<{ readonly ms: number; readonly pace: number; readonly value: T }> {
  const beforeMs = performance.now();
  using sampler = new PaceSampler(slowness);
  const startMs = performance.now();
  const value = await measured();
  const ms = performance.now() - startMs;
  return { ms, pace: sampler.since(beforeMs), value };
}
