import { onTestFinished, vi } from "vitest";

/** Until the test ends, this process's clock for measuring stands still: nothing becomes too old to be believed, however slow the machine is. Timers go on. */
export function stopTime(): void {
  const stopped = vi.spyOn(performance, "now").mockReturnValue(performance.now());
  onTestFinished(() => void stopped.mockRestore());
}
