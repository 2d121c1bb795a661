import { HoldfastError, invalidInput, isHoldfastError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import { requireTtl } from "../../store/prepare-commit.ts";
import type { Revision } from "../../store/store.ts";
import type { Decision, Scope } from "../../store/transact.ts";
import { transact } from "../../store/transact.ts";
import { effectKeys } from "../keyspace.ts";
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
 * unless the effect has been resolved or begun again. Repeating the same report changes nothing.
 */
export async function finishEffect(scope: Scope, { id, token, outcome }: EffectAttempt & { readonly outcome: EffectReport }): Promise<FinishedEffect> {
  requireAttempt(id, token);
  if (outcome.state !== "done" && outcome.state !== "failed" && outcome.state !== "unknown") throw invalidInput("outcome.state", "must be done, failed or unknown");
  const finish = (): Promise<FinishedEffect> =>
    transact<null, FinishedEffect>(unrepeated(scope), {
      decide: () => decideEnd(scope, id, token, outcome),
      finish: () => ({ id, state: outcome.state }),
    });
  try {
    return await finish();
  } catch (error) {
    if (!isHoldfastError(error, "outcome_unknown")) throw error;
    return finish();
  }
}

async function decideEnd(scope: Scope, id: string, token: Revision, report: EffectReport): Promise<Decision<null, FinishedEffect>> {
  const known = await requireEffect(scope, id);
  const { record, entry, begunAtMs } = known;
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

function notThisAttempt({ id, record, token }: StoredEffect): HoldfastError {
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
