import { futureRevisionError, requireKept } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import { placeOf, revisionAt } from "../../store/place.ts";
import { rangeAfter, rangeBefore, singleKey } from "../../store/ranges.ts";
import { damagedRecord, entrySum, keyedSum, placeSum, requireSum, requireValue, textSum, versionSum } from "../../store/record-sum.ts";
import type { Entry, Range, ReadOptions, Snapshot } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import type { Head, RawLink } from "./key-chain.ts";
import { linkColumns, newestBelow, readHeads, requireLink } from "./key-chain.ts";
import { logId } from "./log-id.ts";
import type { RawLogRow } from "./log-rows.ts";
import { keyName, logColumns, opCode, parseValue, requireLogRow, toEntry } from "./log-rows.ts";
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
    if (readRange(range, limit, entries)) return { revision, nowMs, entries, more: true };
  }
  return { revision, nowMs, entries, more: false };
}

/** Appends to `entries` until there are `limit` of them; says whether the range has more. */
type RangeReader = (range: Range, limit: number, entries: Entry[]) => boolean;

/** All of an entry but its value, and the sum of that. */
const liveColumns = "kv.place, kv.k, kv.ver, kv.exp, kv.created, kv.at, kv.writer, kv.agent";
export const summedLiveColumns = `${liveColumns}, kv.sum`;

export type LiveRow = [
  place: number,
  k: string,
  ver: number,
  exp: number | null,
  created: number,
  at: number,
  writer: string,
  agent: string | null,
  sumOrValue: number | string | null,
];

function liveReader(connection: Connection, space: NamespaceRow, nowMs: number, { reverse, values }: ReadOptions): RangeReader {
  // An entry whose value is missing is damaged, not absent: hence the outer join. The log has the key too:
  // comparing both in SQL costs a fraction of a checksum of the key.
  const source =
    values === false ? `SELECT ${summedLiveColumns} FROM kv` : `SELECT ${liveColumns}, log.v FROM kv LEFT JOIN log ON log.id = ${logId("?1", "kv.place")} AND log.k = kv.k`;
  const from = `${source} WHERE kv.ns = ?1 AND (kv.exp IS NULL OR kv.exp > ?2)`;
  const one = connection.arrayStatement(`${from} AND kv.k = ?3`);
  const many = connection.arrayStatement(`${from} AND kv.k >= ?3 AND kv.k < ?4 ORDER BY kv.k ${reverse ? "DESC" : "ASC"} LIMIT ?5`);
  return (range, limit, entries) => {
    const key = singleKey(range);
    // One more than wanted tells whether something is left.
    const count = limit - entries.length + 1;
    const rows = (key === undefined ? many.all(space.id, nowMs, startOf(range), endOf(range), count) : one.all(space.id, nowMs, key)) as LiveRow[];
    for (const row of rows) {
      if (entries.length === limit) return true;
      entries.push(requireLive(space.id, row, values !== false));
    }
    return false;
  };
}

/** By position: taking an array apart costs as much as the checksums. */
export function requireLive(namespaceId: number, row: LiveRow, withValue: boolean): Entry {
  const place = row[0];
  const key = row[1];
  const version = row[2];
  const createdAtMs = row[4];
  const updatedAtMs = row[5];
  const writer = row[6];
  const agent = row[7];
  const sum = entrySum(versionSum(placeSum(namespaceId, place), version, row[3], createdAtMs), updatedAtMs, writer, agent);
  let json: string | undefined;
  if (withValue) json = requireValue(sum, row[8], keyName, key);
  else requireSum(keyedSum(sum, textSum(key)), row[8], keyName, key);
  return { key, value: parseValue(json), version, revision: revisionAt(place), createdAtMs, updatedAtMs, expiresAtMs: row[3] ?? undefined, writer, agent: agent ?? undefined };
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

  return (range, limit, entries) => {
    let rest = range;
    for (;;) {
      // What had ended by then was not there: a crowd of deleted keys costs nothing.
      const heads = readHeads(connection, space.id, rest, { reverse, limit: headsPerRead, goneSince: bound });
      for (const head of heads) {
        const row = liveThen(head);
        if (row === undefined) continue;
        if (entries.length === limit) return true;
        entries.push(toEntry(row));
      }
      const last = heads.at(-1);
      if (last === undefined || heads.length < headsPerRead) return false;
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
