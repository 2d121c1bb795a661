import { futureRevisionError, requireKept } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import type { Range, ReadOptions, Snapshot } from "../../store/store.ts";
import type { RawEntry } from "./log-rows.ts";
import { entryColumns, opCode, toEntry } from "./log-rows.ts";
import type { NamespaceRow } from "./namespace-row.ts";
import { factsOnce, withNamespace } from "./namespace-row.ts";
import { endOf, rangeArrays, startOf } from "./range-bounds.ts";
import type { Tables } from "./schema.ts";
import type { Answer, Statement } from "./session.ts";

/**
 * One statement, and so of one moment. Ranges in the order asked, keys in byte order. The value is fetched for what is answered only, by its place:
 * as a join the planner could decide to read a whole log for it.
 */
export function readStatement(t: Tables, parameters: readonly unknown[], ranges: readonly Range[], options: ReadOptions): Statement {
  const limit = (options.limit ?? limits.readEntriesMax) + 1;
  const direction = options.reverse ? "DESC" : "ASC";
  const wantsValues = options.values !== false;
  const isPast = options.at !== undefined;
  const source = isPast ? pastEntries(t, direction) : liveEntries(t);
  const [only] = ranges;
  const isOne = ranges.length === 1 && only !== undefined;
  const from = isOne
    ? `SELECT 1 AS i, e.* FROM (${source("$5", "$6")} ORDER BY k ${direction} LIMIT $4) e`
    : `SELECT r.i, e.* FROM unnest($5::text[], $6::text[]) WITH ORDINALITY AS r (start, stop, i)
       CROSS JOIN LATERAL (${source('r.start COLLATE "C"', 'r.stop COLLATE "C"')} ORDER BY k ${direction} LIMIT $4) e ORDER BY r.i ${direction}, e.k ${direction} LIMIT $4`;
  const value = `, (SELECT l.v FROM ${t.log} l WHERE l.ns = n.id AND l.rev = e.rev AND l.seq = e.seq)`;
  return {
    name: `read-${isPast ? "past" : "live"}-${isOne ? "one" : "many"}-${direction}-${wantsValues ? "values" : "keys"}`,
    text: `${withNamespace(t)} SELECT ${factsOnce}, ${entryColumns("e")}${wantsValues ? value : ""} FROM n LEFT JOIN LATERAL (${from}) e ON true ORDER BY e.i ${direction}, e.k ${direction}`,
    values: [...parameters, limit, ...(isOne ? [startOf(only), endOf(only)] : rangeArrays(ranges)), ...(isPast ? [options.at] : [])],
  };
}

type Source = (start: string, stop: string) => string;

const liveEntries =
  (t: Tables): Source =>
  (start, stop) =>
    `SELECT kv.k, kv.rev, kv.seq, kv.ver, kv.exp, kv.created, kv.at, kv.writer, kv.agent FROM ${t.kv} kv
     WHERE kv.ns = n.id AND kv.k >= ${start} AND kv.k < ${stop} AND (kv.exp IS NULL OR kv.exp > n.now)`;

/** As of a past revision ($7): each key that has a history, and of that the newest row up to the revision. Expiry is judged by that revision's time. */
const pastEntries =
  (t: Tables, direction: string): Source =>
  (start, stop) => {
    const keys = (table: string): string => `(SELECT k FROM ${table} WHERE ns = n.id AND k >= ${start} AND k < ${stop} ORDER BY k ${direction})`;
    return `SELECT h.k, l.rev, l.seq, l.ver, l.exp, l.created, l.at, l.writer, l.agent FROM (${keys(t.kv)} UNION ALL ${keys(t.tombstone)}) h
     CROSS JOIN LATERAL (SELECT * FROM ${t.log} WHERE ns = n.id AND k = h.k AND rev <= $7 ORDER BY rev DESC, seq DESC LIMIT 1) l
     WHERE l.op = ${opCode.put} AND (l.exp IS NULL OR l.exp > greatest(n.compacted_at, (SELECT at FROM ${t.log} WHERE ns = n.id AND rev <= $7 ORDER BY rev DESC, seq DESC LIMIT 1)))`;
  };

export function toSnapshot(answer: Answer, space: NamespaceRow, options: ReadOptions): Snapshot {
  const limit = options.limit ?? limits.readEntriesMax;
  const { at } = options;
  if (at !== undefined) {
    if (at > space.revision) throw futureRevisionError(at, space.revision);
    requireKept(at, space);
  }
  const rows = answer.rows as unknown as [unknown, ...RawEntry][];
  const found = rows.filter(([, k]) => k !== null);
  return {
    revision: at ?? space.revision,
    nowMs: space.nowMs,
    entries: found.slice(0, limit).map(([, ...entry]) => toEntry(entry)),
    more: found.length > limit,
  };
}

export const countStatement = (t: Tables, parameters: readonly unknown[], range: Range): Statement => ({
  name: "count",
  text: `${withNamespace(t)} SELECT n.facts, (SELECT count(*) FROM ${t.kv} kv WHERE kv.ns = n.id AND kv.k >= $4 AND kv.k < $5 AND (kv.exp IS NULL OR kv.exp > n.now)) FROM n`,
  values: [...parameters, startOf(range), endOf(range)],
});
