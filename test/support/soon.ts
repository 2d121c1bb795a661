import { vi } from "vitest";

/** Ends only what hangs: no behaviour is judged by it. */
export const patienceMs = 300_000;

/** Asks until it holds. */
export const soon = <T>(holds: () => T | Promise<T>): Promise<T> => vi.waitFor(holds, { timeout: patienceMs, interval: 10 });
