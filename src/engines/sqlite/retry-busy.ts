import { busyTooLong, isBusy } from "./sqlite-errors.ts";

const retryForMs = 30_000;

/**
 * Several processes on one file are the normal case, so meeting a held lock is no error. SQLite's own wait blocks the event loop and starves
 * writers; this one waits outside the call, briefly and unevenly, so that nobody keeps losing the same race.
 */
export async function retryBusy<T>(attempt: () => T, waitMaxMs = retryForMs): Promise<T> {
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

/** Up to 2 ms, now and then only a turn of the event loop. Timers, not spinning: whoever holds the lock may need this very core to finish. */
function pause(): Promise<void> {
  const chance = Math.random();
  return new Promise((resolve) => {
    if (chance < 0.2) setImmediate(resolve);
    else setTimeout(resolve, chance < 0.6 ? 1 : 2);
  });
}
