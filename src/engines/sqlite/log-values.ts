import { logPositionOf, revisionAt } from "../../ledger/log-position.ts";
import { damagedRecord, sealedJson } from "../../ledger/record-sum.ts";
import type { LogQuery, LogRow } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import type { RawLink } from "./key-chain.ts";
import { requireLink } from "./key-chain.ts";
import { logId } from "./log-id.ts";
import type { SqliteLogRow } from "./log-rows.ts";
import { keyName, logColumns, requireIntact, requireLogRow, rowName, toLogRow } from "./log-rows.ts";
import type { SqliteNamespaceRow } from "./namespace-row.ts";

/** The page is found first, without values; then those of its rows are read, as many as may be. */
export const readsValuesLast = ({ values, previous, valuesBytesMax }: LogQuery): boolean => values !== false && (previous === true || valuesBytesMax !== undefined);

/** The rows of a page, in its order, with their values and, if asked for, those their keys had before. */
export function withValues(
  connection: Connection,
  space: Pick<SqliteNamespaceRow, "id" | "compacted">,
  rows: readonly LogRow[],
  { previous, valuesBytesMax = Number.POSITIVE_INFINITY }: LogQuery,
): LogRow[] {
  const rowAt = connection.statement(`SELECT ${logColumns(true)}, log.prev, log.jump, log.link_sum FROM log WHERE id = ${logId("?1", "?2")}`);
  const earlier = (row: SqliteLogRow & RawLink): SqliteLogRow | undefined => {
    requireLink(space.id, row);
    if (row.prev === null) return undefined;
    const found = rowAt.get(space.id, row.prev) as SqliteLogRow | undefined;
    if (found === undefined) {
      // What compaction let go of is the end of the chain; anything newer must be there.
      if (revisionAt(row.prev) <= space.compacted) return undefined;
      throw damagedRecord(rowName(row.prev));
    }
    if (requireIntact(space.id, found).k !== row.k) throw damagedRecord(keyName(row.k));
    return found;
  };
  let bytes = 0;
  return rows.map((row) => {
    if (bytes >= valuesBytesMax) return { ...row, unread: true };
    const logPosition = logPositionOf(row.revision, row.seq);
    const own = requireLogRow(space.id, logPosition, rowAt.get(space.id, logPosition)) as SqliteLogRow & RawLink;
    const before = previous ? earlier(own) : undefined;
    bytes += bytesOf(own) + bytesOf(before);
    return previous ? { ...toLogRow(own), previous: before === undefined ? null : toLogRow(before).value } : toLogRow(own);
  });
}

const bytesOf = (row: SqliteLogRow | undefined): number => (row?.v === undefined ? 0 : Buffer.byteLength(sealedJson(row.v) ?? ""));
