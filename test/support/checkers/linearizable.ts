import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import type { Clock } from "../../../src/kernel/clock.ts";
import { canonicalJson } from "../../../src/kernel/json.ts";
import { holds } from "../../../src/store/engine-rules.ts";
import { prepareCommit } from "../../../src/store/prepare-commit.ts";
import { inRange, isLive } from "../../../src/store/ranges.ts";
import type { Commit, CommitResult, Entry, LogRow, PreparedCommit, PreparedWrite, Range, Revision, Snapshot } from "../../../src/store/store.ts";
import { rowsByRevision } from "../../../src/verify/checkers/rows-by-revision.ts";
import type { Violation } from "../../../src/verify/checkers/violation.ts";
import { Violations } from "../../../src/verify/checkers/violation.ts";

interface Call {
  readonly client: string;
  /** Microseconds on a clock that all clients share (the machine's monotonic clock). */
  readonly calledAtUs: number;
  readonly returnedAtUs: number;
}

/** An answered call. Calls without an answer are left out; their effects, if any, are in the log. */
export type AnsweredCall = Call &
  ({ readonly kind: "commit"; readonly commit: Commit; readonly result: CommitResult } | { readonly kind: "read"; readonly range: Range; readonly snapshot: Snapshot });

export interface LinearRun {
  readonly calls: readonly AnsweredCall[];
  /** The whole log of the namespace, oldest first, without compaction. */
  readonly rows: readonly LogRow[];
}

/**
 * G2. Every commit carries its revision, so no search is needed: the log's order is the claimed order.
 * It is the true one if (1) the memory engine, given the same commits in that order, returns the same answers and the same log,
 * (2) everything that returned before a call began has a lower revision than that call, and
 * (3) every read and every rejection matches the state at the revision it names, and that revision lies within its window.
 * Reads must not use `at`, and pages must be complete: the checker compares them with everything live in the range.
 */
export async function checkLinearizable({ calls, rows }: LinearRun): Promise<readonly Violation[]> {
  const violations = new Violations("G2");
  const takers = new Map<Revision, AnsweredCall & { kind: "commit" }>();
  for (const call of calls) {
    if (call.kind !== "commit" || !tookRevision(call)) continue;
    if (takers.has(call.result.revision))
      violations.add("revision_shared", `${takers.get(call.result.revision)?.client} and ${call.client} both got revision ${call.result.revision}.`);
    takers.set(call.result.revision, call);
  }
  const states = await replay(rows, takers, violations);
  for (const [revision, call] of takers)
    if (revision >= states.length) violations.add("commit_missing", `${call.client} received revision ${revision}, which the log does not have.`);
  checkWindows(calls, violations);
  for (const call of calls) {
    if (call.kind === "read") checkRead(call, states, violations);
    else if (!call.result.ok && call.result.reason === "checks") checkRefusal(call, states, violations);
  }
  return violations.list();
}

const namespace = "replay";

type State = ReadonlyMap<string, Entry>;

/** Replays the log's revisions in order on the memory engine. Returns the state after each of them; state 0 is empty. */
async function replay(rows: readonly LogRow[], takers: ReadonlyMap<Revision, AnsweredCall & { kind: "commit" }>, violations: Violations): Promise<readonly State[]> {
  let nowMs = 0;
  const clock: Clock = { nowMs: () => nowMs, sleep: async () => {}, rest: async () => {}, turn: (then) => then() };
  const model = new MemoryEngine(clock);
  const states: State[] = [new Map()];
  for (const [revision, claimed] of rowsByRevision(rows)) {
    nowMs = claimed[0]?.atMs ?? 0;
    const taker = takers.get(revision);
    if (taker !== undefined) {
      const [result] = await model.commit(namespace, [prepareCommit(taker.commit)]);
      if (!same(result, taker.result))
        violations.add("commit_unexplained", `${taker.client} received ${brief(taker.result)} for revision ${revision}; in that order it is ${brief(result)}.`);
    } else {
      await model.commit(namespace, [preparedFromRows(claimed)]);
    }
    const made = await model.log(namespace, { ranges: [{ start: "" }], after: revision - 1, before: revision + 1 });
    if (!same(made.rows, claimed)) violations.add("log_differs", `The log of revision ${revision} is not what its commit does there.`);
    const state = new Map(states.at(-1));
    for (const row of claimed) {
      if (row.op === "put") state.set(row.key, entryOf(row, state.get(row.key)));
      else state.delete(row.key);
    }
    states.push(state);
  }
  return states;
}

/**
 * Rebuilds a commit from the log for a revision that no answered call took: a commit whose client got no answer, a sweep, or a delete that met
 * an expired entry. The last two log only expiries, and a delete of an expired key does exactly that.
 */
function preparedFromRows(rows: readonly LogRow[]): PreparedCommit {
  const own = rows.filter((row) => row.op !== "expire");
  const writes = (own.length > 0 ? own : rows).map((row): PreparedWrite => {
    if (row.op !== "put") return { op: "delete", key: row.key, record: row.record };
    return { op: "put", key: row.key, json: JSON.stringify(row.value), record: row.record, ttlMs: row.expiresAtMs === undefined ? undefined : row.expiresAtMs - row.atMs };
  });
  return { checks: [], writes, writer: own[0]?.writer ?? "", agent: own[0]?.agent, bytes: 0 };
}

const entryOf = (row: LogRow, before: Entry | undefined): Entry => ({
  key: row.key,
  value: row.value,
  version: row.version,
  revision: row.revision,
  createdAtMs: before?.createdAtMs ?? row.atMs,
  updatedAtMs: row.atMs,
  expiresAtMs: row.expiresAtMs,
  writer: row.writer,
  agent: row.agent,
});

/** Real-time order: a call's revision must not precede one that had returned when it was called, nor follow one that was called after it had returned. */
function checkWindows(calls: readonly AnsweredCall[], violations: Violations): void {
  const floors = new Map<AnsweredCall, Revision>();
  const moments = calls.flatMap((call) => [
    { atUs: call.calledAtUs, call, returns: false },
    { atUs: call.returnedAtUs, call, returns: true },
  ]);
  // Within one microsecond the order is unknown. Calls sort before returns, which makes them concurrent.
  moments.sort((a, b) => a.atUs - b.atUs || Number(a.returns) - Number(b.returns));
  let highest = 0;
  for (const { call, returns } of moments) {
    if (returns) highest = Math.max(highest, revisionOf(call));
    else floors.set(call, highest);
  }
  let lowest = Number.POSITIVE_INFINITY;
  for (const { call, returns } of moments.toReversed()) {
    if (!returns) {
      if (tookRevision(call)) lowest = Math.min(lowest, revisionOf(call));
      continue;
    }
    const revision = revisionOf(call);
    const floor = floors.get(call) ?? 0;
    if (tookRevision(call) ? revision <= floor : revision < floor)
      violations.add(
        call.kind === "read" ? "stale_read" : "order_broken",
        `${call.client}'s ${call.kind} has revision ${revision}; when it was called, ${floor} had already been answered.`,
      );
    if (revision >= lowest) violations.add("from_the_future", `${call.client}'s ${call.kind} has revision ${revision}; a commit called after its answer took ${lowest}.`);
  }
}

function checkRead({ client, range, snapshot }: AnsweredCall & { kind: "read" }, states: readonly State[], violations: Violations): void {
  const state = states[snapshot.revision];
  if (state === undefined) return violations.add("read_unexplained", `${client} read revision ${snapshot.revision}, which the log does not have.`);
  const live = [...state.values()].filter((entry) => inRange(entry.key, range) && isLive(entry, snapshot.nowMs));
  const byKey = (entries: readonly Entry[]): unknown => Object.fromEntries(entries.map((entry) => [entry.key, entry]));
  if (!same(byKey(live), byKey(snapshot.entries))) violations.add("read_unexplained", `${client} read at revision ${snapshot.revision} a value that the store did not have then.`);
}

function checkRefusal({ client, commit, result }: AnsweredCall & { kind: "commit" }, states: readonly State[], violations: Violations): void {
  if (result.ok || result.reason !== "checks") return;
  const state = states[result.revision];
  const failed = (commit.checks ?? []).flatMap((check) => {
    const entry = state?.get(check.key);
    const live = entry !== undefined && isLive(entry, result.atMs) ? entry : undefined;
    return holds(check, live) ? [] : [{ check, entry: live && { ...live, value: null } }];
  });
  if (state === undefined || failed.length === 0 || !same(failed, result.failed))
    violations.add("refusal_unexplained", `${client} was refused at revision ${result.revision} for a reason that did not hold then.`);
}

const revisionOf = (call: AnsweredCall): Revision => (call.kind === "read" ? call.snapshot.revision : call.result.revision);

/** Whether the call is a commit that changed something. A replayed answer took its revision when it was first given. */
function tookRevision(call: AnsweredCall): boolean {
  if (call.kind === "read" || !call.result.ok || call.result.replayed) return false;
  return call.result.writes.some((outcome, i) => outcome.existed || call.commit.writes[i]?.op === "put");
}

const same = (a: unknown, b: unknown): boolean => canonicalJson(a) === canonicalJson(b);
const brief = (value: unknown): string => canonicalJson(value).slice(0, 200);
