import { futureRevisionError, requireKept } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import { placeOf, revisionAt } from "../../store/place.ts";
import { rangeAfter, rangeBefore, singleKey } from "../../store/ranges.ts";
import { damagedRecord, entrySum, keySum, placeSum, requireSum, valueSum } from "../../store/record-sum.ts";
import type { Entry, Range, ReadOptions, Snapshot } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import type { Head, RawLink } from "./key-chain.ts";
import { linkColumns, newestBelow, readHeads, requireLink } from "./key-chain.ts";
import { logId } from "./log-id.ts";
import type { RawEntry, RawLogRow } from "./log-rows.ts";
import { keyName, logColumns, opCode, requireLogRow, toEntry } from "./log-rows.ts";
import type { NamespaceRow } from "./namespace-row.ts";
import { endOf, startOf } from "./range-bounds.ts";

const headsPerRead = 256;

/** Inside one read transaction. */
export function readEntries(connection: Connection, space: NamespaceRow, nowMs: number, ranges: readonly Range[], options: ReadOptions): Snapshot {
  const limit = options.limit ?? limits.readEntriesMax;
  const revision = options.at ?? space.revision;
  const readRange = options.at === undefined ? liveReader(connection, space, nowMs, options) : pastReader(connection, space, options.at, options);
  const entries: Entry[] = [];
  for (const range of options.reverse ? ranges.toReversed() : ranges) {
    // One more than wanted tells whether something is left.
    for (const row of readRange(range, limit - entries.length + 1)) {
      if (entries.length === limit) return { revision, nowMs, entries, more: true };
      entries.push(toEntry(row));
    }
  }
  return { revision, nowMs, entries, more: false };
}

type RangeReader = (range: Range, count: number) => RawEntry[];

type LiveRow = [
  place: number,
  k: string,
  ver: number,
  exp: number | null,
  created: number,
  at: number,
  writer: string,
  agent: string | null,
  sum: number,
  vSum?: number,
  v?: string,
];

function liveReader(connection: Connection, space: NamespaceRow, nowMs: number, { reverse, values }: ReadOptions): RangeReader {
  // All of an entry but its value is in `kv`. An entry whose value is missing is damaged, not absent: hence the outer join.
  const columns = "kv.place, kv.k, kv.ver, kv.exp, kv.created, kv.at, kv.writer, kv.agent, kv.sum";
  const source = values === false ? `SELECT ${columns} FROM kv` : `SELECT ${columns}, log.v_sum, log.v FROM kv LEFT JOIN log ON log.id = ${logId("kv.ns", "kv.place")}`;
  const from = `${source} WHERE kv.ns = ? AND (kv.exp IS NULL OR kv.exp > ?)`;
  const one = connection.arrayStatement(`${from} AND kv.k = ?`);
  const many = connection.arrayStatement(`${from} AND kv.k >= ? AND kv.k < ? ORDER BY kv.k ${reverse ? "DESC" : "ASC"} LIMIT ?`);
  return (range, count) => {
    const key = singleKey(range);
    const rows = (key === undefined ? many.all(space.id, nowMs, startOf(range), endOf(range), count) : one.all(space.id, nowMs, key)) as LiveRow[];
    return rows.map(([place, k, ver, exp, created, at, writer, agent, sum, vSum, v]) => {
      const start = placeSum(space.id, place);
      requireSum(entrySum(keySum(start, k, ver, exp, created), at, writer, agent), sum, () => keyName(k));
      if (vSum !== undefined) requireSum(valueSum(start, v), vSum, () => keyName(k));
      return { place, k, ver, exp, created, at, writer, agent, v };
    });
  };
}

/** As of a past revision: each key that has a history, and of its chain the newest row up to the revision. */
function pastReader(connection: Connection, space: NamespaceRow, at: number, { reverse, values, liveAtMs }: ReadOptions): RangeReader {
  if (at > space.revision) throw futureRevisionError(at, space.revision);
  requireKept(at, space);
  const bound = placeOf(at + 1);
  const newestRow = connection
    .statement(`SELECT ${linkColumns} FROM log WHERE id >= ${logId("?1", "0")} AND id < ${logId("?1", "?2")} ORDER BY id DESC LIMIT 1`)
    .get(space.id, bound) as RawLink | undefined;
  if (newestRow !== undefined) requireLink(space.id, newestRow);
  const judgedAtMs = liveAtMs ?? Math.max(space.compactedAtMs, newestRow?.at ?? 0);
  const rowAt = connection.statement(`SELECT ${logColumns(values !== false)} FROM log WHERE id = ${logId("?1", "?2")}`);

  const liveThen = (head: Head): RawLogRow | undefined => {
    const place = newestBelow(connection, space, head.place, bound);
    const found = place === undefined ? undefined : rowAt.get(space.id, place);
    // Compaction lets go of rows that only say that a key is gone, and a chain may still point to one.
    if (place === undefined || (found === undefined && revisionAt(place) <= space.compacted)) return undefined;
    const row = requireLogRow(space.id, place, found);
    if (row.k !== head.k) throw damagedRecord(keyName(head.k));
    return row.op === opCode.put && (row.exp === null || row.exp > judgedAtMs) ? row : undefined;
  };

  return (range, count) => {
    const rows: RawLogRow[] = [];
    let rest = range;
    for (;;) {
      // What had ended by then was not there: a crowd of deleted keys costs nothing.
      const heads = readHeads(connection, space.id, rest, { reverse, limit: headsPerRead, goneSince: bound });
      for (const head of heads) {
        const row = liveThen(head);
        if (row !== undefined) rows.push(row);
        if (rows.length === count) return rows;
      }
      const last = heads.at(-1);
      if (last === undefined || heads.length < headsPerRead) return rows;
      rest = reverse ? rangeBefore(rest, last.k) : rangeAfter(rest, last.k);
    }
  };
}

export function countLive(connection: Connection, namespaceId: number, range: Range, nowMs: number): number {
  const row = connection
    .statement("SELECT count(*) AS n FROM kv WHERE ns = ? AND k >= ? AND k < ? AND (exp IS NULL OR exp > ?)")
    .get(namespaceId, startOf(range), endOf(range), nowMs);
  return (row as { readonly n: number }).n;
}
