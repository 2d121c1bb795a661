import { vi } from "vitest";

/** Asks until it holds, for as long as a busy machine may need; by default Vitest gives up after a second. */
export const soon = <T>(holds: () => T | Promise<T>): Promise<T> => vi.waitFor(holds, { timeout: 30_000, interval: 10 });
