import { compactedError, futureRevisionError } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import { singleKey } from "../../store/ranges.ts";
import type { Entry, Range, ReadOptions, Snapshot } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import type { SqlValue } from "./driver.ts";
import { logId } from "./log-id.ts";
import type { RawLogRow } from "./log-rows.ts";
import { logColumns, opCode, toEntry } from "./log-rows.ts";
import type { NamespaceRow } from "./namespace-row.ts";

/** An empty blob sorts after every text: the upper end of a range that has none. */
const noEnd = new Uint8Array(0);
export const endOf = (range: Range): SqlValue => range.end ?? noEnd;

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

type RangeReader = (range: Range, count: number) => RawLogRow[];

function liveReader(connection: Connection, space: NamespaceRow, nowMs: number, { reverse, values }: ReadOptions): RangeReader {
  const from = `SELECT ${logColumns(values !== false)} FROM kv CROSS JOIN log ON log.id = kv.log_id WHERE kv.ns = ? AND (kv.exp IS NULL OR kv.exp > ?)`;
  const one = connection.statement(`${from} AND kv.k = ?`);
  const many = connection.statement(`${from} AND kv.k >= ? AND kv.k < ? ORDER BY kv.k ${reverse ? "DESC" : "ASC"} LIMIT ?`);
  return (range, count) => {
    const key = singleKey(range);
    return (key === undefined ? many.all(space.id, nowMs, range.start, endOf(range), count) : one.all(space.id, nowMs, key)) as RawLogRow[];
  };
}

/**
 * As of a past revision: from key to key along the log's key index, taking the newest row up to the revision.
 * A key with a long history costs two lookups, like any other.
 */
function pastReader(connection: Connection, space: NamespaceRow, at: number, { reverse, values }: ReadOptions): RangeReader {
  if (at > space.revision) throw futureRevisionError(at, space.revision);
  if (at < space.compacted) throw compactedError(at, space.compacted);
  const judgedAt = connection.statement(`SELECT at FROM log WHERE id >= ${logId("?1", "0")} AND id < ${logId("?1", "?2")} ORDER BY id DESC LIMIT 1`).get(space.id, at + 1) as
    | { readonly at: number }
    | undefined;
  const firstKey = connection.statement(`SELECT k FROM log INDEXED BY log_by_key WHERE ns = ? AND k >= ? AND k < ? ORDER BY k ${reverse ? "DESC" : "ASC"} LIMIT 1`);
  const nextKey = reverse ? firstKey : connection.statement("SELECT k FROM log INDEXED BY log_by_key WHERE ns = ? AND k > ? AND k < ? ORDER BY k LIMIT 1");
  const newest = connection.statement(
    `SELECT ${logColumns(values !== false)} FROM log INDEXED BY log_by_key WHERE ns = ?1 AND k = ?2 AND id < ${logId("?1", "?3")} ORDER BY id DESC LIMIT 1`,
  );
  return (range, count) => {
    const rows: RawLogRow[] = [];
    let found = firstKey.get(space.id, range.start, endOf(range)) as { readonly k: string } | undefined;
    while (found !== undefined && rows.length < count) {
      const row = newest.get(space.id, found.k, at + 1) as RawLogRow | undefined;
      if (row !== undefined && row.op === opCode.put && (row.exp === null || row.exp > (judgedAt?.at ?? 0))) rows.push(row);
      found = (reverse ? nextKey.get(space.id, range.start, found.k) : nextKey.get(space.id, found.k, endOf(range))) as { readonly k: string } | undefined;
    }
    return rows;
  };
}

export function countLive(connection: Connection, namespaceId: number, range: Range, nowMs: number): number {
  const row = connection
    .statement("SELECT count(*) AS n FROM kv WHERE ns = ? AND k >= ? AND k < ? AND (exp IS NULL OR exp > ?)")
    .get(namespaceId, range.start, endOf(range), nowMs);
  return (row as { readonly n: number }).n;
}
