import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { nextOrdinal, randomHex } from "../../kernel/ids.ts";
import type { Json } from "../../kernel/json.ts";
import { canonicalJson } from "../../kernel/json.ts";
import { requireKey, requireTtl } from "../../store/prepare-commit.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Range, Snapshot, Store, Write } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { transact } from "../../store/transact.ts";
import { leaseKeys, workflowKeys } from "../keyspace.ts";
import type { HistorySubject, LeaseRecord } from "../leases/lease.ts";
import { dropWrites, extendWrite, leaseIn, leaseRanges } from "../leases/lease.ts";
import type { HeldRun, HeldRuns } from "./held-runs.ts";
import { listingWrites, runWrites } from "./run-index.ts";
import type { Ending, Reporter, Run, RunStatus } from "./workflow.ts";
import { ended, givenBack, isFinished, requireMayReport, shownStatus, stepDone, toRun } from "./workflow.ts";

/** The caller's view of a run. */
export interface RunView extends Pick<Run, "name" | "status" | "tags" | "priority" | "lastStep" | "attempts" | "createdAtMs" | "startedAtMs" | "place" | "result" | "error"> {
  readonly runId: string;
  /** The current or last holder; undefined if the run was never claimed or was given back. */
  readonly agentId?: string;
  readonly token?: number;
  /** When the live claim expires; undefined without a live claim. */
  readonly claimExpiresAtMs?: number;
  readonly updatedAtMs: number;
}

export interface CreateInput {
  readonly name: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly input?: Json;
  /** An id chosen by the caller. Creating a run again with the same id returns the first one. */
  readonly runId?: string;
  readonly priority?: number;
  /** The id of the workspace in which the run is created. */
  readonly workspace?: string;
}
export interface CreateResult {
  readonly runId: string;
  readonly name: string;
  readonly status: RunStatus;
  readonly created: boolean;
}

const runIdPattern = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
const priorityMax = 1000;

export async function createRun(scope: Scope, { name, tags = {}, input, runId = `wf-${randomHex(12)}`, priority = 0, workspace }: CreateInput): Promise<CreateResult> {
  requireKey(name, "name");
  requireRunId(runId);
  requireTags(tags);
  // Assigned on arrival, so that requests from one input stream keep their order.
  const ordinal = nextOrdinal();
  if (!Number.isInteger(priority) || Math.abs(priority) > priorityMax) throw invalidInput("priority", `must be a whole number from -${priorityMax} to ${priorityMax}`);
  return transact<{ runId: string; name: string }, CreateResult>(scope, {
    async decide() {
      const snapshot = await scope.store.read([keyRange(workflowKeys.run(runId)), ...leaseRanges(workflowKeys.resource(runId))]);
      const entry = snapshot.entries.find(({ key }) => key === workflowKeys.run(runId));
      const found = entry && toRun(entry);
      if (found !== undefined) return { answer: { runId, name: found.name, status: shownStatus(found, leaseIn(snapshot, workflowKeys.resource(runId))), created: false } };
      const place = workflowKeys.listPosition(snapshot.revision, ordinal);
      const begun = { status: "created", lastStep: 0, attempts: 0, createdAtMs: snapshot.nowMs, place, formerAgents: [], indexed: { zone: "ready" } } as const;
      const run: Run = { name, tags, ...(workspace === undefined ? {} : { workspace }), priority, ...begun };
      return {
        checks: [{ key: workflowKeys.run(runId), is: "absent" }],
        writes: [
          ...runWrites(runId, undefined, run, "create"),
          ...listingWrites(runId, run),
          ...(input === undefined ? [] : [{ op: "put" as const, key: workflowKeys.input(runId), value: input }]),
        ],
        note: { runId, name },
      };
    },
    finish: (note) => ({ runId: note.runId, name: note.name, status: "created", created: true }),
  });
}

export interface CheckpointInput extends Reporter {
  readonly runId: string;
  readonly step: number;
  readonly output: Json;
}
export interface CheckpointResult {
  readonly runId: string;
  readonly step: number;
  readonly lastStep: number;
}

/** Stores a step's output and extends the caller's claim, if it holds one. Repeating a step with the same output stores nothing new. */
export function checkpointRun(scope: Scope, { runId, step, output, ...reporter }: CheckpointInput, heldRuns?: HeldRuns): Promise<CheckpointResult> {
  requireRunId(runId);
  if (!Number.isSafeInteger(step) || step < 0) throw invalidInput("step", "must be a whole number, 0 or more");
  const stepKey = workflowKeys.step(runId, step);
  // A request key may bring back the answer of another process's commit.
  const remembering = scope.request === undefined ? heldRuns : undefined;
  let held = remembering?.take(runId, reporter);
  let next: Omit<HeldRun, "revision"> | undefined;
  return transact<{ step: number; lastStep: number }, CheckpointResult>(scope, {
    async decide() {
      if (held !== undefined) {
        const { revision, ...known } = held;
        held = undefined;
        const after = stepDone(known.run, step);
        next = { ...known, run: after };
        return {
          checks: [
            { key: workflowKeys.run(runId), revision },
            { key: leaseKeys.deadline(workflowKeys.resource(runId)), revision },
            { key: stepKey, is: "absent" },
          ],
          writes: [
            checkpointWrite(runId, step, output),
            ...runWrites(runId, known.run, after, undefined),
            extendWrite(workflowKeys.resource(runId), known.holder, known.ttlMs, historySubjectOf(runId), undefined),
          ],
          note: { step, lastStep: after.lastStep },
        };
      }
      next = undefined;
      const { run, revision, claim, snapshot } = await requireRun(scope.store, runId, [keyRange(stepKey)]);
      const holder = requireMayReport(runId, run, claim, reporter);
      const known = snapshot.entries.find((entry) => entry.key === stepKey);
      const unchanged = known !== undefined && canonicalJson(known.value) === canonicalJson(output);
      if (unchanged && holder === undefined) return { answer: { runId, step, lastStep: run.lastStep } };
      const after = heldAgain(stepDone(run, step), claim, holder, snapshot.nowMs);
      if (!unchanged && holder !== undefined && claim.last !== undefined) next = { run: after, holder, token: claim.last.token, ttlMs: extensionMs(claim) };
      return {
        checks: [{ key: workflowKeys.run(runId), revision }],
        writes: unchanged
          ? [...extension(runId, claim, holder, "renew"), ...(after.indexed?.zone === run.indexed?.zone ? [] : runWrites(runId, run, after, undefined))]
          : [checkpointWrite(runId, step, output), ...runWrites(runId, run, after, undefined), ...extension(runId, claim, holder, undefined)],
        note: { step, lastStep: after.lastStep },
      };
    },
    finish(note, { revision }) {
      if (next !== undefined) remembering?.note(runId, { ...next, revision });
      return { runId, ...note };
    },
  });
}

const checkpointWrite = (runId: string, step: number, output: Json): Write => ({
  op: "put",
  key: workflowKeys.step(runId, step),
  value: output,
  record: { kind: "workflow", op: "checkpoint", subject: runId },
});

export interface FinishResult {
  readonly runId: string;
  readonly status: RunStatus;
  readonly attempts: number;
}

/**
 * Ends a run, or requeues a failed one. An operator may cancel a run without an agent id and without a claim.
 * An agent id or token, if given, must match. Ending a run again in the same way returns the first result.
 */
export async function finishRun(
  scope: Scope,
  { runId, ending, ...reporter }: Reporter & { readonly runId: string; readonly ending: Ending },
  heldRuns?: HeldRuns,
): Promise<FinishResult> {
  requireRunId(runId);
  if (ending.status !== "done" && ending.status !== "failed" && ending.status !== "cancelled") throw invalidInput("status", "must be done, failed or cancelled");
  let held = scope.request === undefined ? heldRuns?.take(runId, reporter) : undefined;
  return transact<{ status: RunStatus; attempts: number }, FinishResult>(scope, {
    async decide() {
      const { run, revision, claim } = held === undefined ? await requireRun(scope.store, runId) : { ...held, claim: { last: held } };
      held = undefined;
      if (isEndedSo(run, ending, reporter)) return { answer: { runId, status: run.status, attempts: run.attempts } };
      const isNamed = reporter.agentId !== undefined || reporter.token !== undefined;
      if (ending.status !== "cancelled" || isNamed || isFinished(run)) requireMayReport(runId, run, claim, reporter);
      const back = ended(run, ending, claim.last);
      const after: Run = { ...back, indexed: isFinished(back) ? undefined : { zone: "ready" } };
      return {
        checks: [{ key: workflowKeys.run(runId), revision }],
        writes: [
          ...runWrites(runId, run, after, isFinished(after) ? "finish" : "retry"),
          ...(claim.last === undefined ? [] : dropWrites(workflowKeys.resource(runId), historySubjectOf(runId), undefined)),
        ],
        note: { status: after.status, attempts: after.attempts },
      };
    },
    finish: (note) => ({ runId, ...note }),
  });
}

/** Whether this caller, as far as it identified itself, has already ended the run with the same outcome. */
function isEndedSo(run: Run, ending: Ending, { agentId, token }: Reporter): boolean {
  const { endedBy } = run;
  const isSameCaller = endedBy === undefined || ((agentId === undefined || agentId === endedBy.agentId) && (token === undefined || token === endedBy.token));
  const outcome = (ended: { readonly status: RunStatus; readonly result?: Json; readonly error?: Json }): string =>
    canonicalJson([ended.status, (ended.status === "done" ? ended.result : ended.error) ?? null]);
  return isFinished(run) && isSameCaller && !("retry" in ending && ending.retry) && outcome(run) === outcome(ending);
}

/** The heartbeat of a claim, used by `lease_renew` on its resource. */
export function renewClaim(
  scope: Scope,
  { runId, agentId, token, ttlMs }: { readonly runId: string; readonly agentId: string; readonly token?: number; readonly ttlMs: number },
): Promise<{ readonly ok: true; readonly token: number; readonly expiresAtMs: number } | { readonly ok: false; readonly heldBy?: string }> {
  requireTtl(ttlMs, "ttl_seconds");
  return transact<{ token: number }, { ok: true; token: number; expiresAtMs: number } | { ok: false; heldBy?: string }>(scope, {
    async decide() {
      const { run, revision, claim } = await requireRun(scope.store, runId);
      const { live } = claim;
      if (live === undefined || isFinished(run) || live.holder !== agentId || (token !== undefined && token !== live.token)) return { answer: { ok: false, heldBy: live?.holder } };
      return {
        checks: [{ key: workflowKeys.run(runId), revision }],
        writes: [extendWrite(workflowKeys.resource(runId), agentId, ttlMs, historySubjectOf(runId), "renew")],
        note: { token: live.token },
      };
    },
    finish: (note, committed) => ({ ok: true, token: note.token, expiresAtMs: committed.writes[0]?.expiresAtMs as number }),
  });
}

/** Gives a run back: it is claimable at once and keeps its steps. Used by `lease_release` on its resource. */
export function giveBackRun(
  scope: Scope,
  { runId, agentId, token, claimableAfterMs }: { readonly runId: string; readonly agentId: string; readonly token?: number; readonly claimableAfterMs?: number },
): Promise<{ readonly released: boolean }> {
  return transact<null, { released: boolean }>(scope, {
    async decide() {
      const { run, revision, claim, snapshot } = await requireRun(scope.store, runId);
      const { live } = claim;
      if (live === undefined || isFinished(run) || live.holder !== agentId || (token !== undefined && token !== live.token)) return { answer: { released: false } };
      // In the index of claimed runs, an agent that looks for work finds it when its time has come, as if a claim had lapsed then.
      const indexed: Run["indexed"] = claimableAfterMs === undefined ? { zone: "ready" } : { zone: "claimed", lookAtMs: snapshot.nowMs + Math.ceil(claimableAfterMs) };
      return {
        checks: [{ key: workflowKeys.run(runId), revision }],
        writes: [...runWrites(runId, run, { ...givenBack(run, agentId), indexed }, "release"), ...dropWrites(workflowKeys.resource(runId), historySubjectOf(runId), undefined)],
        note: null,
      };
    },
    finish: () => ({ released: true }),
  });
}

/** A run and its claim as of one revision, together with any other requested ranges. */
export async function requireRun(
  store: Store,
  runId: string,
  also: readonly Range[] = [],
): Promise<{ readonly run: Run; readonly revision: number; readonly updatedAtMs: number; readonly claim: LeaseRecord; readonly snapshot: Snapshot }> {
  requireRunId(runId);
  const snapshot = await store.read([keyRange(workflowKeys.run(runId)), ...leaseRanges(workflowKeys.resource(runId)), ...also]);
  const entry = snapshot.entries.find((candidate) => candidate.key === workflowKeys.run(runId));
  if (entry === undefined)
    throw new HoldfastError("not_found", `There is no run ${JSON.stringify(runId)}.`, { hint: "workflow_discover lists the runs.", details: { run_id: runId } });
  return { run: toRun(entry), revision: entry.revision, updatedAtMs: entry.updatedAtMs, claim: leaseIn(snapshot, workflowKeys.resource(runId)), snapshot };
}

export const toRunView = (runId: string, run: Run, updatedAtMs: number, claim: LeaseRecord): RunView => ({
  runId,
  name: run.name,
  status: shownStatus(run, claim),
  tags: run.tags,
  priority: run.priority,
  agentId: claim.last?.holder ?? run.endedBy?.agentId,
  token: claim.last?.token ?? run.endedBy?.token,
  claimExpiresAtMs: claim.live?.expiresAtMs,
  lastStep: run.lastStep,
  attempts: run.attempts,
  createdAtMs: run.createdAtMs,
  startedAtMs: run.startedAtMs,
  place: run.place,
  updatedAtMs,
  result: run.result,
  error: run.error,
});

/** History records changes to a claim under its run. */
export const historySubjectOf = (runId: string): HistorySubject => ({ kind: "workflow", subject: runId });

/** Every report extends the claim's deadline. The check time in the index changes only if the run is not in the `claimed` index. */
function heldAgain(run: Run, claim: LeaseRecord, holder: string | undefined, nowMs: number): Run {
  if (holder === undefined || run.indexed?.zone === "claimed") return run;
  return { ...run, indexed: { zone: "claimed", lookAtMs: nowMs + (claim.last?.ttlMs ?? 0) } };
}

/** A single short renewal must not shorten later extensions. */
const extension = (runId: string, claim: LeaseRecord, holder: string | undefined, op: string | undefined) =>
  holder === undefined ? [] : [extendWrite(workflowKeys.resource(runId), holder, extensionMs(claim), historySubjectOf(runId), op)];

const extensionMs = ({ live, last }: LeaseRecord): number => Math.max(live?.ttlMs ?? 0, last?.ttlMs ?? 0);

/** Applies to every surface. The tools check the same limits earlier, with their own wording. */
export function requireTags(tags: Readonly<Record<string, string>>): void {
  const entries = Object.entries(tags);
  const isTag = (text: unknown, bytesMax: number): boolean => typeof text === "string" && text.isWellFormed() && !text.includes("\0") && Buffer.byteLength(text) <= bytesMax;
  if (entries.length > 16 || !entries.every(([name, value]) => name !== "" && isTag(name, 64) && isTag(value, 128)))
    throw invalidInput("tags", "must be at most 16 names (to 64 bytes) with text values (to 128 bytes)");
}

export function requireRunId(runId: string, field = "run_id"): void {
  if (!runIdPattern.test(runId)) throw invalidInput(field, "must be 1 to 128 letters, digits and . _ : -, beginning with a letter or digit");
}
