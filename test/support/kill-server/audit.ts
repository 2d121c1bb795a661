import { leaseKeys, sessionKeys, stateKeys, workflowKeys } from "../../../src/domain/keyspace.ts";
import type { ErrorCode } from "../../../src/kernel/errors.ts";
import { errorCodes } from "../../../src/kernel/errors.ts";
import type { Json } from "../../../src/kernel/json.ts";
import type { LogRow, Store } from "../../../src/store/store.ts";
import type { CampaignResult } from "../../../src/verify/campaign.ts";
import type { SentCommit } from "../../../src/verify/checkers/commits.ts";
import { checkCommits } from "../../../src/verify/checkers/commits.ts";
import type { FencingEvent } from "../../../src/verify/checkers/fencing.ts";
import { checkFencing } from "../../../src/verify/checkers/fencing.ts";
import { checkHistoryEqualsState } from "../../../src/verify/checkers/history-equals-state.ts";
import { checkRetrySafe } from "../../../src/verify/checkers/retry-safe.ts";
import { checkRevisions } from "../../../src/verify/checkers/revisions.ts";
import type { Violation } from "../../../src/verify/checkers/violation.ts";
import { Violations } from "../../../src/verify/checkers/violation.ts";
import { readWhole } from "../../../src/verify/read-whole.ts";
import type { FoundWrite, SentWrite } from "../checkers/durable.ts";
import { checkDurable } from "../checkers/durable.ts";
import type { ToolAnswer } from "./server-process.ts";
import type { RecordedCall } from "./tool-journal.ts";

/** Holds a store that nobody writes to any more to what servers answered before they were killed. */
export async function auditServers(store: Store, calls: readonly RecordedCall[]): Promise<CampaignResult> {
  const { rows, revision, entries, nowMs } = await readWhole(store);
  const effects = effectsOf(rows);
  return {
    figures: { revisions: revision, log_rows: rows.length },
    violations: [
      ...checkErrors(calls),
      ...checkCommits(sentCommits(calls, rows), contentRows(rows)),
      ...checkDurable(
        sentWrites(calls, effects),
        effects.filter(({ key }) => !isContent(key)),
      ),
      ...checkRevisions({ rows, acknowledged: acknowledgedRevisions(calls), revision }),
      ...checkHistoryEqualsState({ rows, entries, nowMs }),
      ...checkRetrySafe(retriedRequests(calls, effects)),
      ...[...fencingEvents(rows).values()].flatMap(checkFencing),
    ],
  };
}

/** The answer that counts: every later one must equal it, which is checked for itself. */
const answerOf = ({ answers }: RecordedCall): ToolAnswer | undefined => answers[0];

/** Whether an answer says that something was changed: each tool has one word for it. */
const saysDone = ({ isError, structured }: ToolAnswer): boolean =>
  !isError && (structured.ok ?? structured.acquired ?? structured.renewed ?? structured.released ?? structured.claimed ?? structured.created) === true;

/** Losing a race is part of the load; anything else that a tool answers as an error breaks the promise of a shared file. */
function checkErrors(calls: readonly RecordedCall[]): readonly Violation[] {
  const violations = new Violations("G12");
  for (const { label, tool, answers } of calls)
    for (const { isError, structured, text } of answers)
      if (isError && errorCodes[structured.error.code as ErrorCode]?.http !== 409) violations.add("unexpected_error", `${tool} (${label}) was answered ${text}`);
  return violations.list();
}

/** Commits whose whole content the client knows: those of state and sessions. The other tools keep books of their own beside it. */
const isContent = (key: string): boolean => key.startsWith(stateKeys.all.start) || key.startsWith(sessionKeys.all.start);
const unnamed = "unnamed";

/** The writer is the machine's user for all; what the caller called itself tells the calls apart. */
const contentRows = (rows: readonly LogRow[]): readonly LogRow[] => rows.filter(({ key }) => isContent(key)).map((row) => ({ ...row, writer: row.agent ?? unnamed }));

function sentCommits(calls: readonly RecordedCall[], rows: readonly LogRow[]): readonly SentCommit[] {
  const deleted = new Map(rows.filter(({ op }) => op === "delete").map((row) => [`${row.revision} ${row.key}`, row.version]));
  const saved = new Map(rows.filter(({ op }) => op === "put").map((row) => [`${row.key} ${row.version}`, row.revision]));
  return calls.flatMap((call): SentCommit[] => {
    const { label, tool, args } = call;
    const answer = answerOf(call);
    const told = answer?.structured;
    const outcome = (done: () => SentCommit["answer"]): SentCommit["answer"] => {
      if (answer === undefined) return undefined;
      return saysDone(answer) ? done() : "refused";
    };
    switch (tool) {
      case "state_set":
        return [{ client: label, writes: [{ key: stateKeys.key(args.key), value: args.value }], answer: outcome(() => ({ revision: told.revision, versions: [told.version] })) }];
      case "state_delete": {
        const key = stateKeys.key(args.key);
        // The answer does not say which version it ended; that it was the newest one is checked with the history.
        return [{ client: label, writes: [{ key }], answer: outcome(() => ({ revision: told.revision, versions: [deleted.get(`${told.revision} ${key}`) ?? 1] })) }];
      }
      case "state_commit": {
        const writes = args.writes.map((write: { key: string; value?: Json }) => ({ key: stateKeys.key(write.key), ...(write.value === undefined ? {} : { value: write.value }) }));
        return [{ client: label, writes, answer: outcome(() => ({ revision: told.revision, versions: told.results.map(({ version }: { version: number }) => version) })) }];
      }
      case "session_save": {
        const key = sessionKeys.key(args.session_id);
        // The answer names the version; the log says at which revision that was given.
        return [
          {
            client: unnamed,
            writes: [{ key, value: args.context }],
            answer: outcome(() => ({ revision: saved.get(`${key} ${told.version}`) ?? 0, versions: [told.version] })),
          },
        ];
      }
      default:
        return [];
    }
  });
}

/** The one row by which a call's effect is known, and what it says; `mark` on the side of the call gives the same words. */
function effectsOf(rows: readonly LogRow[]): readonly FoundWrite[] {
  const grants = new Set(rows.filter(({ key, op }) => op === "put" && key.startsWith(leaseKeys.holders.start)).map((row) => row.revision));
  const effects: FoundWrite[] = [];
  const seen = new Set<string>();
  for (const row of rows) {
    const value = row.op === "expire" ? undefined : markOfRow(row, grants.has(row.revision));
    const once = `${row.revision} ${value}`;
    // A commit of several keys is one effect.
    if (value === undefined || seen.has(once)) continue;
    seen.add(once);
    effects.push({ key: row.key, value, revision: row.revision });
  }
  return effects;
}

function markOfRow({ key, op, value, version, agent, record }: LogRow, isGrant: boolean): string | undefined {
  // biome-ignore lint/suspicious/noExplicitAny: values of every kind of entry
  const stored = value as any;
  const isPut = op === "put";
  if (key.startsWith(stateKeys.all.start)) return `changed by ${agent}`;
  if (key.startsWith(sessionKeys.all.start)) return isPut ? `saved by ${stored.by}` : undefined;
  if (key.startsWith(leaseKeys.holders.start)) return isPut ? `taken by ${stored.holder}` : undefined;
  if (key.startsWith(leaseKeys.deadlines.start)) {
    if (isGrant || workflowKeys.runOfResource(leaseKeys.resourceOf(key)) !== undefined) return undefined;
    return isPut ? `extended by ${stored.holder}` : `released by ${agent}`;
  }
  if (key.startsWith("workflow/step/")) return isPut ? `output ${stored}` : undefined;
  if (key.startsWith(workflowKeys.runs.start)) {
    if (version === 1) return `created ${stored.name}`;
    return record?.op === "finish" ? `result ${stored.result}` : undefined;
  }
  return undefined;
}

function markOf({ label, tool, args }: RecordedCall): string {
  switch (tool) {
    case "session_save":
      return `saved by ${label}`;
    case "lease_acquire":
    case "workflow_claim":
      return `taken by ${label}`;
    case "lease_renew":
      return `extended by ${args.holder_id}`;
    case "lease_release":
      return `released by ${args.holder_id}`;
    case "workflow_create":
      return `created ${label}`;
    case "workflow_checkpoint":
      return `output ${args.output}`;
    case "workflow_finish":
      return `result ${args.result}`;
    default:
      return `changed by ${label}`;
  }
}

/** Leases and runs: the row that a done or cut call must, or may, have left. */
function sentWrites(calls: readonly RecordedCall[], effects: readonly FoundWrite[]): readonly SentWrite[] {
  const foundAt = new Map(effects.map(({ key, value }) => [value, key]));
  return calls.flatMap((call): SentWrite[] => {
    const answer = answerOf(call);
    if (["state_set", "state_delete", "state_commit", "session_save"].includes(call.tool) || (answer !== undefined && !saysDone(answer))) return [];
    const value = markOf(call);
    // Which run a claim took, or which id a new run was given, only the answer knows: without one, whatever the store says.
    const key = keyOf(call, answer) ?? foundAt.get(value);
    if (key === undefined) return [];
    if (answer === undefined) return [{ key, value }];
    return [{ key, value, revision: answer.structured.token !== undefined && call.tool !== "lease_renew" ? answer.structured.token : "unknown" }];
  });
}

function keyOf({ tool, args }: RecordedCall, answer: ToolAnswer | undefined): string | undefined {
  const run = answer?.structured.run_id ?? args.run_id;
  switch (tool) {
    case "lease_acquire":
      return leaseKeys.holder(args.resource_id);
    case "lease_renew":
    case "lease_release":
      return leaseKeys.deadline(args.resource_id);
    case "workflow_claim":
      return run && leaseKeys.holder(workflowKeys.resource(run));
    case "workflow_checkpoint":
      return workflowKeys.step(run, args.step);
    default:
      return run && workflowKeys.run(run);
  }
}

/** The revisions that clients were told were their own: those of changes, and those of which a fencing token is the number. */
function acknowledgedRevisions(calls: readonly RecordedCall[]): readonly { readonly client: string; readonly revision: number }[] {
  return calls.flatMap((call) => {
    const answer = answerOf(call);
    if (answer === undefined || !saysDone(answer)) return [];
    const { revision, token } = answer.structured;
    const own = revision ?? (call.tool === "lease_acquire" || call.tool === "workflow_claim" ? token : undefined);
    return own === undefined ? [] : [{ client: call.label, revision: own }];
  });
}

/** Requests with a key, each with how often its effect stands in the log. A failure is not kept under the key, so it is no answer to compare. */
function retriedRequests(calls: readonly RecordedCall[], effects: readonly FoundWrite[]): Parameters<typeof checkRetrySafe>[0] {
  const counts = new Map<string, number>();
  for (const { value } of effects) counts.set(value, (counts.get(value) ?? 0) + 1);
  return calls.flatMap((call) => {
    const answer = answerOf(call);
    if (call.requestKey === undefined) return [];
    return [
      {
        key: `${call.tool} ${call.label}`,
        answers: call.answers.map(({ text }) => text),
        effects: counts.get(markOf(call)) ?? 0,
        refused: answer !== undefined && !saysDone(answer),
      },
    ];
  });
}

/** What the log says of each lease, in order: grants, renewals, ends, and guarded writes with the token that they carried. */
function fencingEvents(rows: readonly LogRow[]): ReadonlyMap<string, readonly FencingEvent[]> {
  const perLease = new Map<string, FencingEvent[]>();
  const tokens = new Map<string, number>();
  const add = (resource: string, event: FencingEvent): void => {
    const events = perLease.get(resource) ?? [];
    perLease.set(resource, events);
    events.push(event);
  };
  const deadlines = new Map(
    rows.filter(({ key, op }) => op === "put" && key.startsWith(leaseKeys.deadlines.start)).map((row) => [`${row.revision} ${leaseKeys.resourceOf(row.key)}`, row]),
  );
  for (const { key, op, revision, value, atMs, expiresAtMs = 0, agent = "" } of rows) {
    // biome-ignore lint/suspicious/noExplicitAny: values of every kind of entry
    const stored = value as any;
    if (key.startsWith(leaseKeys.holders.start) && op === "put") {
      const resource = leaseKeys.resourceOfHolder(key);
      tokens.set(stored.holder, revision);
      add(resource, { revision, what: "granted", holder: stored.holder, token: revision, atMs, expiresAtMs: deadlines.get(`${revision} ${resource}`)?.expiresAtMs ?? 0 });
    } else if (key.startsWith(leaseKeys.deadlines.start)) {
      const resource = leaseKeys.resourceOf(key);
      // A grant writes the deadline after the holder; everything else that moves it is a renewal.
      if (op === "put" && tokens.get(stored.holder) !== revision) add(resource, { revision, what: "renewed", token: tokens.get(stored.holder) ?? 0, expiresAtMs });
      else if (op === "delete") add(resource, { revision, what: "ended", token: tokens.get(agent) ?? 0 });
    } else if (key.startsWith(guardedPrefix) && op === "put") {
      add(key.slice(guardedPrefix.length), { revision, what: "write", by: agent, token: stored.token, atMs });
    }
  }
  return perLease;
}

const guardedPrefix = stateKeys.key("guarded/");
