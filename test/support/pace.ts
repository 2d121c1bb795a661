import { createHash } from "node:crypto";

/** A fixed amount of work for the processor, and what it takes on a quiet machine of the kind that the limits were written for. */
const work = Buffer.alloc(1_048_576, 7);
const quietMs = 1;
const everyMs = 100;

const sampleMs = (): number => {
  const startMs = performance.now();
  createHash("sha256").update(work).digest();
  return performance.now() - startMs;
};

/**
 * Measures a promise that is itself a time, such as recovery within five seconds. `pace` says how many times slower than a quiet machine this one was
 * over that very span: compare `ms` with the promised time multiplied by `pace`. A timer that comes late counts as well, because a process that is not
 * scheduled cannot keep a promise.
 */
export async function atPace<T>(measured: () => Promise<T>): Promise<{ readonly ms: number; readonly pace: number; readonly value: T }> {
  const ratios = [sampleMs() / quietMs];
  let dueMs = performance.now() + everyMs;
  const sampler = setInterval(() => {
    const lateMs = Math.max(0, performance.now() - dueMs);
    ratios.push(Math.max(sampleMs() / quietMs, (everyMs + lateMs) / everyMs));
    dueMs = performance.now() + everyMs;
  }, everyMs);
  const startMs = performance.now();
  try {
    const value = await measured();
    const ms = performance.now() - startMs;
    ratios.push(sampleMs() / quietMs);
    return { ms, pace: Math.max(1, ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length), value };
  } finally {
    clearInterval(sampler);
  }
}
