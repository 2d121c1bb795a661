import type { AcquireResult } from "../../domain/leases/leases.ts";
import type { Clock } from "../../kernel/clock.ts";
import { RetryDelay } from "../../kernel/retry-delay.ts";
import { waitPartMsMax } from "../library/library-methods.ts";
import { requireWait } from "../library/require-wait.ts";
import type { RemoteCalls } from "./remote-calls.ts";

/**
 * `leases.acquire` with its wait split into parts, as in `waitRemotely`. Each part derives a separate request key from the caller's, because the server also
 * remembers a refusal under its key. A caller that repeats the whole call uses the same keys and finds the part that acquired the lease.
 */
export async function acquireRemotely(
  calls: RemoteCalls,
  clock: Pick<Clock, "nowMs" | "sleep">,
  given: Readonly<Record<string, unknown>>,
  signal: AbortSignal | undefined,
): Promise<AcquireResult> {
  const untilMs = clock.nowMs() + (given.waitMs === undefined ? 0 : requireWait(given.waitMs, "waitMs"));
  const delay = new RetryDelay({ clock, forMs: Number.POSITIVE_INFINITY, signal: signal ?? calls.closed, endsAtMs: () => untilMs });
  for (let part = 1; ; part += 1) {
    const requestKey = part === 1 ? given.requestKey : `${given.requestKey}#${part}`;
    const begunMs = clock.nowMs();
    const waitMs = Math.min(waitPartMsMax, Math.max(0, untilMs - begunMs));
    const ask = (ms: number, ends?: AbortSignal) =>
      calls.call("leases.acquire", { ...given, requestKey, waitMs: ms === 0 ? undefined : ms }, { signal: ends, waitMs: ms }) as Promise<AcquireResult>;
    const result = await ask(waitMs, waitMs === 0 ? undefined : signal).catch((error: unknown) => {
      if (!signal?.aborted) throw error;
      return giveBack(calls, given, () => ask(0));
    });
    if (result.ok || signal?.aborted || clock.nowMs() >= untilMs) return result;
    if (clock.nowMs() - begunMs >= waitMs) delay.reset();
    else if (!(await delay.wait())) return result;
  }
}

/** The caller cancelled the wait, perhaps just as the lease was granted. A repeat with the same key shows whether it was; if so, the lease is released. */
async function giveBack(calls: RemoteCalls, { resource, agent, requestKey }: Readonly<Record<string, unknown>>, ask: () => Promise<AcquireResult>): Promise<AcquireResult> {
  const result = await ask();
  if (!result.ok || result.renewed) return result;
  await calls.call("leases.release", { resource, agent, token: result.token, requestKey: `${requestKey}#release` }, {});
  return { ok: false, resource: result.resource };
}
