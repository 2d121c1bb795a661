import type { Clock } from "./clock.ts";
import { linkedAbort } from "./linked-abort.ts";

export interface KeepAliveOptions {
  /** The deadline is judged by this clock alone; it must not go back. */
  readonly clock: Pick<Clock, "nowMs" | "sleep">;
  /** How long the hold lasts after each renewal. */
  readonly ttlMs: number;
  /** How long before the deadline the holder stops if renewals get no answer. */
  readonly reserveMs: number;
  /** A time no later than the start of the hold: when it was requested. */
  readonly grantedAtMs: number;
  /** The start of the hold is unknown: the first renewal, sent at once, reveals it. */
  readonly renewAtOnce: boolean;
  /** `ok` false: the hold is lost for good. A rejection is no answer. */
  renew(): Promise<{ readonly ok: boolean; readonly heldBy?: string }>;
}

/** Why a hold ended: another holder has it, it was taken away, or it could not be renewed in time. */
export type HoldLoss = { readonly is: "taken"; readonly heldBy?: string } | { readonly is: "silent"; readonly forMs: number };

/**
 * Renews a hold until the signal aborts (undefined) or it must be given up. The deadline counts from before each renewal was sent, so it is never later than the
 * store's: a holder that stops at its deadline stops before another can begin.
 */
export async function keepHold({ clock, ttlMs, reserveMs, grantedAtMs, renewAtOnce, renew }: KeepAliveOptions, signal: AbortSignal): Promise<HoldLoss | undefined> {
  let deadlineMs = grantedAtMs + ttlMs;
  let pauseMs = renewAtOnce ? 0 : ttlMs / 3;
  for (;;) {
    const leftMs = deadlineMs - reserveMs - clock.nowMs();
    if (leftMs <= 0) return { is: "silent", forMs: ttlMs - reserveMs };
    await clock.sleep(Math.min(pauseMs, leftMs), signal);
    if (signal.aborted) return undefined;
    const sentAtMs = clock.nowMs();
    if (sentAtMs >= deadlineMs - reserveMs) continue;
    const answered = linkedAbort(signal);
    const renewal = renew().catch(() => undefined);
    // A store that hangs must not make us miss the deadline.
    const answer = await Promise.race([renewal, clock.sleep(deadlineMs - reserveMs - sentAtMs, answered.signal).then(() => undefined)]);
    answered.abort();
    answered.unlink();
    if (signal.aborted) return undefined;
    if (answer?.ok === false) return { is: "taken", heldBy: answer.heldBy };
    if (answer?.ok === true) deadlineMs = sentAtMs + ttlMs;
    pauseMs = answer?.ok === true ? ttlMs / 3 : Math.min(1_000, ttlMs / 10);
  }
}
