import { HoldfastError, invalidInput, isHoldfastError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import type { Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { transact } from "../../store/transact.ts";
import { effectKeys } from "../keyspace.ts";
import { endWrites, resolvedRecord, shortReason, shownState, toOutcome } from "./effect.ts";
import { requireEffect } from "./find-effects.ts";
import type { FinishedEffect } from "./finish-effect.ts";
import { requireEffectId } from "./identity.ts";

export interface ResolveInput {
  readonly id: string;
  /** Token of the attempt that was looked at. If the effect has been begun again since, nothing is changed. Without it, the last attempt is resolved. */
  readonly token?: Revision;
  /** `failed` means that the effect did not happen and may begin again. */
  readonly as: "done" | "failed";
  /** The answer that a repeat returns, or the error; null by default. */
  readonly answer?: Json;
  readonly reason?: string;
}

/** Ends an effect whose outcome is unknown, for a caller that checked whether it happened. Rejects effects in any other state. */
export async function resolveEffect(scope: Scope, { id, token, as, answer = null, reason }: ResolveInput): Promise<FinishedEffect> {
  requireEffectId(id);
  if (as !== "done" && as !== "failed") throw invalidInput("as", "must be done or failed");
  if (token !== undefined && !Number.isSafeInteger(token)) throw invalidInput("token", "must be the token of the attempt, as reading the effect shows it");
  const outcome = toOutcome(answer);
  const resolve = (): Promise<FinishedEffect> =>
    transact<null, FinishedEffect>(
      { ...scope, request: undefined },
      {
        async decide() {
          const known = await requireEffect(scope, id);
          const state = shownState(known);
          if (token !== undefined && known.token !== token) throw otherAttempt(id, token, known.token);
          if (state === as && known.record.resolved === "caller") return { answer: { id, state } };
          if (state !== "unknown") throw notUnknown(id, state, known.liveUntilMs);
          return {
            checks: [
              { key: known.entry.key, revision: known.entry.revision },
              { key: effectKeys.live(id), is: "absent" },
            ],
            writes: endWrites(id, resolvedRecord(known, as, "caller", known.nowMs, reason === undefined ? undefined : shortReason(reason)), outcome, "resolve"),
            note: null,
          };
        },
        finish: () => ({ id, state: as }),
      },
    );
  try {
    return await resolve();
  } catch (error) {
    if (!isHoldfastError(error, "outcome_unknown")) throw error;
    return resolve();
  }
}

const otherAttempt = (id: string, token: Revision, newest: Revision): HoldfastError =>
  new HoldfastError("conflict", `The effect ${id} was begun again since: its last attempt is ${newest}, not ${token}; nothing was changed.`, {
    hint: "Find out what happened to the last attempt, then resolve it with its token.",
    details: { id, token, newest },
  });

const notUnknown = (id: string, state: string, liveUntilMs: number | undefined): HoldfastError =>
  new HoldfastError(
    "conflict",
    liveUntilMs === undefined
      ? `The effect ${id} is ${state}, not unknown; nothing was changed.`
      : `The effect ${id} is still in progress: its owner is alive; nothing was changed.`,
    {
      hint: liveUntilMs === undefined ? "There is nothing to resolve." : "Wait until it ends or its owner is lost.",
      details: { id, state, live_until: liveUntilMs === undefined ? null : liveUntilMs / 1_000 },
    },
  );
