import { judgedAtMs, pastBound } from "../../ledger/past.ts";
import { opCode } from "../../ledger/stored-row.ts";
import { limits } from "../../store/limits.ts";
import { rangeAfter, rangeBefore, singleKey } from "../../store/ranges.ts";
import type { Entry, Range, ReadOptions, Revision, Snapshot } from "../../store/store.ts";
import type { RawEntry } from "./log-rows.ts";
import { entryColumns, nextInChainSql, toEntry } from "./log-rows.ts";
import type { PgNamespaceRow } from "./namespace-row.ts";
import { factsOnce, withNamespace } from "./namespace-row.ts";
import type { Ask, Statement, StatementResult } from "./pg-session.ts";
import { endOf, rangeArrays, startOf } from "./range-bounds.ts";
import type { Tables } from "./schema.ts";
import { texts } from "./sql-arrays.ts";

/**
 * One statement, and so of one moment. Ranges in the order asked, keys in byte order. The value is fetched for what is answered only, by its place:
 * as a join the planner could decide to read a whole log for it.
 */
export function readStatement(t: Tables, parameters: readonly unknown[], ranges: readonly Range[], { limit = limits.readEntriesMax, reverse, values }: ReadOptions): Statement {
  const direction = reverse ? "DESC" : "ASC";
  const [only] = ranges;
  const isOne = ranges.length === 1 && only !== undefined;
  const source = (start: string, stop: string): string =>
    `SELECT kv.k, kv.place, kv.ver, kv.exp, kv.created, kv.at, kv.writer, kv.agent FROM ${t.kv} kv
     WHERE kv.ns = n.id AND kv.k >= ${start} AND kv.k < ${stop} AND (kv.exp IS NULL OR kv.exp > n.now) ORDER BY kv.k ${direction} LIMIT $4`;
  const from = isOne
    ? `SELECT 1 AS i, e.* FROM (${source("$5", "$6")}) e`
    : `SELECT r.i, e.* FROM unnest($5::text[], $6::text[]) WITH ORDINALITY AS r (start, stop, i)
       CROSS JOIN LATERAL (${source('r.start COLLATE "C"', 'r.stop COLLATE "C"')}) e ORDER BY r.i ${direction}, e.k ${direction} LIMIT $4`;
  const value = values === false ? "" : `, (SELECT l.v FROM ${t.log} l WHERE l.ns = n.id AND l.place = e.place)`;
  return {
    name: `read-${isOne ? "one" : "many"}-${direction}-${values === false ? "keys" : "values"}`,
    text: `${withNamespace(t)} SELECT ${factsOnce}, ${entryColumns("e")}${value} FROM n LEFT JOIN LATERAL (${from}) e ON true ORDER BY e.i ${direction}, e.k ${direction}`,
    values: [...parameters, limit + 1, ...(isOne ? [startOf(only), endOf(only)] : rangeArrays(ranges))],
  };
}

export function toSnapshot(answer: StatementResult, space: PgNamespaceRow, { limit = limits.readEntriesMax }: ReadOptions): Snapshot {
  const rows = answer.rows as unknown as [unknown, ...RawEntry][];
  const found = rows.filter(([, k]) => k !== null);
  return { revision: space.revision, nowMs: space.nowMs, entries: found.slice(0, limit).map(([, ...entry]) => toEntry(entry)), more: found.length > limit };
}

/** Keys whose past is looked at in one go. */
const headsPerRead = 1_024;

/** As of a past revision: each key that has a history, and of its chain the newest row up to the revision. Expiry is judged by that revision's time. */
export async function readPast(ask: Ask, t: Tables, space: PgNamespaceRow, at: Revision, ranges: readonly Range[], options: ReadOptions): Promise<Snapshot> {
  const bound = pastBound(at, space);
  const { limit = limits.readEntriesMax, reverse } = options;
  // A caller that gives the time needs no look at the log.
  const [newest] =
    options.liveAtMs !== undefined
      ? []
      : await ask([{ name: "past-time", text: `SELECT at FROM ${t.log} WHERE ns = $1 AND place < $2 ORDER BY place DESC LIMIT 1`, values: [space.id, bound] }]);
  const judgedMs = judgedAtMs(options, space, newest?.rows[0]?.[0] as number | undefined);
  const entries: Entry[] = [];
  /** False: there was no room for all of them. */
  const take = (rows: Iterable<RawEntry>): boolean => {
    for (const row of rows) {
      if (row[0] === null || (row[3] !== null && row[3] <= judgedMs)) continue;
      if (entries.length === limit) return false;
      entries.push(toEntry(row));
    }
    return true;
  };
  const answer = (more: boolean): Snapshot => ({ revision: at, nowMs: space.nowMs, entries, more });
  for (const part of partsOf(reverse ? ranges.toReversed() : ranges)) {
    if ("keys" in part) {
      const [found] = await ask([pastKeys(t, space.id, part.keys, bound, options)]);
      const rowOf = new Map(((found as StatementResult).rows as unknown as RawEntry[]).map((row) => [row[0], row]));
      if (!take(part.keys.flatMap((key) => (rowOf.has(key) ? [rowOf.get(key) as RawEntry] : [])))) return answer(true);
      continue;
    }
    for (let rest: Range | undefined = part.range; rest !== undefined; ) {
      const [found] = await ask([pastPage(t, space.id, rest, bound, options)]);
      const rows = (found as StatementResult).rows as unknown as [heads: number, last: string | null, ...entry: RawEntry][];
      if (!take(rows.map(([, , ...row]) => row))) return answer(true);
      const [heads, last] = rows[0] as (typeof rows)[number];
      rest = heads < headsPerRead || last === null ? undefined : reverse ? rangeBefore(rest, last) : rangeAfter(rest, last);
    }
  }
  return answer(false);
}

/** Consecutive single keys are read together: a listing of runs reads hundreds of them. */
function partsOf(ranges: readonly Range[]): ({ readonly keys: string[] } | { readonly range: Range })[] {
  const parts: ({ readonly keys: string[] } | { readonly range: Range })[] = [];
  for (const range of ranges) {
    const key = singleKey(range);
    const last = parts.at(-1);
    if (key === undefined || key.includes("\0")) parts.push({ range });
    else if (last !== undefined && "keys" in last && last.keys.length < headsPerRead) last.keys.push(key);
    else parts.push({ keys: [key] });
  }
  return parts;
}

/** From the newest rows in `h` along the chains to the newest below the bound, `$4`. */
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

/** Along the chains of up to `headsPerRead` keys, without those that had ended by then. Every row also tells how many keys there were and which was the last. */
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

export const countStatement = (t: Tables, parameters: readonly unknown[], range: Range): Statement => ({
  name: "count",
  text: `${withNamespace(t)} SELECT n.facts, (SELECT count(*) FROM ${t.kv} kv WHERE kv.ns = n.id AND kv.k >= $4 AND kv.k < $5 AND (kv.exp IS NULL OR kv.exp > n.now)) FROM n`,
  values: [...parameters, startOf(range), endOf(range)],
});
