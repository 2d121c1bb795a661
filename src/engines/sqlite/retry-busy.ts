import { busyTooLong, isBusy } from "./sqlite-errors.ts";

const patienceMs = 30_000;

/**
 * Several processes on one file are the normal case, so meeting a held lock is no error. SQLite's own wait blocks the event loop and starves
 * writers; this one waits outside the call, briefly and unevenly, so that nobody keeps losing the same race.
 */
export async function retryBusy<T>(attempt: () => T, waitMaxMs = patienceMs): Promise<T> {
  const startedMs = performance.now();
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() - startedMs > waitMaxMs) throw busyTooLong(error);
    }
    await pause();
  }
}

/** 0.1 to 2 ms. Timers count whole milliseconds, so the shorter waits are spent in turns of the event loop. */
async function pause(): Promise<void> {
  const untilMs = performance.now() + 0.1 + Math.random() * 1.9;
  if (untilMs - performance.now() > 1) await new Promise<void>((resolve) => void setTimeout(resolve, 1));
  while (performance.now() < untilMs) await new Promise<void>((resolve) => void setImmediate(resolve));
}
