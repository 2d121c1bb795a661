import type { Clock } from "../../src/kernel/clock.ts";

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

export interface ManualClock extends Clock {
  /** Moves time forward and wakes, in order of their times, the sleepers whose time has come. */
  advance(ms: number): void;
  /** Sets the time, also backwards: a host clock can be set back, and nothing may go wrong then. */
  set(ms: number): void;
  /** How many are asleep: a test waits for this before it moves time. */
  sleeping(): number;
  /** Lets everything run that can run without time passing: until nothing more than sleepers is left to do. */
  settle(): Promise<void>;
  /** Like `advance`, but stops at every sleeper on the way and lets it act at its own time. */
  advanceBy(ms: number): Promise<void>;
}

/** Turns of the event loop that are plenty for any chain of in-memory work between two sleeps. */
const settlingTurns = 40;

/** Time that stands still until a test moves it. Starts at a round, recognisable moment. */
export function manualClock(startMs = 1_800_000_000_000): ManualClock {
  let nowMs = startMs;
  const sleepers = new Set<Sleeper>();
  const set = (ms: number): void => {
    nowMs = ms;
    const due = [...sleepers].filter((sleeper) => sleeper.atMs <= nowMs).sort((a, b) => a.atMs - b.atMs);
    for (const sleeper of due) sleeper.wake();
  };
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < settlingTurns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const wake = (): void => {
        sleepers.delete(sleeper);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const sleeper: Sleeper = { atMs: nowMs + ms, wake };
      sleepers.add(sleeper);
      signal?.addEventListener("abort", wake, { once: true });
    });
  return {
    nowMs: () => nowMs,
    sleep,
    rest: sleep,
    // Batching is about the event loop, not about time: a real turn keeps tests free of hidden waiting.
    turn: (then) => void setImmediate(then),
    advance: (ms) => set(nowMs + ms),
    set,
    sleeping: () => sleepers.size,
    settle,
    advanceBy: async (ms) => {
      const targetMs = nowMs + ms;
      await settle();
      for (;;) {
        const nextMs = Math.min(...[...sleepers].map((sleeper) => sleeper.atMs));
        if (nextMs > targetMs) break;
        set(Math.max(nowMs, nextMs));
        await settle();
      }
      set(targetMs);
      await settle();
    },
  };
}
