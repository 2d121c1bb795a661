import type { Clock } from "../../kernel/clock.ts";
import { errorCodes, HoldfastError, isHoldfastError } from "../../kernel/errors.ts";
import type { Revision } from "../../store/store.ts";
import type { BegunEffect } from "./begin-effect.ts";
import type { EffectAttempt, EffectReport } from "./finish-effect.ts";

export interface RunningAttempt {
  readonly id: string;
  readonly token: Revision;
  readonly attempt: number;
  /** Aborted when the attempt is no longer current: the effect was resolved, begun again or removed. */
  readonly signal: AbortSignal;
}

export type RanEffect =
  | { readonly outcome: "performed"; readonly id: string; readonly attempt: number; readonly report: EffectReport }
  | Exclude<BegunEffect, { readonly outcome: "begun" }>;

/** The operations that performEffect needs, implemented on a store or by calls to a server. */
export interface EffectParts {
  readonly clock: Pick<Clock, "sleep" | "rest">;
  readonly liveMs: number;
  begin(): Promise<BegunEffect>;
  keepAlive(attempt: EffectAttempt): Promise<unknown>;
  finish(attempt: EffectAttempt, report: EffectReport): Promise<unknown>;
}

/** How many times a report is tried while the store is unreachable. The effect has happened, and only this process knows its outcome. */
const reportTriesMax = 6;
const reportPauseMs = 100;

/**
 * Performs an effect unless it was already performed: begins it, keeps it alive while `perform` runs, and reports the result.
 * An error thrown by `perform` is rethrown and leaves the outcome unknown, because the effect may have happened before the error.
 */
export async function performEffect(parts: EffectParts, perform: (attempt: RunningAttempt) => Promise<EffectReport>): Promise<RanEffect> {
  const begun = await parts.begin();
  if (begun.outcome !== "begun") return begun;
  const { id, token, attempt } = begun;
  const over = new AbortController();
  const lost = new AbortController();
  const living = keepAlive(parts, { id, token }, over.signal, lost);
  try {
    const report = await perform({ id, token, attempt, signal: lost.signal });
    await reportEffect(parts, { id, token }, report);
    return { outcome: "performed", id, attempt, report };
  } catch (error) {
    // The caller needs the original error, so a failure to report is ignored. Without a report, the record becomes unknown when its live time ends.
    if (!(error instanceof UnreportedEffect)) await reportEffect(parts, { id, token }, { state: "unknown", reason: messageOf(error) }).catch(() => undefined);
    throw error;
  } finally {
    over.abort();
    await living;
  }
}

async function keepAlive(parts: EffectParts, attempt: EffectAttempt, over: AbortSignal, lost: AbortController): Promise<void> {
  for (;;) {
    await parts.clock.rest(parts.liveMs / 3, over);
    if (over.aborted) return;
    try {
      await parts.keepAlive(attempt);
    } catch (error) {
      // An unreachable store may come back in time. A conflict or a missing record is final.
      if (!isHoldfastError(error, "conflict") && !isHoldfastError(error, "not_found")) continue;
      lost.abort(error);
      return;
    }
  }
}

/** The effect ended, but its outcome could not be recorded. */
class UnreportedEffect extends HoldfastError {}

async function reportEffect(parts: EffectParts, { id, token }: EffectAttempt, outcome: EffectReport): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await parts.finish({ id, token }, outcome);
      return;
    } catch (error) {
      const mayPass = isHoldfastError(error) && (error.code === "outcome_unknown" || (errorCodes[error.code].retry === "backoff" && error.code !== "conflict"));
      if (!mayPass || tries === reportTriesMax)
        throw new UnreportedEffect(
          isHoldfastError(error) ? error.code : "internal",
          `The effect ${id} ended as ${outcome.state}, which could not be recorded: ${messageOf(error)}`,
          {
            hint: "Read the effect and resolve it if its outcome is unknown.",
            details: { id, state: outcome.state },
            cause: error,
          },
        );
      await parts.clock.sleep(reportPauseMs * 2 ** (tries - 1));
    }
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
