import { vi } from "vitest";

/** Ends only what hangs: no behaviour is judged by it. */
export const patienceMs = 120_000;

/** Asks until it holds. */
export const soon = <T>(holds: () => T | Promise<T>): Promise<T> => vi.waitFor(holds, { timeout: patienceMs, interval: 10 });

/** Asks until it answers true. */
export const until = (holds: () => boolean | Promise<boolean>): Promise<void> =>
  soon(async () => {
    if (!(await holds())) throw new Error(`It never came to hold: ${holds}`);
  });
