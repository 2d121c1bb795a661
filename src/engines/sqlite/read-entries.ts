import { revisionAt } from "../../ledger/log-position.ts";
import { judgedAtMs, pastBound } from "../../ledger/past.ts";
import { damagedRecord, entrySum, keyedSum, logPositionSum, requireSum, requireValue, textSum, versionSum } from "../../ledger/record-sum.ts";
import { opCode } from "../../ledger/stored-row.ts";
import { limits } from "../../store/limits.ts";
import { rangeAfter, rangeBefore, rangesFrom, singleKey } from "../../store/ranges.ts";
import type { Entry, Range, ReadOptions, Snapshot } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import type { Head, RawLink } from "./key-chain.ts";
import { linkColumns, newestBelow, readHeads, requireLink } from "./key-chain.ts";
import { logId } from "./log-id.ts";
import type { SqliteLogRow } from "./log-rows.ts";
import { keyName, logColumns, parseValue, requireLogRow, toEntry } from "./log-rows.ts";
import type { SqliteNamespaceRow } from "./namespace-row.ts";
import { endOf, startOf } from "./range-bounds.ts";

const headsPerRead = 256;

/** Inside one read transaction. */
export function readEntries(connection: Connection, space: SqliteNamespaceRow, nowMs: number, ranges: readonly Range[], options: ReadOptions): Snapshot {
  const limit = options.limit ?? limits.readEntriesMax;
  const revision = options.at ?? space.revision;
  const readRange = options.at === undefined ? liveReader(connection, space, nowMs, options) : pastReader(connection, space, options.at, options);
  const found = new Found(limit, options.charactersMax);
  const { entries } = found;
  for (let n = 0; n < ranges.length; n += 1) {
    const i = options.reverse ? ranges.length - 1 - n : n;
    const next = readRange(ranges[i] as Range, found);
    if (next === undefined) continue;
    if (found.isFull) return { revision, nowMs, entries, more: true };
    return { revision, nowMs, entries, more: false, rest: rangesFrom(ranges, i, next, options.reverse) };
  }
  return { revision, nowMs, entries, more: false };
}

/** The entries of one read so far. */
class Found {
  readonly entries: Entry[] = [];
  readonly limit: number;
  readonly charactersMax: number | undefined;
  #characters = 0;

  constructor(limit: number, charactersMax: number | undefined) {
    this.limit = limit;
    this.charactersMax = charactersMax;
  }

  add(entry: Entry, json: string | null | undefined): void {
    this.entries.push(entry);
    this.#characters += json?.length ?? 0;
  }

  get isFull(): boolean {
    return this.entries.length === this.limit;
  }

  get isEnough(): boolean {
    return this.isFull || (this.charactersMax !== undefined && this.#characters >= this.charactersMax);
  }
}

/** Adds the range's entries until that is enough; gives the key of the first entry that is left. */
type RangeReader = (range: Range, found: Found) => string | undefined;

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

function liveReader(connection: Connection, space: SqliteNamespaceRow, nowMs: number, { reverse, values }: ReadOptions): RangeReader {
  // An entry whose value is missing is damaged, not absent: hence the outer join. The log has the key too:
  // comparing both in SQL costs a fraction of a checksum of the key.
  const source =
    values === false ? `SELECT ${summedLiveColumns} FROM kv` : `SELECT ${liveColumns}, log.v FROM kv LEFT JOIN log ON log.id = ${logId("?1", "kv.place")} AND log.k = kv.k`;
  const from = `${source} WHERE kv.ns = ?1 AND (kv.exp IS NULL OR kv.exp > ?2)`;
  const one = connection.arrayStatement(`${from} AND kv.k = ?3`);
  const many = connection.arrayStatement(`${from} AND kv.k >= ?3 AND kv.k < ?4 ORDER BY kv.k ${reverse ? "DESC" : "ASC"} LIMIT ?5`);
  return (range, found) => {
    const key = singleKey(range);
    // One more than wanted tells whether something is left.
    const count = found.limit - found.entries.length + 1;
    const bounds = [space.id, nowMs, startOf(range), endOf(range), count] as const;
    const rows = key !== undefined ? one.all(space.id, nowMs, key) : found.charactersMax === undefined ? many.all(...bounds) : many.iterate(...bounds);
    for (const row of rows as Iterable<LiveRow>) {
      if (found.isEnough) return row[1];
      found.add(requireLive(space.id, row, values !== false), values === false ? undefined : (row[8] as string | null));
    }
    return undefined;
  };
}

/** By position: taking an array apart costs as much as the checksums. */
export function requireLive(namespaceId: number, row: LiveRow, withValue: boolean): Entry {
  const logPosition = row[0];
  const key = row[1];
  const version = row[2];
  const createdAtMs = row[4];
  const updatedAtMs = row[5];
  const writer = row[6];
  const agent = row[7];
  const sum = entrySum(versionSum(logPositionSum(namespaceId, logPosition), version, row[3], createdAtMs), updatedAtMs, writer, agent);
  let json: string | undefined;
  if (withValue) json = requireValue(sum, row[8], keyName, key);
  else requireSum(keyedSum(sum, textSum(key)), row[8], keyName, key);
  return {
    key,
    value: parseValue(json),
    version,
    revision: revisionAt(logPosition),
    createdAtMs,
    updatedAtMs,
    expiresAtMs: row[3] ?? undefined,
    writer,
    agent: agent ?? undefined,
  };
}

/** As of a past revision: each key that has a history, and of its chain the newest row up to the revision. */
function pastReader(connection: Connection, space: SqliteNamespaceRow, at: number, options: ReadOptions): RangeReader {
  const bound = pastBound(at, space);
  const newestRow = connection
    .statement(`SELECT ${linkColumns} FROM log WHERE id >= ${logId("?1", "0")} AND id < ${logId("?1", "?2")} ORDER BY id DESC LIMIT 1`)
    .get(space.id, bound) as RawLink | undefined;
  if (newestRow !== undefined) requireLink(space.id, newestRow);
  const { reverse, values } = options;
  const judgedMs = judgedAtMs(options, space, newestRow?.at);
  const rowAt = connection.statement(`SELECT ${logColumns(values !== false)} FROM log WHERE id = ${logId("?1", "?2")}`);

  const liveThen = (head: Head): SqliteLogRow | undefined => {
    const logPosition = newestBelow(connection, space, head.place, bound);
    const found = logPosition === undefined ? undefined : rowAt.get(space.id, logPosition);
    // Compaction lets go of rows that only say that a key is gone, and a chain may still point to one.
    if (logPosition === undefined || (found === undefined && revisionAt(logPosition) <= space.compacted)) return undefined;
    const row = requireLogRow(space.id, logPosition, found);
    if (row.k !== head.k) throw damagedRecord(keyName(head.k));
    return row.op === opCode.put && (row.exp === null || row.exp > judgedMs) ? row : undefined;
  };

  return (range, found) => {
    let rest = range;
    for (;;) {
      // What had ended by then was not there: a crowd of deleted keys costs nothing.
      const heads = readHeads(connection, space.id, rest, { reverse, limit: headsPerRead, goneSince: bound });
      for (const head of heads) {
        const row = liveThen(head);
        if (row === undefined) continue;
        if (found.isEnough) return row.k;
        found.add(toEntry(row), row.v);
      }
      const last = heads.at(-1);
      if (last === undefined || heads.length < headsPerRead) return undefined;
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
