import { futureRevisionError, requireKept } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import { placeOf } from "../../store/place.ts";
import { rangeAfter, rangeBefore } from "../../store/ranges.ts";
import type { Entry, Range, ReadOptions, Revision, Snapshot } from "../../store/store.ts";
import type { RawEntry } from "./log-rows.ts";
import { entryColumns, opCode, toEntry } from "./log-rows.ts";
import type { NamespaceRow } from "./namespace-row.ts";
import { factsOnce, withNamespace } from "./namespace-row.ts";
import { endOf, rangeArrays, startOf } from "./range-bounds.ts";
import type { Tables } from "./schema.ts";
import type { Answer, Ask, Statement } from "./session.ts";

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

export function toSnapshot(answer: Answer, space: NamespaceRow, { limit = limits.readEntriesMax }: ReadOptions): Snapshot {
  const rows = answer.rows as unknown as [unknown, ...RawEntry][];
  const found = rows.filter(([, k]) => k !== null);
  return { revision: space.revision, nowMs: space.nowMs, entries: found.slice(0, limit).map(([, ...entry]) => toEntry(entry)), more: found.length > limit };
}

/** Keys whose past is looked at in one go. */
const headsPerRead = 1_024;

/** As of a past revision: each key that has a history, and of its chain the newest row up to the revision. Expiry is judged by that revision's time. */
export async function readPast(ask: Ask, t: Tables, space: NamespaceRow, at: Revision, ranges: readonly Range[], options: ReadOptions): Promise<Snapshot> {
  if (at > space.revision) throw futureRevisionError(at, space.revision);
  requireKept(at, space);
  const { limit = limits.readEntriesMax, reverse } = options;
  const bound = placeOf(at + 1);
  const [newest] = await ask([{ name: "past-time", text: `SELECT at FROM ${t.log} WHERE ns = $1 AND place < $2 ORDER BY place DESC LIMIT 1`, values: [space.id, bound] }]);
  const judgedAtMs = Math.max(space.compactedAtMs, ((newest as Answer).rows[0]?.[0] ?? 0) as number);
  const entries: Entry[] = [];
  for (const range of reverse ? ranges.toReversed() : ranges) {
    for (let rest: Range | undefined = range; rest !== undefined; ) {
      const [answer] = await ask([pastPage(t, space.id, rest, bound, options)]);
      const rows = (answer as Answer).rows as unknown as [heads: number, last: string | null, ...entry: RawEntry][];
      for (const [, , ...row] of rows) {
        if (row[0] === null || (row[3] !== null && row[3] <= judgedAtMs)) continue;
        if (entries.length === limit) return { revision: at, nowMs: space.nowMs, entries, more: true };
        entries.push(toEntry(row));
      }
      const [heads, last] = rows[0] as (typeof rows)[number];
      rest = heads < headsPerRead || last === null ? undefined : reverse ? rangeBefore(rest, last) : rangeAfter(rest, last);
    }
  }
  return { revision: at, nowMs: space.nowMs, entries, more: false };
}

/** Along the chains of up to `headsPerRead` keys. Every row also tells how many keys there were and which was the last. */
function pastPage(t: Tables, id: number, range: Range, bound: number, { reverse, values }: ReadOptions): Statement {
  const direction = reverse ? "DESC" : "ASC";
  const keys = (table: string): string => `(SELECT k, place FROM ${table} WHERE ns = $1 AND k >= $2 AND k < $3 ORDER BY k ${direction} LIMIT ${headsPerRead})`;
  return {
    name: `past-${direction}-${values === false ? "keys" : "values"}`,
    text: `WITH RECURSIVE h AS MATERIALIZED (SELECT k, place FROM (${keys(t.kv)} UNION ALL ${keys(t.tombstone)}) either ORDER BY k ${direction} LIMIT ${headsPerRead}),
      w (place) AS (
        SELECT place FROM h
        UNION ALL SELECT CASE WHEN l.jump >= $4 THEN l.jump ELSE l.prev END FROM w CROSS JOIN LATERAL (SELECT prev, jump FROM ${t.log} WHERE ns = $1 AND place = w.place LIMIT 1) l WHERE w.place >= $4)
      SELECT c.heads, c.last, ${entryColumns("e")}${values === false ? "" : ", e.v"} FROM (SELECT count(*) AS heads, ${reverse ? "min" : "max"}(k) AS last FROM h) c
      LEFT JOIN (SELECT l.* FROM w CROSS JOIN LATERAL (SELECT * FROM ${t.log} WHERE ns = $1 AND place = w.place LIMIT 1) l WHERE w.place < $4 AND l.op = ${opCode.put}) e ON true
      ORDER BY e.k ${direction}`,
    values: [id, startOf(range), endOf(range), bound],
  };
}

export const countStatement = (t: Tables, parameters: readonly unknown[], range: Range): Statement => ({
  name: "count",
  text: `${withNamespace(t)} SELECT n.facts, (SELECT count(*) FROM ${t.kv} kv WHERE kv.ns = n.id AND kv.k >= $4 AND kv.k < $5 AND (kv.exp IS NULL OR kv.exp > n.now)) FROM n`,
  values: [...parameters, startOf(range), endOf(range)],
});
