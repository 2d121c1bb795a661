import { FoundEntries } from "../../ledger/found-entries.ts";
import { revisionAt } from "../../ledger/log-position.ts";
import { damagedRecord, entrySum, keyedSum, logPositionSum, requireSum, requireValue, textSum, versionSum } from "../../ledger/record-sum.ts";
import type { AtMoment, PastPart, SpaceRow } from "../../ledger/rows.ts";
import { opCode } from "../../ledger/stored-row.ts";
import { rangeAfter, rangeBefore, singleKey } from "../../store/ranges.ts";
import type { Entry, Range, ReadOptions, Snapshot } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import type { Head, RawLink } from "./key-chain.ts";
import { linkColumns, newestBelow, readHead, readHeads, requireLink } from "./key-chain.ts";
import { logId } from "./log-id.ts";
import { keyName, logColumns, parseValue, requireLogRow, toEntry } from "./log-rows.ts";
import { endOf, startOf } from "./range-bounds.ts";

const headsPerRead = 256;

/** Inside one read transaction. */
export function readLiveEntries(connection: Connection, space: SpaceRow, ranges: readonly Range[], options: ReadOptions): AtMoment<Pick<Snapshot, "entries" | "more" | "rest">> {
  const found = new FoundEntries(options);
  const readRange = liveReader(connection, space, options, found);
  for (let n = 0; n < ranges.length; n += 1) {
    const i = options.reverse ? ranges.length - 1 - n : n;
    const next = readRange(ranges[i] as Range);
    if (next !== undefined) return { space, ...found.stoppedAt(ranges, i, next) };
  }
  return { space, entries: found.entries, more: false };
}

/** All columns of an entry except its value, and their sum. */
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

/** Adds entries of the range until there are enough. Returns the key of the first entry that was left out. */
function liveReader(
  connection: Connection,
  space: SpaceRow,
  { reverse, values, charactersMax, liveAtMs = space.nowMs }: ReadOptions,
  found: FoundEntries,
): (range: Range) => string | undefined {
  // An entry whose value is missing is damaged, not absent: hence the outer join. The log contains the key too; comparing both in SQL costs a fraction of a checksum
  // of the key.
  const source =
    values === false ? `SELECT ${summedLiveColumns} FROM kv` : `SELECT ${liveColumns}, log.v FROM kv LEFT JOIN log ON log.id = ${logId("?1", "kv.place")} AND log.k = kv.k`;
  const from = `${source} WHERE kv.ns = ?1 AND (kv.exp IS NULL OR kv.exp > ?2)`;
  const one = connection.arrayStatement(`${from} AND kv.k = ?3`);
  const many = connection.arrayStatement(`${from} AND kv.k >= ?3 AND kv.k < ?4 ORDER BY kv.k ${reverse ? "DESC" : "ASC"} LIMIT ?5`);
  return (range) => {
    const key = singleKey(range);
    // One more row than wanted shows whether there are others.
    const count = found.limit - found.entries.length + 1;
    const bounds = [space.id, liveAtMs, startOf(range), endOf(range), count] as const;
    const rows = key !== undefined ? one.all(space.id, liveAtMs, key) : charactersMax === undefined ? many.all(...bounds) : many.iterate(...bounds);
    for (const row of rows as Iterable<LiveRow>) {
      if (found.isEnough) return row[1];
      found.offer(requireLive(space.id, row, values !== false), values === false ? 0 : (row[8] as string).length);
    }
    return undefined;
  };
}

/** Accessed by index, because destructuring an array costs as much as the checksums. */
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

export function readTimeBefore(connection: Connection, { id }: SpaceRow, bound: number): number | undefined {
  const newest = connection.statement(`SELECT ${linkColumns} FROM log WHERE id >= ${logId("?1", "0")} AND id < ${logId("?1", "?2")} ORDER BY id DESC LIMIT 1`).get(id, bound) as
    | RawLink
    | undefined;
  if (newest !== undefined) requireLink(id, newest);
  return newest?.at;
}

/** Follows the chain of each key to its newest row below the bound. Returns the key of the first entry that was left out. */
export function readPastEntries(connection: Connection, space: SpaceRow, part: PastPart, bound: number, { reverse, values }: ReadOptions, found: FoundEntries): string | undefined {
  const rowAt = connection.statement(`SELECT ${logColumns(values !== false)} FROM log WHERE id = ${logId("?1", "?2")}`);
  for (const head of headsOf(connection, space, part, bound, reverse)) {
    const logPosition = newestBelow(connection, space, head.place, bound);
    const row = logPosition === undefined ? undefined : rowAt.get(space.id, logPosition);
    // Compaction deletes rows that only record that a key was deleted, and a chain may still point to one.
    if (logPosition === undefined || (row === undefined && revisionAt(logPosition) <= space.compacted)) continue;
    const then = requireLogRow(space.id, logPosition, row);
    if (then.k !== head.k) throw damagedRecord(keyName(head.k));
    if (then.op === opCode.put && !found.offer(toEntry(then), then.v?.length ?? 0)) return then.k;
  }
  return undefined;
}

/** Keys that had ended by then are skipped, so that many deleted keys cost nothing. */
function* headsOf(connection: Connection, { id }: SpaceRow, part: PastPart, bound: number, reverse: boolean | undefined): Generator<Head> {
  if ("keys" in part) {
    for (const key of part.keys) {
      const head = readHead(connection, id, key);
      if (head !== undefined) yield head;
    }
    return;
  }
  for (let rest: Range | undefined = part.range; rest !== undefined; ) {
    const heads = readHeads(connection, id, rest, { reverse, limit: headsPerRead, goneSince: bound });
    yield* heads;
    const last = heads.at(-1);
    rest = last === undefined || heads.length < headsPerRead ? undefined : reverse ? rangeBefore(rest, last.k) : rangeAfter(rest, last.k);
  }
}

export function countLive(connection: Connection, { id, nowMs }: SpaceRow, range: Range): number {
  const row = connection.statement("SELECT count(*) AS n FROM kv WHERE ns = ? AND k >= ? AND k < ? AND (exp IS NULL OR exp > ?)").get(id, startOf(range), endOf(range), nowMs);
  return (row as { readonly n: number }).n;
}
