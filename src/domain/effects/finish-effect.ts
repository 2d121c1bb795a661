import { HoldfastError, invalidInput, isHoldfastError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import { requireTtl } from "../../store/prepare-commit.ts";
import type { Entry, Revision } from "../../store/store.ts";
import type { Decision, Scope } from "../../store/transact.ts";
import { transact } from "../../store/transact.ts";
import { effectKeys } from "../keyspace.ts";
import type { BegunAttempt, BegunAttempts } from "./begun-attempts.ts";
import type { EffectRecord, EffectState, StoredEffect } from "./effect.ts";
import { endWrites, isEnded, isSameOutcome, liveWrite, shortReason, toOutcome, unknownWrites } from "./effect.ts";
import { requireEffect } from "./find-effects.ts";
import { requireEffectId } from "./identity.ts";

/** Identifies an attempt by the token that beginEffect returned. */
export interface EffectAttempt {
  readonly id: string;
  readonly token: Revision;
}

export type EffectReport =
  | { readonly state: "done"; readonly answer: Json }
  /** The effect is known not to have happened, so it may begin again. */
  | { readonly state: "failed"; readonly error: Json }
  | { readonly state: "unknown"; readonly reason: string };

export interface FinishedEffect {
  readonly id: string;
  readonly state: EffectState;
}

/** Extends the live time of an effect that is still running. Takes one commit and no read. */
export function keepEffectAlive(scope: Scope, { id, token, liveMs }: EffectAttempt & { readonly liveMs: number }): Promise<{ readonly liveUntilMs: number }> {
  requireAttempt(id, token);
  requireTtl(liveMs, "liveMs");
  return transact<null, { readonly liveUntilMs: number }>(unrepeated(scope), {
    // Every later write of the record has a later revision, so this check holds only while the attempt is the current one.
    decide: () => ({ checks: [{ key: effectKeys.record(id), revision: token }], writes: [liveWrite(id, liveMs)], note: null }),
    finish: (_, { writes }) => ({ liveUntilMs: writes[0]?.expiresAtMs as number }),
    refused: async () => {
      throw notThisAttempt(await requireEffect(scope, id));
    },
  });
}

/**
 * Reports the outcome of an attempt. It needs no guard, because the effect has happened and the record must say so. A late report is accepted too,
 * unless the effect has been resolved or begun again. Repeating the same report changes nothing. If `attempts` has the attempt, the first try commits without
 * reading: the record can only be as this process wrote it, or the commit is refused.
 */
export async function finishEffect(scope: Scope, { id, token, outcome }: EffectAttempt & { readonly outcome: EffectReport }, attempts?: BegunAttempts): Promise<FinishedEffect> {
  requireAttempt(id, token);
  if (outcome.state !== "done" && outcome.state !== "failed" && outcome.state !== "unknown") throw invalidInput("outcome.state", "must be done, failed or unknown");
  let begun = attempts?.take(id, token);
  const finish = (): Promise<FinishedEffect> =>
    transact<null, FinishedEffect>(unrepeated(scope), {
      async decide() {
        const known = begun && knownFrom(begun, id, scope.clock.nowMs());
        begun = undefined;
        return decideEnd(known ?? (await requireEffect(scope, id)), token, outcome);
      },
      finish: () => ({ id, state: outcome.state }),
    });
  try {
    return await finish();
  } catch (error) {
    if (!isHoldfastError(error, "outcome_unknown")) throw error;
    return finish();
  }
}

/** What a decision needs to know of a stored effect. */
type KnownEffect = Pick<StoredEffect, "id" | "record" | "token" | "begunAtMs" | "outcome"> & { readonly entry: Pick<Entry, "key" | "revision" | "agent">; readonly nowMs: number };

/** The effect as this process began it. The store's time is estimated from its own: only listings use it, and it never lies before the beginning. */
const knownFrom = ({ token, record, agent, atStoreMs, atHostMs }: BegunAttempt, id: string, hostMs: number): KnownEffect => ({
  id,
  record,
  entry: { key: effectKeys.record(id), revision: token, agent },
  token,
  begunAtMs: atStoreMs,
  nowMs: atStoreMs + Math.max(0, hostMs - atHostMs),
});

async function decideEnd(known: KnownEffect, token: Revision, report: EffectReport): Promise<Decision<null, FinishedEffect>> {
  const { id, record, entry, begunAtMs } = known;
  if (known.token !== token || record.resolved !== undefined) throw notThisAttempt(known);
  const outcome = report.state === "unknown" ? undefined : toOutcome(report.state === "done" ? report.answer : report.error);
  if (isEnded(record) || record.state === report.state) {
    // Already reported. A second report may only repeat the first one.
    if (record.state !== report.state || (outcome !== undefined && !isSameOutcome(known.outcome, outcome))) throw notThisAttempt(known);
    return { answer: { id, state: record.state } };
  }
  const after: EffectRecord = { ...record, state: report.state, token, begunAtMs, begunBy: record.begunBy ?? entry.agent, reason: undefined };
  return {
    checks: [{ key: entry.key, revision: entry.revision }],
    writes:
      outcome === undefined
        ? unknownWrites(id, { ...after, reason: shortReason((report as { readonly reason: string }).reason) })
        : endWrites(id, { ...after, endedAtMs: known.nowMs }, outcome, report.state === "done" ? "finish" : "fail"),
    note: null,
  };
}

/** Drops the request key: these calls are idempotent without one. */
const unrepeated = (scope: Scope): Scope => ({ ...scope, request: undefined });

function requireAttempt(id: string, token: Revision): void {
  requireEffectId(id);
  if (!Number.isSafeInteger(token)) throw invalidInput("token", "must be the token that beginning the effect returned");
}

function notThisAttempt({ id, record, token }: Pick<StoredEffect, "id" | "record" | "token">): HoldfastError {
  const why =
    record.resolved !== undefined
      ? `was resolved as ${record.state} by ${record.resolved === "policy" ? "a policy" : "another caller"}`
      : isEnded(record)
        ? `was reported as ${record.state} already`
        : "was begun again by another caller, or this attempt was ended";
  return new HoldfastError("conflict", `The effect ${id} ${why}; nothing was changed.`, {
    hint: "Read the effect; its current record is authoritative.",
    details: { id, state: record.state, token, resolved: record.resolved ?? null },
  });
}
