import type { FoundEntries } from "../../ledger/found-entries.ts";
import type { PastPart, SpaceRow, Work } from "../../ledger/rows.ts";
import { opCode } from "../../ledger/stored-row.ts";
import { limits } from "../../store/limits.ts";
import { rangeAfter, rangeBefore } from "../../store/ranges.ts";
import type { Range, ReadOptions } from "../../store/store.ts";
import type { RawEntry } from "./log-rows.ts";
import { entryColumns, nextInChainSql, toEntry } from "./log-rows.ts";
import { factsOnce, withNamespace } from "./namespace-row.ts";
import type { Statement } from "./pg-session.ts";
import { one } from "./pg-session.ts";
import { endOf, rangeArrays, startOf } from "./range-bounds.ts";
import type { Tables } from "./schema.ts";
import { texts } from "./sql-arrays.ts";

/**
 * One statement, which therefore sees one moment. Ranges in the requested order, keys in byte order. Values are fetched only for returned entries, by position:
 * with a join, the planner could decide to read a whole log for them.
 */
export function readStatement(
  t: Tables,
  parameters: readonly unknown[],
  ranges: readonly Range[],
  { limit = limits.readEntriesMax, reverse, values, liveAtMs }: ReadOptions,
): Statement {
  const direction = reverse ? "DESC" : "ASC";
  const [only] = ranges;
  const isOne = ranges.length === 1 && only !== undefined;
  const judged = liveAtMs === undefined ? "n.now" : "$7";
  const source = (start: string, stop: string): string =>
    `SELECT kv.k, kv.place, kv.ver, kv.exp, kv.created, kv.at, kv.writer, kv.agent FROM ${t.kv} kv
     WHERE kv.ns = n.id AND kv.k >= ${start} AND kv.k < ${stop} AND (kv.exp IS NULL OR kv.exp > ${judged}) ORDER BY kv.k ${direction} LIMIT $4`;
  const from = isOne
    ? `SELECT 1 AS i, e.* FROM (${source("$5", "$6")}) e`
    : `SELECT r.i, e.* FROM unnest($5::text[], $6::text[]) WITH ORDINALITY AS r (start, stop, i)
       CROSS JOIN LATERAL (${source('r.start COLLATE "C"', 'r.stop COLLATE "C"')}) e ORDER BY r.i ${direction}, e.k ${direction} LIMIT $4`;
  const value = values === false ? "" : `, (SELECT l.v FROM ${t.log} l WHERE l.ns = n.id AND l.place = e.place)`;
  return {
    name: `read-${isOne ? "one" : "many"}-${direction}-${values === false ? "keys" : "values"}${liveAtMs === undefined ? "" : "-judged"}`,
    text: `${withNamespace(t)} SELECT ${factsOnce}, ${entryColumns("e")}${value} FROM n LEFT JOIN LATERAL (${from}) e ON true ORDER BY e.i ${direction}, e.k ${direction}`,
    values: [...parameters, limit + 1, ...(isOne ? [startOf(only), endOf(only)] : rangeArrays(ranges)), ...(liveAtMs === undefined ? [] : [liveAtMs])],
  };
}

/** Keys whose past is read in one query. */
const headsPerRead = 1_024;

/** Offers the entries of that time in reading order. Returns the key of the first entry that was left out. */
export function* readPast(t: Tables, { id }: SpaceRow, part: PastPart, bound: number, options: ReadOptions, found: FoundEntries): Work<string | undefined> {
  const { reverse } = options;
  const offer = (rows: readonly RawEntry[]): string | undefined => rows.find((row) => !found.offer(toEntry(row), row[8]?.length ?? 0))?.[0];
  if ("keys" in part) {
    const { rows } = yield* one(pastKeys(t, id, part.keys, bound, options));
    const rowOf = new Map((rows as unknown as RawEntry[]).map((row) => [row[0], row]));
    return offer(part.keys.flatMap((key) => (rowOf.has(key) ? [rowOf.get(key) as RawEntry] : [])));
  }
  for (let rest: Range | undefined = part.range; rest !== undefined; ) {
    const answer = yield* one(pastPage(t, id, rest, bound, options));
    const rows = answer.rows as unknown as [heads: number, last: string | null, ...entry: RawEntry][];
    const next = offer(rows.flatMap(([, , ...row]) => (row[0] === null ? [] : [row])));
    if (next !== undefined) return next;
    const [heads, last] = rows[0] as (typeof rows)[number];
    rest = heads < headsPerRead || last === null ? undefined : reverse ? rangeBefore(rest, last) : rangeAfter(rest, last);
  }
  return undefined;
}

/** Follows the chains from the newest rows in `h` to the newest row below the bound, `$4`. */
const chains = (t: Tables): string => `w (place) AS (
        SELECT place FROM h
        UNION ALL SELECT ${nextInChainSql("l", "$4")} FROM w CROSS JOIN LATERAL (SELECT prev, jump FROM ${t.log} WHERE ns = $1 AND place = w.place LIMIT 1) l WHERE w.place >= $4)`;
const putsBelow = (t: Tables): string =>
  `SELECT l.* FROM w CROSS JOIN LATERAL (SELECT * FROM ${t.log} WHERE ns = $1 AND place = w.place LIMIT 1) l WHERE w.place < $4 AND l.op = ${opCode.put}`;

function pastKeys(t: Tables, id: number, keys: readonly string[], bound: number, { values }: ReadOptions): Statement {
  const head = (table: string): string => `SELECT place FROM ${table} WHERE ns = $1 AND k = u.k`;
  return {
    name: `past-keys-${values === false ? "keys" : "values"}`,
    text: `WITH RECURSIVE h AS MATERIALIZED (SELECT e.place FROM unnest($2::text[]) AS u (k) CROSS JOIN LATERAL (${head(t.kv)} UNION ALL ${head(t.tombstone)}) e LIMIT $3),
      ${chains(t)} SELECT ${entryColumns("e")}${values === false ? "" : ", e.v"} FROM (${putsBelow(t)}) e`,
    values: [id, texts([...new Set(keys)]), 2 * headsPerRead, bound],
  };
}

/** Follows the chains of up to `headsPerRead` keys, without those that had ended by then. Every row also contains the number of keys and the last key. */
function pastPage(t: Tables, id: number, range: Range, bound: number, { reverse, values }: ReadOptions): Statement {
  const direction = reverse ? "DESC" : "ASC";
  const keys = (table: string, filter = ""): string =>
    `(SELECT k, place FROM ${table} WHERE ns = $1 AND k >= $2 AND k < $3${filter} ORDER BY k ${direction} LIMIT ${headsPerRead})`;
  return {
    name: `past-${direction}-${values === false ? "keys" : "values"}`,
    text: `WITH RECURSIVE h AS MATERIALIZED (SELECT k, place FROM (${keys(t.kv)} UNION ALL ${keys(t.tombstone, " AND place >= $4")}) either ORDER BY k ${direction} LIMIT ${headsPerRead}),
      ${chains(t)}
      SELECT c.heads, c.last, ${entryColumns("e")}${values === false ? "" : ", e.v"} FROM (SELECT count(*) AS heads, ${reverse ? "min" : "max"}(k) AS last FROM h) c
      LEFT JOIN (${putsBelow(t)}) e ON true
      ORDER BY e.k ${direction}`,
    values: [id, startOf(range), endOf(range), bound],
  };
}
