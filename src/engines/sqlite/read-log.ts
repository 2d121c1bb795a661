import { compactedError, rowsToFetch, wholeRevisions } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import type { LogPage, LogQuery, LogRow, Range, Revision } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import type { SqlValue } from "./driver.ts";
import { logId, revisionOf } from "./log-id.ts";
import type { RawLogRow } from "./log-rows.ts";
import { logColumns, toLogRow } from "./log-rows.ts";
import type { NamespaceRow } from "./namespace-row.ts";
import { endOf } from "./read-entries.ts";

/** Revisions examined by one call: a filter that matches nothing must not hold the event loop for a whole long history. */
const revisionsPerCall = 20_000;
/** Up to so many rows under the asked keys, going by key is cheaper than going by revision. */
const narrowRowsMax = 20_000;

/** SQL with the values of its question marks, in order. */
interface Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Inside one read transaction. */
export function readLog(connection: Connection, space: NamespaceRow, query: LogQuery): LogPage {
  const after = query.after ?? 0;
  if (query.after !== undefined && after < space.compacted && !query.lenient) throw compactedError(after, space.compacted);
  const limit = query.limit ?? limits.logRowsMax;
  const last = Math.min(space.revision, (query.before ?? Number.POSITIVE_INFINITY) - 1);
  const end = query.reverse ? after : Math.max(after, last);
  const span = query.ranges.length === 0 ? undefined : scanSpan(connection, space, query, after, last);
  if (span === undefined) return { rows: [], through: end, done: true, revision: space.revision };

  const fetched = span.byKey
    ? fetchByKey(connection, space, query, after, last, rowsToFetch(limit))
    : fetchByRevision(connection, space, query, span.from, span.to, rowsToFetch(limit));
  const page = wholeRevisions(fetched.map(toLogRow), limit);
  if (page.cut) return { rows: page.rows, through: (page.rows.at(-1) as LogRow).revision, done: false, revision: space.revision };
  return { rows: page.rows, through: span.whole ? end : query.reverse ? span.from : span.to, done: span.whole, revision: space.revision };
}

interface Span {
  readonly byKey: boolean;
  /** First and last revision to examine. */
  readonly from: Revision;
  readonly to: Revision;
  /** Nothing lies outside of it. */
  readonly whole: boolean;
}

function scanSpan(connection: Connection, space: NamespaceRow, query: LogQuery, after: Revision, last: Revision): Span | undefined {
  if (last <= after) return undefined;
  if (query.narrow && rowsUnder(connection, space, query.ranges) <= narrowRowsMax) return { byKey: true, from: after + 1, to: last, whole: true };
  // Where compaction has been, most revisions have no rows left: begin at the first that has.
  const nearest = connection
    .statement(`SELECT ${revisionOf("id")} AS rev FROM log WHERE id >= ${logId("?1", "?2")} AND id < ${logId("?1", "?3")} ORDER BY id ${query.reverse ? "DESC" : "ASC"} LIMIT 1`)
    .get(space.id, after + 1, last + 1) as { readonly rev: Revision } | undefined;
  if (nearest === undefined) return undefined;
  const from = query.reverse ? Math.max(after + 1, nearest.rev - revisionsPerCall + 1) : nearest.rev;
  const to = query.reverse ? nearest.rev : Math.min(last, nearest.rev + revisionsPerCall - 1);
  return { byKey: false, from, to, whole: query.reverse ? from === after + 1 : to === last };
}

function rowsUnder(connection: Connection, space: NamespaceRow, ranges: readonly Range[]): number {
  const count = connection.statement("SELECT count(*) AS n FROM (SELECT 1 FROM log INDEXED BY log_by_key WHERE ns = ? AND k >= ? AND k < ? LIMIT ?)");
  let total = 0;
  for (const range of ranges) {
    total += (count.get(space.id, range.start, endOf(range), narrowRowsMax + 1) as { readonly n: number }).n;
    if (total > narrowRowsMax) break;
  }
  return total;
}

function fetchByRevision(connection: Connection, space: NamespaceRow, query: LogQuery, from: Revision, to: Revision, count: number): RawLogRow[] {
  const filters = [...inRanges(query.ranges), ...recordedAs(query)];
  const sql = `SELECT ${logColumns(query.values !== false)} FROM log
    WHERE id >= ${logId("?1", "?2")} AND id < ${logId("?1", "?3")}${filters.map((filter) => ` AND ${filter.sql}`).join("")}
    ORDER BY id ${query.reverse ? "DESC" : "ASC"} LIMIT ?`;
  return connection.statement(sql).all(space.id, from, to + 1, ...filters.flatMap((filter) => filter.values), count) as RawLogRow[];
}

/** Each range by the key index, then merged; ranges may overlap, rows may not repeat. */
function fetchByKey(connection: Connection, space: NamespaceRow, query: LogQuery, after: Revision, last: Revision, count: number): RawLogRow[] {
  const filters = recordedAs(query);
  const order = query.reverse ? "DESC" : "ASC";
  // The ids alone are sorted; values are read for the rows that remain.
  const sql = `SELECT ${logColumns(query.values !== false)} FROM log WHERE id IN (
      SELECT id FROM log INDEXED BY log_by_key
      WHERE ns = ?1 AND k >= ?2 AND k < ?3 AND id >= ${logId("?1", "?4")} AND id < ${logId("?1", "?5")}${filters.map((filter) => ` AND ${filter.sql}`).join("")}
      ORDER BY id ${order} LIMIT ?)
    ORDER BY id ${order}`;
  const statement = connection.statement(sql);
  const merged = new Map<string, RawLogRow>();
  for (const range of query.ranges) {
    const rows = statement.all(space.id, range.start, endOf(range), after + 1, last + 1, ...filters.flatMap((filter) => filter.values), count) as RawLogRow[];
    for (const row of rows) merged.set(`${row.rev}.${row.seq}`, row);
  }
  const direction = query.reverse ? -1 : 1;
  return [...merged.values()].sort((a, b) => direction * (a.rev - b.rev || a.seq - b.seq)).slice(0, count);
}

/** No condition when everything is asked for; many ranges as a balanced tree, because SQLite bounds how deep an expression may nest. */
function inRanges(ranges: readonly Range[]): Condition[] {
  if (ranges.some((range) => range.start === "" && range.end === undefined)) return [];
  const either = (from: number, to: number): string => {
    if (to - from === 1) return "(k >= ? AND k < ?)";
    const middle = (from + to) >>> 1;
    return `(${either(from, middle)} OR ${either(middle, to)})`;
  };
  return [{ sql: either(0, ranges.length), values: ranges.flatMap((range) => [range.start, endOf(range)]) }];
}

function recordedAs({ recorded }: LogQuery): Condition[] {
  if (recorded === undefined) return [];
  const conditions: Condition[] = [{ sql: "kind IS NOT NULL", values: [] }];
  if (recorded.kinds !== undefined) conditions.push({ sql: `kind IN (${recorded.kinds.map(() => "?").join(", ")})`, values: recorded.kinds });
  if (recorded.writer !== undefined) conditions.push({ sql: "(writer = ? OR agent = ?)", values: [recorded.writer, recorded.writer] });
  return conditions;
}
