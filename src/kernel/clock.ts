/**
 * The source of time. Everything below the surfaces that waits or needs the time gets a clock passed in, so that tests control time.
 * `turn` calls back once the event loop has handled what is already queued; the committer uses it to collect a batch without adding measurable delay.
 */
export interface Clock {
  nowMs(): number;
  /** Resolves after `ms`, or at once (without throwing) if the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Like sleep, for background tasks: it does not keep the process alive. */
  rest(ms: number, signal?: AbortSignal): Promise<void>;
  turn(then: () => void): void;
}

const pause = (ms: number, signal: AbortSignal | undefined, staysAlive: boolean): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    if (!staysAlive) timer.unref();
    signal?.addEventListener("abort", done, { once: true });
  });

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  sleep: (ms, signal) => pause(ms, signal, true),
  rest: (ms, signal) => pause(ms, signal, false),
  turn: (then) => void setImmediate(then),
};
