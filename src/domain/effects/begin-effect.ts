import { HoldfastError, invalidInput, isHoldfastError } from "../../kernel/errors.ts";
import { randomHex } from "../../kernel/ids.ts";
import type { Json } from "../../kernel/json.ts";
import { fingerprint } from "../../kernel/json.ts";
import { jsonText, requireKey, requireTtl } from "../../store/prepare-commit.ts";
import type { Check, FailedCheck, Revision } from "../../store/store.ts";
import type { Decision, Scope } from "../../store/transact.ts";
import { transact } from "../../store/transact.ts";
import { effectKeys, workflowKeys } from "../keyspace.ts";
import { leaseLost } from "../lease-lost.ts";
import { guard as guardOf } from "../leases/lease.ts";
import type { BegunAttempts } from "./begun-attempts.ts";
import type { EffectPolicy, EffectRecord, Resolver, StoredEffect } from "./effect.ts";
import { beginWrites, effectIn, effectPolicies, effectRanges, endWrites, resolvedRecord, shownText } from "./effect.ts";
import type { EffectIdentity } from "./identity.ts";
import { effectFingerprint, effectId, requireIdentity } from "./identity.ts";

/** The lease, or the claim of a run, under which the effect may begin. */
export interface EffectGuard {
  readonly resource: string;
  readonly token: Revision;
}

export interface BeginInput {
  readonly identity: EffectIdentity;
  readonly guard?: EffectGuard;
  /** How long the owner may go without renewing the effect before it counts as lost. */
  readonly liveMs: number;
  /** Decides what happens when an earlier attempt has an unknown outcome; "ask" by default. */
  readonly policy?: EffectPolicy;
  /** How long the record is kept after the effect ends; 30 days by default. */
  readonly keepMs?: number;
  /** The id of the workspace in which the effect begins. */
  readonly workspace?: string;
  /** The arguments to show to people, for calls whose real arguments contain secrets. The real arguments by default. */
  readonly shownArgs?: Json;
  /** A random value per call, for transports that may deliver a call twice: the second delivery gets the same answer as the first. */
  readonly nonce?: string;
}

export type BegunEffect =
  /** The intent is durable: perform the effect now, and report its outcome with the token. */
  | { readonly outcome: "begun"; readonly id: string; readonly token: Revision; readonly attempt: number; readonly liveUntilMs: number }
  | {
      readonly outcome: "done";
      readonly id: string;
      readonly answer: Json;
      /** False if the answer could not be stored; `answer` then gives the reason. */
      readonly answerKept: boolean;
      /** Set if the owner never reported: a caller of resolve or a policy declared the effect done. */
      readonly resolved?: Resolver;
      readonly doneAtMs: number;
      readonly attempts: number;
    }
  /** A live owner is performing the effect. */
  | { readonly outcome: "in_flight"; readonly id: string; readonly agent?: string; readonly sinceMs: number; readonly liveUntilMs: number; readonly attempts: number }
  /** The effect may or may not have happened: resolve it before beginning it again. */
  | {
      readonly outcome: "unknown";
      readonly id: string;
      readonly token: Revision;
      readonly agent?: string;
      readonly sinceMs: number;
      readonly attempts: number;
      readonly reason?: string;
    };

type BeginNote = { readonly did: "begin" | "assume"; readonly attempts: number };

export const effectKeepMsDefault = 30 * 86_400_000;

/**
 * Records durably that an effect is about to happen, unless it has happened, is happening, or may have happened. Only `begun` allows the caller to perform it.
 * The first try commits without reading, which saves a read for every new effect. `attempts` remembers what was begun, to save one when it ends.
 */
export async function beginEffect(scope: Scope, input: BeginInput, attempts?: BegunAttempts): Promise<BegunEffect> {
  const plan = toPlan(input, scope);
  // A request key would answer "begun" again to a caller that did it and crashed. The nonce is known to this call alone.
  const own: Scope = { ...scope, request: undefined };
  let isFirst = true;
  const begin = (): Promise<BegunEffect> =>
    transact<BeginNote, BegunEffect>(own, {
      async decide() {
        if (!isFirst) return decideFrom(own, plan);
        isFirst = false;
        return attemptOf(plan, undefined, [{ key: effectKeys.record(plan.id), is: "absent" }]);
      },
      finish: (note, { revision, atMs, writes }) =>
        note.did === "begin"
          ? begunBy(scope, plan, { token: revision, attempt: note.attempts, atMs, liveUntilMs: writes.at(-1)?.expiresAtMs as number }, attempts)
          : { outcome: "done", id: plan.id, answer: null, answerKept: true, resolved: "policy", doneAtMs: atMs, attempts: note.attempts },
      refused: (failed) => requireGuard(plan, failed),
    });
  try {
    return await begin();
  } catch (error) {
    if (!isHoldfastError(error, "outcome_unknown")) throw error;
    // The commit may have landed or may still land. Both commits require the record unchanged since it was read, so at most one of them succeeds.
    return begin();
  }
}

function begunBy(
  { clock, agent }: Scope,
  { id, first }: Plan,
  { atMs, ...begun }: { readonly token: Revision; readonly attempt: number; readonly atMs: number; readonly liveUntilMs: number },
  attempts: BegunAttempts | undefined,
): BegunEffect {
  attempts?.note(id, { token: begun.token, record: { ...first, attempts: begun.attempt }, agent, atStoreMs: atMs, atHostMs: clock.nowMs() });
  return { outcome: "begun", id, ...begun };
}

interface Plan {
  readonly id: string;
  readonly first: EffectRecord;
  readonly liveMs: number;
  readonly policy: EffectPolicy;
  readonly guard?: ReturnType<typeof guardOf>;
}

function toPlan(
  { identity, guard, liveMs, policy = "ask", keepMs = effectKeepMsDefault, workspace, shownArgs = identity.args, nonce = randomHex(16) }: BeginInput,
  { writer, agent }: Pick<Scope, "writer" | "agent">,
): Plan {
  requireIdentity(identity);
  requireTtl(liveMs, "liveMs");
  requireTtl(keepMs, "keepMs");
  requireKey(nonce, "nonce");
  jsonText(shownArgs, "shownArgs");
  if (!effectPolicies.includes(policy)) throw invalidInput("policy", `must be one of ${effectPolicies.join(", ")}`);
  if (guard !== undefined) requireKey(guard.resource, "guard.resource");
  if (guard !== undefined && !Number.isSafeInteger(guard.token)) throw invalidInput("guard.token", "must be the token of the lease or claim");
  const { scope, run, step, ordinal, tool, name } = identity;
  return {
    id: effectId(identity),
    first: {
      state: "intended",
      scope: scope === "" ? undefined : scope,
      run,
      step,
      ordinal,
      tool,
      name,
      fingerprint: effectFingerprint(identity),
      args: shownText(shownArgs),
      workspace,
      attempts: 1,
      nonce: fingerprint([nonce, writer, agent ?? null]),
      keepMs,
    },
    liveMs,
    policy,
    guard: guard && guardOf(guard.resource, guard.token),
  };
}

const attemptOf = ({ id, first, liveMs, guard }: Plan, before: EffectRecord | undefined, checks: readonly Check[], attempts = 1): Decision<BeginNote, BegunEffect> => ({
  checks: [...checks, ...(guard?.checks ?? [])],
  writes: beginWrites(id, before, { ...first, attempts }, liveMs),
  note: { did: "begin", attempts },
});

async function decideFrom({ store }: Scope, plan: Plan): Promise<Decision<BeginNote, BegunEffect>> {
  const { id, first } = plan;
  const snapshot = await store.read(effectRanges(id));
  const known = effectIn(snapshot, id);
  if (known === undefined) return attemptOf(plan, undefined, [{ key: effectKeys.record(id), is: "absent" }]);
  const { record, entry, liveUntilMs, begunAtMs } = known;
  if (record.fingerprint !== first.fingerprint) throw otherArguments(known);
  const { attempts } = record;
  const asRead: readonly Check[] = [{ key: effectKeys.record(id), revision: entry.revision }];
  const ownerGone: readonly Check[] = [...asRead, { key: effectKeys.live(id), is: "absent" }];
  // After the live time, a call whose answer was lost cannot be distinguished from one whose caller crashed: the policy decides.
  if (record.state === "intended" && record.nonce === first.nonce && liveUntilMs !== undefined)
    return { answer: { outcome: "begun", id, token: entry.revision, attempt: attempts, liveUntilMs } };
  if (record.state === "failed") return attemptOf(plan, record, asRead, attempts + 1);
  if (record.state === "done") return { answer: doneAnswer(known) };
  const agent = record.begunBy ?? entry.agent;
  if (liveUntilMs !== undefined) return { answer: { outcome: "in_flight", id, agent, sinceMs: begunAtMs, liveUntilMs, attempts } };
  if (plan.policy === "retry") return attemptOf(plan, record, ownerGone, attempts + 1);
  if (plan.policy === "ask") return { answer: { outcome: "unknown", id, token: known.token, agent, sinceMs: begunAtMs, attempts, reason: record.reason } };
  return {
    checks: [...ownerGone, ...(plan.guard?.checks ?? [])],
    writes: endWrites(id, resolvedRecord(known, "done", "policy", snapshot.nowMs), { value: null, kept: true }, "resolve"),
    note: { did: "assume", attempts },
  };
}

const doneAnswer = ({ id, record, entry, outcome }: StoredEffect): BegunEffect => ({
  outcome: "done",
  id,
  answer: outcome?.value ?? null,
  answerKept: outcome?.kept ?? false,
  resolved: record.resolved,
  doneAtMs: record.endedAtMs ?? entry.updatedAtMs,
  attempts: record.attempts,
});

/** Throws if only the guard's check failed. If the record changed as well, the record decides the answer, with or without the guard. */
function requireGuard({ id, guard }: Plan, failed: readonly FailedCheck[]): undefined {
  const isHeld = guard === undefined || !failed.some(({ check }) => guard.checks.includes(check));
  if (isHeld || failed.some(({ check }) => check.key === effectKeys.record(id))) return undefined;
  const runId = workflowKeys.runOfResource(guard.resource);
  if (runId === undefined) throw leaseLost(guard);
  throw new HoldfastError("claim_lost", `The claim on run ${runId} is not live or ${guard.token} is not its current token; nothing was written.`, {
    hint: "Stop working on this run, or claim it again.",
    details: { run_id: runId, token: guard.token },
  });
}

const otherArguments = ({ id, record }: StoredEffect): HoldfastError =>
  new HoldfastError("conflict", `The effect ${JSON.stringify(record.name ?? id)} was begun before with different arguments (${record.tool}); nothing was changed.`, {
    hint: "Give a different effect a different name, or repeat it with the arguments it had.",
    details: { id, name: record.name ?? null, tool: record.tool },
  });
