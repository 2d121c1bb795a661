import { everything } from "../../store/ranges.ts";
import type { LogRow, Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import type { HistoryKind } from "../keyspace.ts";
import { journalKeys, researchKeys, workflowKeys } from "../keyspace.ts";
import { newestFirst } from "../log-order.ts";
import type { ActivityTitle } from "./activity-titles.ts";
import { readActivityTitles, thingKey } from "./activity-titles.ts";
import { prefixRanges } from "./history.ts";

/** One change of one thing, in words for people. */
export interface Activity {
  readonly revision: Revision;
  readonly atMs: number;
  readonly kind: string;
  /** "set", "claimed", "step 4". */
  readonly operation: string;
  /** Empty where the name gives access to what is stored under it. */
  readonly subject: string;
  /** What people call it: a run's name, the beginning of a journal entry, a research question. */
  readonly title?: string;
  readonly writer: string;
  readonly agent?: string;
  /** Of kind `checkpoint`: which of the two kinds of writing it is. */
  readonly written?: "journal" | "research";
  /** A sign of life, not news. */
  readonly isHeartbeat: boolean;
}

export interface ActivityQuery {
  /** Only revisions below this. */
  readonly before?: Revision;
  /** At least so many where there are as many: a revision is never cut in two. */
  readonly limit: number;
  readonly kind?: HistoryKind;
  /** Names that begin so. */
  readonly subject?: string;
  /** The principal or the agent label, whole. */
  readonly who?: string;
  /** Also signs of life: renewals of leases and claims. */
  readonly heartbeats?: boolean;
}

export interface ActivityPage {
  /** Newest first. */
  readonly items: readonly Activity[];
  /** Give it back as `before`; undefined at the end of what is kept. */
  readonly next?: Revision;
}

const heartbeatOp = "renew";
/** Log pages read for one page of activity: a filter that matches little must not make one call unbounded. */
const logPagesMax = 3;
/** A session's id is what gives access to it: looked for by its beginning, it could be guessed letter by letter. */
const kindsWithPublicNames = ["state", "lease", "workflow", "checkpoint", "knowledge"] as const satisfies readonly HistoryKind[];

/** What happened, newest first. A page may be short of its limit and still have a next one. */
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
      // About as many as are wanted; those that are signs of life are made up for by the next page.
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

/** Rows that carry a record, as people read them. */
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
  revoke: "released by hand",
  lapse: "lapsed",
  create: "created",
  claim: "claimed",
  retry: "sent back",
  return: "returned",
  save: "saved",
  supersede: "superseded",
};

function operationOf(row: LogRow, kind: string, op: string, status: string | undefined): string {
  if (kind === "workflow") {
    if (op === "checkpoint") return `step ${workflowKeys.stepOf(row.key)}`;
    // History says only that it ended; how, the run knows.
    if (op === "finish") return status ?? "finished";
    if (op === "release") return "returned";
    if (op === "lapse") return "claim lapsed";
    if (op === "renew") return "claim renewed";
  }
  return words[op] ?? op;
}
