import { LogPaging, narrowRowsMax, revisionsPerCall } from "../../ledger/log-paging.ts";
import { logPositionOf, revisionAt } from "../../ledger/log-position.ts";
import { isOneRevision, rowsToFetch } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import type { LogPage, LogQuery, Range } from "../../store/store.ts";
import type { PgLogRow } from "./log-rows.ts";
import { boundedColumns, isBounded, logColumns, nextInChainSql, toLogRow } from "./log-rows.ts";
import type { PgNamespaceRow } from "./namespace-row.ts";
import { factsOnce, withNamespace } from "./namespace-row.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import { endOf, rangeArrays, startOf } from "./range-bounds.ts";
import type { Tables } from "./schema.ts";
import { texts } from "./sql-arrays.ts";

/** What the statements share: $4 from this place, $5 below this one, $6 so many rows; then the values of the filters. */
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
    query.values === false ? "keys" : isBounded(query) ? (query.previous ? "previous" : "bounded") : "values",
  ].join("-");
};

/** Columns and joins of the rows that are answered; what they need is added to the statement's values. */
function columnsOf(t: Tables, query: LogQuery, values: unknown[]): { readonly columns: string; readonly join: string } {
  if (!isBounded(query)) return { columns: logColumns("l", query.values !== false), join: "" };
  return boundedColumns(t, query, `$${values.push(query.valuesBytesMax ?? Number.MAX_SAFE_INTEGER) + 3}`);
}

/**
 * By revision, as `LogPaging.spanFrom` says: found out and examined in one statement. Answers, beside the rows, the first and the last revision that was examined.
 */
export function logByRevision(t: Tables, parameters: readonly unknown[], query: LogQuery, count: number): Statement {
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
 * By key, along the chains of the keys in the ranges, of each no more than a page needs. Answers, beside the rows, how many were looked at;
 * when that reaches `narrowRowsMax`, going by revision is the bounded way.
 */
export function logByKey(t: Tables, parameters: readonly unknown[], query: LogQuery, count: number): Statement {
  const { values, filters, direction } = askedBy(query, count, "l", false);
  const from = values.push(...rangeArrays(query.ranges)) + 2;
  const keys = (table: string): string => `SELECT place FROM ${table} WHERE ns = n.id AND k >= r.start COLLATE "C" AND k < r.stop COLLATE "C"`;
  // Who has no agent name makes a comparison unknown, and nothing can be counted by that.
  const wanted = `coalesce(l.place < $5${filters}, false)`;
  const row = (logPosition: string): string => `(SELECT * FROM ${t.log} WHERE ns = n.id AND place = ${logPosition} AND place >= $4 LIMIT 1) l`;
  const { columns, join } = columnsOf(t, query, values);
  // Newest first, a page of each key is enough.
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

type RawRow = [facts: string | null, first: number | null, last: number | null, ...row: PgLogRow];

/** The facts come alone where there is no row. */
const rowsIn = (raw: readonly RawRow[]): readonly RawRow[] => raw.filter(([, , , logPosition]) => logPosition !== null);

/** Asks for one row more than the page; again for the rest of its first revision where that is longer than the page. */
export async function askForPage({ limit = limits.logRowsMax }: LogQuery, ask: (count: number) => Promise<StatementResult>): Promise<StatementResult> {
  const answer = await ask(rowsToFetch.first(limit));
  return isOneRevision(rowsIn(answer.rows as unknown as RawRow[]), limit, ([, , , logPosition]) => revisionAt(logPosition)) ? ask(rowsToFetch.again(limit)) : answer;
}

export const isTooWide = (answer: StatementResult): boolean => ((answer.rows[0]?.[1] ?? 0) as number) >= narrowRowsMax;

export function toLogPage(answer: StatementResult, space: PgNamespaceRow, query: LogQuery, isByKey: boolean): LogPage {
  const raw = answer.rows as unknown as RawRow[];
  const [, from, to] = raw[0] as RawRow;
  const rows = rowsIn(raw).map(([, , , ...row]) => toLogRow(row, query.values !== false && query.previous === true));
  return new LogPaging(query, space).page(rows, isByKey || from === null || to === null ? undefined : { from, to });
}
