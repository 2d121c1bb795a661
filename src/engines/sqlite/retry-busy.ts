import { busyTooLong, isBusy } from "./sqlite-errors.ts";

const retryForMs = 30_000;

/**
 * Several processes on one file are normal, so a held lock is not an error. SQLite's own wait blocks the event loop and starves
 * writers. This function waits outside the call, for short random times, so that no process keeps losing the same race.
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

/**
 * Waits up to 2 ms, or sometimes only for a turn of the event loop. Uses timers instead of spinning, because the process that holds the lock may need this core to
 * finish.
 */
function pause(): Promise<void> {
  const chance = Math.random();
  return new Promise((resolve) => {
    if (chance < 0.2) setImmediate(resolve);
    else setTimeout(resolve, chance < 0.6 ? 1 : 2);
  });
}
