import { onTestFinished, vi } from "vitest";

export interface StoppedTime {
  /** Lets so much time pass at once. */
  pass(ms: number): void;
}

/**
 * Until the test ends, this process's clock for measuring stands still, or moves as the test says: nothing becomes too old to be believed, however slow the
 * machine is, and what must become old does so at once. Timers go on.
 */
export function stopTime(): StoppedTime {
  let nowMs = performance.now();
  const stopped = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  onTestFinished(() => void stopped.mockRestore());
  return {
    pass: (ms) => {
      nowMs += ms;
    },
  };
}
