import { boundsValues, narrowRowsMax, revisionsPerCall } from "../../ledger/log-paging.ts";
import { logPositionOf } from "../../ledger/log-position.ts";
import type { AtMoment } from "../../ledger/rows.ts";
import type { LogQuery, LogRow, Range } from "../../store/store.ts";
import type { PgLogRow } from "./log-rows.ts";
import { boundedColumns, logColumns, nextInChainSql, toLogRow } from "./log-rows.ts";
import { factsOf, factsOnce, withNamespace } from "./namespace-row.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import { endOf, rangeArrays, startOf } from "./range-bounds.ts";
import type { Tables } from "./schema.ts";
import { texts } from "./sql-arrays.ts";

/** Parameters common to the statements: $4 the lowest position, $5 the position that rows are below, $6 the number of rows; then the values of the filters. */
interface Asked {
  readonly values: unknown[];
  readonly filters: string;
  readonly direction: "ASC" | "DESC";
}

function askedBy(query: LogQuery, count: number, alias: string, withRanges: boolean): Asked {
  const values: unknown[] = [logPositionOf((query.after ?? 0) + 1), query.before === undefined ? Number.MAX_SAFE_INTEGER : logPositionOf(query.before), count];
  const add = (value: unknown): string => `$${values.push(value) + 3}`;
  const conditions: string[] = [];
  const { recorded, ranges } = query;
  if (withRanges && !ranges.some((range) => range.start === "" && range.end === undefined)) {
    if (ranges.length === 1) conditions.push(`${alias}.k >= ${add(startOf(ranges[0] as Range))} AND ${alias}.k < ${add(endOf(ranges[0] as Range))}`);
    else {
      const [starts, stops] = rangeArrays(ranges);
      conditions.push(
        `EXISTS (SELECT 1 FROM unnest(${add(starts)}::text[], ${add(stops)}::text[]) AS r (start, stop) WHERE ${alias}.k >= r.start COLLATE "C" AND ${alias}.k < r.stop COLLATE "C")`,
      );
    }
  }
  if (recorded !== undefined) {
    conditions.push(`${alias}.kind IS NOT NULL`);
    if (recorded.kinds !== undefined) conditions.push(`${alias}.kind = ANY(${add(texts(recorded.kinds))}::text[])`);
    if (recorded.writer !== undefined) {
      const writer = add(recorded.writer);
      conditions.push(`(${alias}.writer = ${writer} OR ${alias}.agent = ${writer})`);
    }
  }
  return { values, filters: conditions.map((condition) => ` AND ${condition}`).join(""), direction: query.reverse ? "DESC" : "ASC" };
}

const shapeOf = (query: LogQuery): string => {
  const { ranges, recorded, reverse } = query;
  return [
    ranges.some((range) => range.start === "" && range.end === undefined) ? "all" : ranges.length === 1 ? "one" : "many",
    recorded === undefined ? "any" : `recorded${recorded.kinds === undefined ? "" : "-kinds"}${recorded.writer === undefined ? "" : "-writer"}`,
    reverse ? "back" : "on",
    query.values === false ? "keys" : boundsValues(query) ? (query.previous ? "previous" : "bounded") : "values",
  ].join("-");
};

/** Columns and joins of the returned rows; the values that they need are added to `values`. */
function columnsOf(t: Tables, query: LogQuery, values: unknown[]): { readonly columns: string; readonly join: string } {
  if (!boundsValues(query)) return { columns: logColumns("l", query.values !== false), join: "" };
  return boundedColumns(t, query, `$${values.push(query.valuesBytesMax ?? Number.MAX_SAFE_INTEGER) + 3}`);
}

/** Reads by revision, with the span that `LogPaging.spanFrom` defines: found and examined in one statement. Also returns the first and the last revision examined. */
export function logBySpan(t: Tables, parameters: readonly unknown[], query: LogQuery, count: number): Statement {
  const { values, filters, direction } = askedBy(query, count, "l", true);
  const revision = (logPosition: string): string => `(${logPosition} / ${logPositionOf(1)})`;
  const near = revision("near.place");
  const { columns, join } = columnsOf(t, query, values);
  const span = query.reverse
    ? `greatest(${revision("$4::bigint")}, ${near} - ${revisionsPerCall - 1}) AS first, ${near} AS last`
    : `${near} AS first, least(${near} + ${revisionsPerCall - 1}, ${revision("$5::bigint")} - 1, n.revision) AS last`;
  return {
    name: `log-${shapeOf(query)}`,
    text: `${withNamespace(t)}, span AS MATERIALIZED (
        SELECT ${span} FROM n CROSS JOIN LATERAL (SELECT place FROM ${t.log} WHERE ns = n.id AND place >= $4 AND place < $5 ORDER BY place ${direction} LIMIT 1) near)
      SELECT ${factsOnce}, span.first, span.last, ${columns} FROM n LEFT JOIN span ON true LEFT JOIN LATERAL (
        SELECT l.* FROM ${t.log} l WHERE l.ns = n.id AND l.place >= span.first * ${logPositionOf(1)} AND l.place < (span.last + 1) * ${logPositionOf(1)}${filters} ORDER BY l.place ${direction} LIMIT $6) l ON true${join}
      ORDER BY l.place ${direction}`,
    values: [...parameters, ...values],
  };
}

/**
 * Reads by key, along the chains of the keys in the ranges, and of each no more than a page needs. Also returns how many rows were examined;
 * if that reaches `narrowRowsMax`, reading by revision is the bounded way.
 */
export function logByKey(t: Tables, parameters: readonly unknown[], query: LogQuery, count: number): Statement {
  const { values, filters, direction } = askedBy(query, count, "l", false);
  const from = values.push(...rangeArrays(query.ranges)) + 2;
  const keys = (table: string): string => `SELECT place FROM ${table} WHERE ns = n.id AND k >= r.start COLLATE "C" AND k < r.stop COLLATE "C"`;
  // A missing agent name makes the comparison null, which cannot be counted.
  const wanted = `coalesce(l.place < $5${filters}, false)`;
  const row = (logPosition: string): string => `(SELECT * FROM ${t.log} WHERE ns = n.id AND place = ${logPosition} AND place >= $4 LIMIT 1) l`;
  const { columns, join } = columnsOf(t, query, values);
  // When reading newest first, a page of each key is enough.
  const enough = query.reverse ? "WHERE w.found < $6" : "";
  return {
    name: `narrow-${shapeOf({ ...query, ranges: [] })}`,
    text: `${withNamespace(t, "RECURSIVE")},
      head AS MATERIALIZED (SELECT place FROM n CROSS JOIN unnest($${from}::text[], $${from + 1}::text[]) AS r (start, stop) CROSS JOIN LATERAL (${keys(t.kv)} UNION ALL ${keys(t.tombstone)}) h LIMIT ${narrowRowsMax}),
      w (place, prev, jump, wanted, found) AS (
        SELECT l.place, l.prev, l.jump, ${wanted}, ${wanted}::int FROM n CROSS JOIN (SELECT DISTINCT place FROM head) h CROSS JOIN LATERAL ${row("h.place")}
        UNION ALL SELECT l.place, l.prev, l.jump, ${wanted}, w.found + ${wanted}::int FROM w CROSS JOIN n CROSS JOIN LATERAL ${row(nextInChainSql("w", "$5"))} ${enough}),
      visited AS MATERIALIZED (SELECT place, wanted FROM w LIMIT ${narrowRowsMax})
      SELECT ${factsOnce}, greatest((SELECT count(*) FROM head), (SELECT count(*) FROM visited)), NULL, ${columns} FROM n
      LEFT JOIN LATERAL (SELECT place FROM visited WHERE wanted ORDER BY place ${direction} LIMIT $6) p ON true
      LEFT JOIN LATERAL (SELECT * FROM ${t.log} WHERE ns = n.id AND place = p.place LIMIT 1) l ON true${join}
      ORDER BY l.place ${direction}`,
    values: [...parameters, ...values],
  };
}

type RawRow = [facts: string | null, first: number | null, last: number | null, ...row: PgLogRow | [null]];

/** Returns the rows and the statement's two numbers. If there are no rows, the facts come alone. */
export function logAnswer({ rows }: StatementResult, query: LogQuery): AtMoment<{ readonly rows: readonly LogRow[]; readonly first: number | null; readonly last: number | null }> {
  const raw = rows as unknown as RawRow[];
  const [, first, last] = raw[0] as RawRow;
  const hasPrevious = query.values !== false && query.previous === true;
  return { space: factsOf(rows), first, last, rows: raw.flatMap(([, , , ...row]) => (row[0] === null ? [] : [toLogRow(row, hasPrevious)])) };
}
