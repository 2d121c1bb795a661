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

/** By place, as cursors are. */
const lastFirst = (a: LogRow, b: LogRow): number => b.revision - a.revision || b.seq - a.seq;

/** Who changed what, newest first. Ends early where values are long: each entry has two, and every value may be. */
export async function readHistory(scope: Scope, query: HistoryQuery): Promise<HistoryPage> {
  const { before, limit } = query;
  const entries: HistoryEntry[] = [];
  let bytesLeft: number = answerTextMax;
  let more = false;
  for await (const row of matchingRows(scope, query, { below: before && before.revision + 1, atOnce: limit + 1, withValues: true })) {
    if (before !== undefined && row.revision === before.revision && row.seq >= before.seq) continue;
    more = entries.length === limit || bytesLeft <= 0;
    if (more) break;
    // What stands before the cursor in its revision may have used up the room for values.
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

/** One row, with its values. */
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
  /** How many are expected to be wanted. */
  readonly atOnce: number;
  /** Also what each key became and what it was before, for as many as one answer can show. */
  readonly withValues?: boolean;
}

/** Rows newest first. */
async function* matchingRows({ store }: Scope, { name, prefix, kind, afterRevision, writer }: HistoryQuery, { below, atOnce, withValues = false }: Reach): AsyncGenerator<LogRow> {
  const kinds = kind === undefined ? historyKinds : [kind];
  const ranges: readonly Range[] = name !== undefined ? kinds.flatMap((each) => historyRanges[each](name)) : prefix !== undefined ? prefixRanges(prefix, kinds) : [everything];
  // Where runs are looked for by how their ids begin, most rows may be of others: values are then read for what matches, one by one.
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
