import type { Clock } from "./clock.ts";

export interface RetryDelayOptions {
  readonly clock: Pick<Clock, "nowMs" | "sleep">;
  /** For so long a request is tried again; without an end for a stream. */
  readonly forMs: number;
  readonly signal: AbortSignal;
  /** The longest delay, whatever is left of the time above. */
  readonly endsAtMs: () => number;
}

const firstMs = 100;
const longestMs = 3_000;

/** Waits between attempts, longer each time and never in step with others. */
export class RetryDelay {
  readonly #options: RetryDelayOptions;
  readonly #fromMs: number;
  #nextMs = firstMs;

  constructor(options: RetryDelayOptions) {
    this.#options = options;
    this.#fromMs = options.clock.nowMs();
  }

  /** False: enough. */
  async wait(atLeastMs = 0): Promise<boolean> {
    const { clock, forMs, signal, endsAtMs } = this.#options;
    const ms = Math.max(atLeastMs, this.#nextMs * (0.5 + Math.random() / 2));
    if (signal.aborted || clock.nowMs() + ms > Math.min(this.#fromMs + forMs, endsAtMs())) return false;
    this.#nextMs = Math.min(longestMs, 2 * this.#nextMs);
    await clock.sleep(ms, signal);
    return !signal.aborted;
  }

  /** What was tried has worked. */
  reset(): void {
    this.#nextMs = firstMs;
  }
}
