import type { Clock } from "../kernel/clock.ts";
import type { Range, Revision, Store } from "./store.ts";

/** Resolves when something in the range changes after the revision, when the timeout expires, or when the signal aborts. */
export async function waitForChange(store: Store, clock: Clock, range: Range, after: Revision, timeoutMs: number, signal?: AbortSignal): Promise<void> {
  const stop = new AbortController();
  const onAbort = (): void => stop.abort();
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted) stop.abort();
  try {
    await Promise.race([firstChange(store, range, after, stop.signal), clock.sleep(timeoutMs, stop.signal)]);
  } finally {
    stop.abort();
    signal?.removeEventListener("abort", onAbort);
  }
}

async function firstChange(store: Store, range: Range, after: Revision, signal: AbortSignal): Promise<void> {
  for await (const _ of store.watch(range, after, signal, { values: false })) return;
}
