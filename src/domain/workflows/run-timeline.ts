import { keyRange } from "../../store/ranges.ts";
import type { Entry, LogRow, Revision } from "../../store/store.ts";
import { systemWriter } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { leaseKeys, workflowKeys } from "../keyspace.ts";
import { asItHappened } from "../log-order.ts";
import type { RunStatus } from "./workflow.ts";
import type { RunView } from "./workflows.ts";

export type RunEventName = "created" | "claimed" | "taken over" | "renewed" | "lapsed" | "returned" | "step" | "done" | "failed" | "cancelled" | "changed";

/** One thing that happened to a run. */
export interface RunEvent {
  readonly atMs: number;
  readonly revision: Revision;
  readonly what: RunEventName;
  readonly step?: number;
  readonly writer: string;
  readonly agent?: string;
  /** For a claim, its fencing token. */
  readonly token?: Revision;
  /** The number of consecutive renewals that this event represents. */
  readonly times?: number;
}

export interface RunTimeline {
  /** Oldest first. */
  readonly events: readonly RunEvent[];
  /** False if older events were not read or are no longer stored. */
  readonly complete: boolean;
}

const rowsMax = 500;
const pagesMax = 3;
const stepsMax = 500;

/**
 * The events of a run, with their authors and times. Steps come from their own entries, changes to the run and its claim from the log of those two keys.
 * `view`: the current run.
 */
export async function readTimeline({ store }: Pick<Scope, "store">, view: RunView): Promise<RunTimeline> {
  const { rows, complete } = await readRows({ store }, view.runId);
  const steps = await store.read(workflowKeys.steps(view.runId), { limit: stepsMax, reverse: true, values: false });
  const events = [...toEvents(rows, view), ...steps.entries.map(stepEvent)].sort((a, b) => a.revision - b.revision);
  return { events: [...events, ...(await readLapse({ store }, events, view))], complete: complete && !steps.more };
}

/** Log rows of the run and of its claim's deadline, oldest first. */
async function readRows({ store }: Pick<Scope, "store">, runId: string): Promise<{ readonly rows: readonly LogRow[]; readonly complete: boolean }> {
  const rows: LogRow[] = [];
  let before: Revision | undefined;
  for (let pages = 0; pages < pagesMax; pages += 1) {
    const page = await store.log({
      ranges: [keyRange(workflowKeys.run(runId)), keyRange(leaseKeys.deadline(workflowKeys.resource(runId)))],
      before,
      reverse: true,
      narrow: true,
      recorded: { kinds: ["workflow"] },
      values: false,
      lenient: true,
      limit: rowsMax,
    });
    rows.push(...page.rows);
    if (page.done) return { rows: rows.sort(asItHappened), complete: rows.some((row) => row.record?.op === "create") };
    if (rows.length >= rowsMax) break;
    before = page.through;
  }
  return { rows: rows.sort(asItHappened), complete: false };
}

function toEvents(rows: readonly LogRow[], view: RunView): RunEvent[] {
  const events: RunEvent[] = [];
  // The known holder. A claim by another agent is a takeover unless the run was given back first.
  let holder: string | undefined;
  for (const row of rows) {
    const { atMs, revision, writer, agent } = row;
    const base = { atMs, revision, writer, agent };
    const who = agent ?? writer;
    switch (row.record?.op) {
      case "create":
        events.push({ ...base, what: "created" });
        break;
      case "claim":
        events.push({ ...base, what: holder !== undefined && holder !== who ? "taken over" : "claimed", token: revision });
        holder = who;
        break;
      case "renew": {
        const last = events.at(-1);
        if (last?.what === "renewed") events.pop();
        events.push({ ...base, what: "renewed", times: (last?.what === "renewed" ? (last.times ?? 1) : 0) + 1 });
        break;
      }
      case "lapse":
        events.push({ ...base, what: "lapsed" });
        break;
      case "release":
      case "return":
        events.push({ ...base, what: "returned" });
        holder = undefined;
        break;
      case "retry":
        events.push({ ...base, what: "failed" });
        holder = undefined;
        break;
      case "finish":
        events.push({ ...base, what: endingOf(view.status) });
        break;
      default:
        events.push({ ...base, what: "changed" });
    }
  }
  return events;
}

const endingOf = (status: RunStatus): RunEventName => (status === "done" || status === "failed" || status === "cancelled" ? status : "changed");

const stepEvent = (entry: Entry): RunEvent => ({
  atMs: entry.updatedAtMs,
  revision: entry.revision,
  what: "step",
  step: workflowKeys.stepOf(entry.key),
  writer: entry.writer,
  agent: entry.agent,
});

/** Nothing is written when a claim lapses. Until the store records the lapse, it is computed here. */
async function readLapse({ store }: Pick<Scope, "store">, events: readonly RunEvent[], { runId, agentId, claimExpiresAtMs, status }: RunView): Promise<readonly RunEvent[]> {
  if (agentId === undefined || claimExpiresAtMs !== undefined || endingOf(status) !== "changed") return [];
  const deadline = keyRange(leaseKeys.deadline(workflowKeys.resource(runId)));
  const { rows } = await store.log({ ranges: [deadline], reverse: true, narrow: true, lenient: true, values: false, limit: 1 });
  const [row] = rows;
  if (row?.op !== "put" || row.expiresAtMs === undefined) return [];
  return [{ atMs: row.expiresAtMs, revision: events.at(-1)?.revision ?? row.revision, what: "lapsed", writer: systemWriter }];
}
