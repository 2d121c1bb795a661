import type { WaitedState } from "../../domain/state/state.ts";
import type { StateEntry } from "../../domain/state/state-entry.ts";
import type { Clock } from "../../kernel/clock.ts";
import { RetryDelay } from "../../kernel/retry-delay.ts";
import { waitPartMsMax } from "../library/library-methods.ts";
import { requireVersionAbove, requireWait } from "../library/require-wait.ts";
import type { RemoteCalls } from "./remote-calls.ts";

/** `state.waitFor`, split into parts shorter than the timeouts of the server and of proxies. A server that needs the slot may end a part early. */
export async function waitRemotely(
  calls: RemoteCalls,
  clock: Pick<Clock, "nowMs" | "sleep">,
  given: Readonly<Record<string, unknown>>,
  signal: AbortSignal | undefined,
): Promise<StateEntry | undefined> {
  requireVersionAbove(given.versionAbove);
  const untilMs = clock.nowMs() + requireWait(given.timeoutMs, "timeoutMs");
  const delay = new RetryDelay({ clock, forMs: Number.POSITIVE_INFINITY, signal: signal ?? calls.closed, endsAtMs: () => untilMs });
  let wasThere = given.wasThere === true;
  for (;;) {
    const begunMs = clock.nowMs();
    const timeoutMs = Math.min(waitPartMsMax, Math.max(0, untilMs - begunMs));
    const part = calls.call("state.waitFor", { ...given, timeoutMs, wasThere }, { signal, waitMs: timeoutMs }) as Promise<WaitedState>;
    const { entry, hasHappened } = await part.catch(async (error: unknown): Promise<WaitedState> => {
      if (!signal?.aborted) throw error;
      // As in the embedded library, a cancelled wait returns the current entry.
      return { entry: (await calls.call("state.get", { key: given.key }, {})) as StateEntry | undefined, hasHappened: true };
    });
    if (hasHappened || clock.nowMs() >= untilMs) return entry;
    wasThere = entry !== undefined;
    if (clock.nowMs() - begunMs >= timeoutMs) delay.reset();
    else if (!(await delay.wait())) return entry;
  }
}
