import { everything } from "../../store/ranges.ts";
import type { LogRow, Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import type { HistoryKind } from "../keyspace.ts";
import { journalKeys, researchKeys, workflowKeys } from "../keyspace.ts";
import { newestFirst } from "../log-order.ts";
import type { ActivityTitle } from "./activity-titles.ts";
import { readActivityTitles, thingKey } from "./activity-titles.ts";
import { prefixRanges } from "./history.ts";

/** One change to one thing, worded for people. */
export interface Activity {
  readonly revision: Revision;
  readonly atMs: number;
  readonly kind: string;
  /** For example "set", "claimed" or "step 4". */
  readonly operation: string;
  /** Empty for sessions: knowing a session's id is enough to read it. */
  readonly subject: string;
  /** The readable name: a run's name, the first line of a journal entry, a research question. */
  readonly title?: string;
  readonly writer: string;
  readonly agent?: string;
  /** For kind `checkpoint`: whether it is a journal entry or a research checkpoint. */
  readonly written?: "journal" | "research";
  /** True for renewals of leases and claims, which are not news. */
  readonly isHeartbeat: boolean;
}

export interface ActivityQuery {
  /** Only revisions below this. */
  readonly before?: Revision;
  /** A page may exceed this, because the changes of one revision are never split across pages. */
  readonly limit: number;
  readonly kind?: HistoryKind;
  /** Only names with this prefix. */
  readonly subject?: string;
  /** The principal or the agent label; must match in full. */
  readonly who?: string;
  /** Include heartbeats, that is, renewals of leases and claims. */
  readonly heartbeats?: boolean;
}

export interface ActivityPage {
  /** Newest first. */
  readonly items: readonly Activity[];
  /** Pass this as `before` to get the next page; undefined at the end of the stored history. */
  readonly next?: Revision;
}

const heartbeatOp = "renew";
/** Log pages read for one page of activity. Without a limit, a filter that matches few rows would scan the whole log. */
const logPagesMax = 3;
/** Knowing a session's id gives access to it, and a search by prefix would let it be guessed letter by letter. */
const kindsWithPublicNames = ["state", "lease", "workflow", "effect", "checkpoint", "knowledge"] as const satisfies readonly HistoryKind[];

/** Changes, newest first. A page may have fewer items than its limit and still have a next page. */
export async function readActivity({ store }: Pick<Scope, "store">, query: ActivityQuery): Promise<ActivityPage> {
  const { limit, kind, subject, who, heartbeats = false } = query;
  const kinds = kind === undefined ? (subject === undefined ? undefined : kindsWithPublicNames) : [kind];
  if (subject !== undefined && kind === "session") return { items: [] };
  const found: LogRow[] = [];
  let { before } = query;
  for (let pages = 0; pages < logPagesMax; pages += 1) {
    const page = await store.log({
      ranges: subject === undefined ? [everything] : prefixRanges(subject, kinds ?? kindsWithPublicNames),
      before,
      reverse: true,
      recorded: { kinds, writer: who },
      // Heartbeats among these rows are dropped; the next log page makes up for them.
      limit: Math.min(1_000, Math.max(50, limit - found.length)),
      lenient: true,
      values: false,
    });
    for (const row of page.rows.toSorted(newestFirst)) {
      const last = found.at(-1);
      if (found.length >= limit && last?.revision !== row.revision) return { items: await toActivities({ store }, found), next: last?.revision };
      if ((heartbeats || row.record?.op !== heartbeatOp) && (subject === undefined || row.record?.subject.startsWith(subject))) found.push(row);
    }
    if (page.done) return { items: await toActivities({ store }, found) };
    before = page.through;
  }
  return { items: await toActivities({ store }, found), next: before };
}

/** Converts rows to activities and skips rows without a record. */
export async function toActivities({ store }: Pick<Scope, "store">, rows: readonly LogRow[]): Promise<readonly Activity[]> {
  const things = await readActivityTitles({ store }, rows);
  return rows.flatMap((row) => (row.record === undefined ? [] : [toActivity(row, row.record, things.get(thingKey(row) ?? ""))]));
}

function toActivity(row: LogRow, { kind, op, subject }: NonNullable<LogRow["record"]>, thing: ActivityTitle | undefined): Activity {
  const { revision, atMs, writer, agent } = row;
  const written = kind !== "checkpoint" ? undefined : isIn(row.key, journalKeys.entries.start) ? "journal" : isIn(row.key, researchKeys.all.start) ? "research" : undefined;
  return {
    revision,
    atMs,
    kind,
    operation: operationOf(row, kind, op, thing?.status),
    subject: kind === "session" ? "" : subject,
    title: thing?.title,
    writer,
    agent,
    written,
    isHeartbeat: op === heartbeatOp,
  };
}

const isIn = (key: string, prefix: string): boolean => key.startsWith(prefix);

const words: Readonly<Record<string, string>> = {
  set: "set",
  delete: "deleted",
  expire: "expired",
  acquire: "acquired",
  renew: "renewed",
  release: "released",
  revoke: "released by an operator",
  lapse: "lapsed",
  create: "created",
  claim: "claimed",
  retry: "requeued",
  return: "returned",
  wake: "woken",
  save: "saved",
  supersede: "superseded",
};

const effectWords: Readonly<Record<string, string>> = { begin: "begun", finish: "done", fail: "failed", unknown: "outcome unknown", resolve: "resolved" };

function operationOf(row: LogRow, kind: string, op: string, status: string | undefined): string {
  if (kind === "effect") return effectWords[op] ?? words[op] ?? op;
  if (kind === "workflow") {
    if (op === "checkpoint") return `step ${workflowKeys.stepOf(row.key)}`;
    // The log records only that the run ended; the run itself knows how.
    if (op === "finish") return status ?? "finished";
    if (op === "release") return "returned";
    if (op === "lapse") return "claim lapsed";
    if (op === "renew") return "claim renewed";
  }
  return words[op] ?? op;
}
