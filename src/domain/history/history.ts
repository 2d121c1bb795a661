import type { Json } from "../../kernel/json.ts";
import { everything, keyRange, prefixRange } from "../../store/ranges.ts";
import type { LogRow, Range, Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { answerTextMax } from "../answer-text.ts";
import type { HistoryKind } from "../keyspace.ts";
import { historyKinds, historyRanges, journalKeys, knowledgeKeys, leaseKeys, researchKeys, sessionKeys, stateKeys } from "../keyspace.ts";

export interface HistoryQuery {
  /** One named thing: a state key, a lease's resource, a run's id, a session's id, a checkpoint's id, a note's full name. */
  readonly name?: string;
  /** Names that begin so. */
  readonly prefix?: string;
  readonly kind?: HistoryKind;
  readonly afterRevision?: Revision;
  /** The principal or the agent label. */
  readonly writer?: string;
  readonly limit: number;
  /** Where the page before ended. */
  readonly before?: HistoryCursor;
}
export interface HistoryCursor {
  readonly revision: Revision;
  readonly seq: number;
}

export interface HistoryEntry {
  /** The engine's key that was changed; `name` is what callers know it by. */
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
  /** Fewer than the limit where their values are long; `next` goes on behind them. */
  readonly entries: readonly HistoryEntry[];
  /** Matching records in the history that is kept, counted up to 1,000. */
  readonly total: number;
  readonly next?: HistoryCursor;
}

/** Whoever asks wants to know whether there is more, not how often a busy store was written: counting holds up everybody else. */
const countedMax = 1_000;
/** Each brings up to four values. */
const readAtOnce = 4;

/** By place, as cursors are. */
const lastFirst = (a: LogRow, b: LogRow): number => b.revision - a.revision || b.seq - a.seq;

/** Who changed what, newest first. */
export async function readHistory(scope: Scope, query: HistoryQuery): Promise<HistoryPage> {
  const { before, limit } = query;
  const found: LogRow[] = [];
  for await (const row of matchingRows(scope, query, { below: before && before.revision + 1, atOnce: limit + 1 })) {
    if (before === undefined || row.revision < before.revision || row.seq < before.seq) found.push(row);
    if (found.length > limit) break;
  }
  const entries = await readEntries(scope, found.slice(0, limit));
  const last = entries.at(-1);
  return {
    entries,
    total: before === undefined && found.length <= limit ? found.length : await countMatching(scope, query),
    next: found.length > entries.length && last !== undefined ? { revision: last.revision, seq: last.seq } : undefined,
  };
}

/** As many as fit: each has two values, and every value may be long. */
async function readEntries(scope: Scope, rows: readonly LogRow[]): Promise<readonly HistoryEntry[]> {
  const entries: HistoryEntry[] = [];
  let left: number = answerTextMax;
  for (let start = 0; start < rows.length; start += readAtOnce) {
    for (const entry of await Promise.all(rows.slice(start, start + readAtOnce).map((row) => toHistoryEntry(scope, row)))) {
      left -= JSON.stringify([entry.value, entry.previousValue]).length;
      if (left < 0 && entries.length > 0) return entries;
      entries.push(entry);
    }
  }
  return entries;
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
  /** How many are expected to be wanted. */
  readonly atOnce: number;
}

/** Rows newest first, values left out: they are read for the page that is shown. */
async function* matchingRows({ store }: Scope, { name, prefix, kind, afterRevision, writer }: HistoryQuery, { below, atOnce }: Reach): AsyncGenerator<LogRow> {
  const kinds = kind === undefined ? historyKinds : [kind];
  const ranges: readonly Range[] = name !== undefined ? kinds.flatMap((each) => historyRanges[each](name)) : prefix !== undefined ? prefixRanges(prefix, kinds) : [everything];
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
      values: false,
      limit: atOnce,
    });
    for (const row of page.rows.toSorted(lastFirst)) if (prefix === undefined || row.record?.subject.startsWith(prefix)) yield row;
    if (page.done) return;
    before = page.through;
  }
}

/** Steps and claims of runs lie under several keys; the subject decides there. */
export const prefixRanges = (prefix: string, kinds: readonly HistoryKind[]): readonly Range[] =>
  kinds.flatMap((kind): readonly Range[] => {
    if (kind === "state") return [stateKeys.prefix(prefix)];
    if (kind === "session") return [prefixRange(sessionKeys.key(prefix))];
    if (kind === "lease") return [prefixRange(leaseKeys.deadline(prefix))];
    if (kind === "checkpoint") return [journalKeys.beginning(prefix), researchKeys.checkpoints(prefix)];
    if (kind === "knowledge") return [knowledgeKeys.notes(prefix)];
    return [prefixRange("workflow/"), prefixRange(leaseKeys.deadline("workflow/"))];
  });

async function toHistoryEntry({ store }: Scope, row: LogRow): Promise<HistoryEntry> {
  // Within one revision a put may follow the expiry of what was there before: two rows of this revision, two of the one before.
  const page = await store.log({ ranges: [keyRange(row.key)], before: row.revision + 1, reverse: true, narrow: true, lenient: true, limit: 4 });
  const rows = page.rows.toSorted(lastFirst);
  const position = rows.findIndex((candidate) => candidate.revision === row.revision && candidate.seq === row.seq);
  const own = rows[position];
  const earlier = position < 0 ? undefined : rows[position + 1];
  const { kind, op, subject } = row.record as NonNullable<LogRow["record"]>;
  return {
    storedKey: row.key,
    revision: row.revision,
    seq: row.seq,
    kind,
    op,
    name: subject,
    version: row.version,
    value: own?.value ?? null,
    previousValue: earlier?.value ?? null,
    writer: row.writer,
    agent: row.agent,
    atMs: row.atMs,
  };
}
