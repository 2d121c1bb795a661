import type { RevisionSpan } from "../../ledger/log-paging.ts";
import { LogPaging, narrowRowsMax } from "../../ledger/log-paging.ts";
import { logPositionOf, revisionAt, seqAt } from "../../ledger/log-position.ts";
import { damagedRecord } from "../../ledger/record-sum.ts";
import { isOneRevision, rowsToFetch } from "../../store/engine-rules.ts";
import { follower } from "../../store/log-order.ts";
import type { LogPage, LogQuery, Range, Revision } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import type { SqlValue } from "./driver.ts";
import type { RawLink } from "./key-chain.ts";
import { newestBelow, readHeads, requireLink } from "./key-chain.ts";
import { logId, positionIn } from "./log-id.ts";
import type { LogTuple, SqliteLogRow } from "./log-rows.ts";
import { keyName, logColumns, requireIntact, requireLogRow, rowName, toLogRow, toRawLogRow } from "./log-rows.ts";
import { readsValuesLast, withValues } from "./log-values.ts";
import type { SqliteNamespaceRow } from "./namespace-row.ts";
import { endOf, startOf } from "./range-bounds.ts";

/** SQL with the values of its question marks, in order. */
interface Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Inside one read transaction. */
export function readLog(connection: Connection, space: SqliteNamespaceRow, query: LogQuery): LogPage {
  const paging = new LogPaging(query, space);
  const { after, last, limit } = paging;
  const fill = <Rows extends readonly SqliteLogRow[] | undefined>(fetch: (count: number) => Rows): Rows => {
    const fetched = fetch(rowsToFetch.first(limit));
    return fetched !== undefined && isOneRevision(fetched, limit, ({ place }) => revisionAt(place)) ? fetch(rowsToFetch.again(limit)) : fetched;
  };
  const page = (fetched: readonly SqliteLogRow[], examined?: RevisionSpan): LogPage => {
    const found = paging.page(fetched.map(toLogRow), examined);
    return readsValuesLast(query) ? { ...found, rows: withValues(connection, space, found.rows, query) } : found;
  };
  if (last <= after || query.ranges.length === 0) return page([]);
  const byKey = query.narrow ? fill((count) => fetchByKey(connection, space, query, logPositionOf(after + 1), logPositionOf(last + 1), count)) : undefined;
  if (byKey !== undefined) return page(byKey);
  const nearest = nearestRevision(connection, space, query, after, last);
  if (nearest === undefined) return page([]);
  const span = paging.spanFrom(nearest);
  return page(
    fill((count) => fetchByRevision(connection, space, query, span, count)),
    span,
  );
}

/** The first revision that has rows. */
function nearestRevision(connection: Connection, space: SqliteNamespaceRow, { reverse }: LogQuery, after: Revision, last: Revision): Revision | undefined {
  const found = connection
    .statement(`SELECT ${positionIn("id")} AS place FROM log WHERE id >= ${logId("?1", "?2")} AND id < ${logId("?1", "?3")} ORDER BY id ${reverse ? "DESC" : "ASC"} LIMIT 1`)
    .get(space.id, logPositionOf(after + 1), logPositionOf(last + 1)) as { readonly place: number } | undefined;
  return found && revisionAt(found.place);
}

/** `rows` in the log's order; `after`: the revision they must begin behind, if any. */
function requireUnbroken(space: SqliteNamespaceRow, rows: readonly SqliteLogRow[], after: Revision | undefined): void {
  const follows = follower(space, after);
  for (const { place } of rows) if (!follows(revisionAt(place), seqAt(place))) throw damagedRecord(rowName(place));
}

function fetchByRevision(connection: Connection, space: SqliteNamespaceRow, query: LogQuery, { from, to }: RevisionSpan, count: number): SqliteLogRow[] {
  const filters = [...inRanges(query.ranges), ...recordedAs(query)];
  const sql = `SELECT ${logColumns(query.values !== false && !readsValuesLast(query))} FROM log
    WHERE id >= ${logId("?1", "?2")} AND id < ${logId("?1", "?3")}${filters.map((filter) => ` AND ${filter.sql}`).join("")}
    ORDER BY id ${query.reverse ? "DESC" : "ASC"} LIMIT ?`;
  const found = connection.arrayStatement(sql).all(space.id, logPositionOf(from), logPositionOf(to + 1), ...filters.flatMap((filter) => filter.values), count) as LogTuple[];
  const rows = found.map((row) => requireIntact(space.id, toRawLogRow(row)));
  // Without a filter nothing may be missing in between: a watcher would never hear of it.
  if (filters.length === 0) requireUnbroken(space, query.reverse ? rows.toReversed() : rows, query.reverse ? undefined : Math.max(space.compacted, from - 1));
  return rows;
}

type ChainRow = SqliteLogRow & RawLink;

/**
 * Along the chains of the asked keys, from `low` to below `high`: places first, rows for those that remain after sorting.
 * Undefined when that would mean looking at too many rows: going by revision is then the bounded way.
 */
function fetchByKey(connection: Connection, space: SqliteNamespaceRow, query: LogQuery, low: number, high: number, count: number): SqliteLogRow[] | undefined {
  const chainRow = connection.statement(`SELECT ${logColumns(false)}, log.prev, log.jump, log.link_sum FROM log WHERE id = ${logId("?1", "?2")}`);
  // A set: ranges may overlap, rows may not repeat.
  const logPositions = new Set<number>();
  let visited = 0;
  for (const range of query.ranges) {
    const heads = readHeads(connection, space.id, range, { limit: narrowRowsMax });
    if (heads.length === narrowRowsMax) return undefined;
    for (const head of heads) {
      let logPosition = newestBelow(connection, space, head.place, high) ?? null;
      // Newest first, a page of each key is enough.
      for (let matching = 0; logPosition !== null && logPosition >= low && !(query.reverse && matching === count); ) {
        visited += 1;
        if (visited > narrowRowsMax) return undefined;
        const row = chainRow.get(space.id, logPosition) as ChainRow | undefined;
        if (row === undefined && revisionAt(logPosition) <= space.compacted) break;
        requireLogRow(space.id, logPosition, row);
        if (row === undefined || row.k !== head.k) throw damagedRecord(keyName(head.k));
        requireLink(space.id, row);
        if (isWanted(row, query)) {
          logPositions.add(logPosition);
          matching += 1;
        }
        logPosition = row.prev;
      }
    }
  }
  const rowAt = connection.statement(`SELECT ${logColumns(query.values !== false && !readsValuesLast(query))} FROM log WHERE id = ${logId("?1", "?2")}`);
  const direction = query.reverse ? -1 : 1;
  return [...logPositions]
    .sort((a, b) => direction * (a - b))
    .slice(0, count)
    .map((logPosition) => requireLogRow(space.id, logPosition, rowAt.get(space.id, logPosition)));
}

function isWanted(row: ChainRow, { recorded }: LogQuery): boolean {
  if (recorded === undefined) return true;
  if (row.kind === null || (recorded.kinds !== undefined && !recorded.kinds.includes(row.kind))) return false;
  return recorded.writer === undefined || row.writer === recorded.writer || row.agent === recorded.writer;
}

/** No condition when every row is wanted; many ranges as a balanced tree, because SQLite bounds how deep an expression may nest. */
function inRanges(ranges: readonly Range[]): Condition[] {
  if (ranges.some((range) => range.start === "" && range.end === undefined)) return [];
  const either = (from: number, to: number): string => {
    if (to - from === 1) return "(k >= ? AND k < ?)";
    const middle = (from + to) >>> 1;
    return `(${either(from, middle)} OR ${either(middle, to)})`;
  };
  return [{ sql: either(0, ranges.length), values: ranges.flatMap((range) => [startOf(range), endOf(range)]) }];
}

function recordedAs({ recorded }: LogQuery): Condition[] {
  if (recorded === undefined) return [];
  const conditions: Condition[] = [{ sql: "kind IS NOT NULL", values: [] }];
  if (recorded.kinds !== undefined) conditions.push({ sql: `kind IN (${recorded.kinds.map(() => "?").join(", ")})`, values: recorded.kinds });
  if (recorded.writer !== undefined) conditions.push({ sql: "(writer = ? OR agent = ?)", values: [recorded.writer, recorded.writer] });
  return conditions;
}
