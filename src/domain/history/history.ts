import type { Json } from "../../kernel/json.ts";
import { everything, keyRange, prefixRange } from "../../store/ranges.ts";
import type { LogRow, Range, Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { answerTextMax } from "../answer-text.ts";
import type { HistoryKind } from "../keyspace.ts";
import { effectKeys, historyKinds, historyRanges, journalKeys, knowledgeKeys, leaseKeys, researchKeys, sessionKeys, stateKeys } from "../keyspace.ts";

export interface HistoryQuery {
  /** One named thing: a state key, a lease's resource, a run's id, a session's id, a checkpoint's id or a note's full name. */
  readonly name?: string;
  /** Only names with this prefix. */
  readonly prefix?: string;
  readonly kind?: HistoryKind;
  readonly afterRevision?: Revision;
  /** The principal or the agent label. */
  readonly writer?: string;
  readonly limit: number;
  /** The last position of the previous page. */
  readonly before?: HistoryCursor;
}
export interface HistoryCursor {
  readonly revision: Revision;
  readonly seq: number;
}

export interface HistoryEntry {
  /** The engine's key; `name` is what callers call it. */
  readonly storedKey: string;
  readonly revision: Revision;
  readonly seq: number;
  readonly kind: string;
  readonly op: string;
  readonly name: string;
  readonly version: number;
  readonly value: Json;
  readonly previousValue: Json;
  readonly writer: string;
  readonly agent?: string;
  readonly atMs: number;
}

export interface HistoryPage {
  /** Fewer than the limit if the values are long; `next` continues after them. */
  readonly entries: readonly HistoryEntry[];
  /** The number of matching records in the stored history, counted up to 1,000. */
  readonly total: number;
  readonly next?: HistoryCursor;
}

/** Callers need to know whether there is more, not how often a busy store was written. Counting further would delay other callers. */
const countedMax = 1_000;

/** Log order, newest first: the order that cursors rely on. */
const lastFirst = (a: LogRow, b: LogRow): number => b.revision - a.revision || b.seq - a.seq;

/** Changes with their writers, newest first. A page ends early if the values are long: each entry carries two of them. */
export async function readHistory(scope: Scope, query: HistoryQuery): Promise<HistoryPage> {
  const { before, limit } = query;
  const entries: HistoryEntry[] = [];
  let bytesLeft: number = answerTextMax;
  let more = false;
  for await (const row of matchingRows(scope, query, { below: before && before.revision + 1, atOnce: limit + 1, withValues: true })) {
    if (before !== undefined && row.revision === before.revision && row.seq >= before.seq) continue;
    more = entries.length === limit || bytesLeft <= 0;
    if (more) break;
    // Rows of this revision that the previous page already returned may have used up the space for values.
    const entry = toHistoryEntry(row.previous === undefined ? await readAgain(scope, row) : row);
    bytesLeft -= Buffer.byteLength(JSON.stringify([entry.value, entry.previousValue]));
    more = bytesLeft < 0 && entries.length > 0;
    if (more) break;
    entries.push(entry);
  }
  const last = entries.at(-1);
  return {
    entries,
    total: before === undefined && !more ? entries.length : await countMatching(scope, query),
    next: more && last !== undefined ? { revision: last.revision, seq: last.seq } : undefined,
  };
}

/** Reads one row again, with its values. */
async function readAgain({ store }: Scope, row: LogRow): Promise<LogRow> {
  const { rows } = await store.log({ ranges: [keyRange(row.key)], after: row.revision - 1, before: row.revision + 1, narrow: true, lenient: true, previous: true });
  return rows.find(({ seq }) => seq === row.seq) ?? row;
}

async function countMatching(scope: Scope, query: HistoryQuery): Promise<number> {
  let count = 0;
  for await (const _ of matchingRows(scope, query, { atOnce: countedMax })) {
    count += 1;
    if (count === countedMax) break;
  }
  return count;
}

interface Reach {
  /** Only revisions below this. */
  readonly below?: Revision;
  /** The number of rows the caller probably needs. */
  readonly atOnce: number;
  /** Also read each key's new and previous value, for as many rows as fit into one response. */
  readonly withValues?: boolean;
}

/** Yields matching rows, newest first. */
async function* matchingRows({ store }: Scope, { name, prefix, kind, afterRevision, writer }: HistoryQuery, { below, atOnce, withValues = false }: Reach): AsyncGenerator<LogRow> {
  const kinds = kind === undefined ? historyKinds : [kind];
  const ranges: readonly Range[] = name !== undefined ? kinds.flatMap((each) => historyRanges[each](name)) : prefix !== undefined ? prefixRanges(prefix, kinds) : [everything];
  // A prefix search for runs scans every run's rows, and most of them may not match. Values are then read one by one, for matching rows only.
  const values = withValues && (prefix === undefined || (kind !== undefined && kind !== "workflow"));
  let before = below;
  for (;;) {
    const page = await store.log({
      ranges,
      after: afterRevision,
      before,
      reverse: true,
      recorded: { kinds: kind && [kind], writer },
      narrow: name !== undefined,
      lenient: true,
      values,
      previous: values,
      valuesBytesMax: answerTextMax,
      limit: atOnce,
    });
    for (const row of page.rows.toSorted(lastFirst)) if (prefix === undefined || row.record?.subject.startsWith(prefix)) yield row;
    if (page.done) return;
    before = page.through;
  }
}

/** A run's steps and claims are stored under several keys, so for runs the record's subject decides what matches. */
export const prefixRanges = (prefix: string, kinds: readonly HistoryKind[]): readonly Range[] =>
  kinds.flatMap((kind): readonly Range[] => {
    if (kind === "state") return [stateKeys.prefix(prefix)];
    if (kind === "session") return [prefixRange(sessionKeys.key(prefix))];
    if (kind === "lease") return [prefixRange(leaseKeys.deadline(prefix))];
    if (kind === "checkpoint") return [journalKeys.beginning(prefix), researchKeys.checkpoints(prefix)];
    if (kind === "effect") return [prefixRange(effectKeys.record(prefix)), prefixRange(effectKeys.live(prefix))];
    if (kind === "knowledge") return [knowledgeKeys.notes(prefix)];
    return [prefixRange("workflow/"), prefixRange(leaseKeys.deadline("workflow/"))];
  });

function toHistoryEntry(row: LogRow): HistoryEntry {
  const { kind, op, subject } = row.record as NonNullable<LogRow["record"]>;
  return {
    storedKey: row.key,
    revision: row.revision,
    seq: row.seq,
    kind,
    op,
    name: subject,
    version: row.version,
    value: row.value,
    previousValue: row.previous ?? null,
    writer: row.writer,
    agent: row.agent,
    atMs: row.atMs,
  };
}
