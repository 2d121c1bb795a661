import type { RevisionSpan } from "../../ledger/log-paging.ts";
import { boundsValues, LogPaging, narrowRowsMax } from "../../ledger/log-paging.ts";
import { logPositionOf, revisionAt, seqAt } from "../../ledger/log-position.ts";
import { damagedRecord } from "../../ledger/record-sum.ts";
import type { SpaceRow } from "../../ledger/rows.ts";
import { follower } from "../../store/log-order.ts";
import type { LogQuery, LogRow, Range, Revision } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import type { SqlValue } from "./driver.ts";
import type { RawLink } from "./key-chain.ts";
import { newestBelow, readHeads, requireLink } from "./key-chain.ts";
import { logId, positionIn } from "./log-id.ts";
import type { LogTuple, SqliteLogRow } from "./log-rows.ts";
import { keyName, logColumns, requireIntact, requireLogRow, rowName, toLogRow, toRawLogRow } from "./log-rows.ts";
import { endOf, startOf } from "./range-bounds.ts";

/** SQL with the values of its placeholders, in order. */
interface Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Inside one read transaction. */
export function readBySpan(connection: Connection, space: SpaceRow, query: LogQuery, count: number): { readonly rows: readonly LogRow[]; readonly examined?: RevisionSpan } {
  const paging = boundsOf(query, space);
  if (paging.last <= paging.after || query.ranges.length === 0) return { rows: [] };
  const nearest = nearestRevision(connection, space, query, paging.after, paging.last);
  if (nearest === undefined) return { rows: [] };
  const examined = paging.spanFrom(nearest);
  return { rows: fetchByRevision(connection, space, query, examined, count).map(toLogRow), examined };
}

export function readByKey(connection: Connection, space: SpaceRow, query: LogQuery, count: number): readonly LogRow[] | undefined {
  const { after, last } = boundsOf(query, space);
  return last <= after ? [] : fetchByKey(connection, space, query, logPositionOf(after + 1), logPositionOf(last + 1), count)?.map(toLogRow);
}

/** Does not check whether that past is kept. */
const boundsOf = (query: LogQuery, space: SpaceRow): LogPaging => new LogPaging({ ...query, lenient: true }, space);

/** The nearest revision that has rows. */
function nearestRevision(connection: Connection, space: SpaceRow, { reverse }: LogQuery, after: Revision, last: Revision): Revision | undefined {
  const found = connection
    .statement(`SELECT ${positionIn("id")} AS place FROM log WHERE id >= ${logId("?1", "?2")} AND id < ${logId("?1", "?3")} ORDER BY id ${reverse ? "DESC" : "ASC"} LIMIT 1`)
    .get(space.id, logPositionOf(after + 1), logPositionOf(last + 1)) as { readonly place: number } | undefined;
  return found && revisionAt(found.place);
}

/** `rows` must be in log order. `after`: the revision that they must directly follow, if any. */
function requireUnbroken(space: SpaceRow, rows: readonly SqliteLogRow[], after: Revision | undefined): void {
  const follows = follower(space, after);
  for (const { place } of rows) if (!follows(revisionAt(place), seqAt(place))) throw damagedRecord(rowName(place));
}

function fetchByRevision(connection: Connection, space: SpaceRow, query: LogQuery, { from, to }: RevisionSpan, count: number): SqliteLogRow[] {
  const filters = [...inRanges(query.ranges), ...recordedAs(query)];
  const sql = `SELECT ${logColumns(query.values !== false && !boundsValues(query))} FROM log
    WHERE id >= ${logId("?1", "?2")} AND id < ${logId("?1", "?3")}${filters.map((filter) => ` AND ${filter.sql}`).join("")}
    ORDER BY id ${query.reverse ? "DESC" : "ASC"} LIMIT ?`;
  const found = connection.arrayStatement(sql).all(space.id, logPositionOf(from), logPositionOf(to + 1), ...filters.flatMap((filter) => filter.values), count) as LogTuple[];
  const rows = found.map((row) => requireIntact(space.id, toRawLogRow(row)));
  // Without a filter, no row may be missing in between: a watcher would never see it.
  if (filters.length === 0) requireUnbroken(space, query.reverse ? rows.toReversed() : rows, query.reverse ? undefined : Math.max(space.compacted, from - 1));
  return rows;
}

type ChainRow = SqliteLogRow & RawLink;

/**
 * Follows the chains of the requested keys from `low` to below `high`: first collects positions, then reads the rows that remain after sorting. Undefined if this
 * would examine too many rows; reading by revision is then the bounded way.
 */
function fetchByKey(connection: Connection, space: SpaceRow, query: LogQuery, low: number, high: number, count: number): SqliteLogRow[] | undefined {
  const chainRow = connection.statement(`SELECT ${logColumns(false)}, log.prev, log.jump, log.link_sum FROM log WHERE id = ${logId("?1", "?2")}`);
  // A set, because ranges may overlap but rows must not repeat.
  const logPositions = new Set<number>();
  let visited = 0;
  for (const range of query.ranges) {
    const heads = readHeads(connection, space.id, range, { limit: narrowRowsMax });
    if (heads.length === narrowRowsMax) return undefined;
    for (const head of heads) {
      let logPosition = newestBelow(connection, space, head.place, high) ?? null;
      // When reading newest first, a page of each key is enough.
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
  const rowAt = connection.statement(`SELECT ${logColumns(query.values !== false && !boundsValues(query))} FROM log WHERE id = ${logId("?1", "?2")}`);
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

/** No condition if every row is wanted. Many ranges form a balanced tree, because SQLite limits how deep an expression may nest. */
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
