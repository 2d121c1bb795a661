import { onTestFinished, vi } from "vitest";

type Held = "setTimeout" | "setInterval" | "performance";

export interface HeldTime {
  /** Lets so much time pass: timers that fall due on the way fire, each at its own moment. */
  pass(ms: number): Promise<void>;
  /** Waits until something holds, without any of the held time passing. */
  until(holds: () => boolean): Promise<void>;
}

const realSetTimeout = globalThis.setTimeout;
const aMoment = (): Promise<void> => new Promise((resolve) => realSetTimeout(resolve, 1));

/**
 * Time stands still for the timers of this process, and so for a server in it, until the test lets it pass: what a limit does is then decided by the test
 * and not by how busy the machine is. Node's own timers, below HTTP and sockets, go on. `soon` and `expect.poll` move held time: use `until`.
 */
export function holdTime(...held: readonly Held[]): HeldTime {
  vi.useFakeTimers({ toFake: held.flatMap((name) => (name === "performance" ? [name] : ([name, name === "setTimeout" ? "clearTimeout" : "clearInterval"] as const))) });
  onTestFinished(() => void vi.useRealTimers());
  return {
    pass: async (ms) => void (await vi.advanceTimersByTimeAsync(ms)),
    until: async (holds) => {
      while (!holds()) await aMoment();
    },
  };
}
