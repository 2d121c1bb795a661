import { logPositionOf, revisionAt } from "../../ledger/log-position.ts";
import { damagedRecord, sealedJson } from "../../ledger/record-sum.ts";
import type { SpaceRow } from "../../ledger/rows.ts";
import type { LogQuery, LogRow } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import type { RawLink } from "./key-chain.ts";
import { requireLink } from "./key-chain.ts";
import { logId } from "./log-id.ts";
import type { SqliteLogRow } from "./log-rows.ts";
import { keyName, logColumns, requireIntact, requireLogRow, rowName, toLogRow } from "./log-rows.ts";

/** The rows of a page, in order, with their values and, if requested, the previous values of their keys. */
export function withValues(connection: Connection, space: SpaceRow, rows: readonly LogRow[], { previous, valuesBytesMax = Number.POSITIVE_INFINITY }: LogQuery): LogRow[] {
  const rowAt = connection.statement(`SELECT ${logColumns(true)}, log.prev, log.jump, log.link_sum FROM log WHERE id = ${logId("?1", "?2")}`);
  const earlier = (row: SqliteLogRow & RawLink): SqliteLogRow | undefined => {
    requireLink(space.id, row);
    if (row.prev === null) return undefined;
    const found = rowAt.get(space.id, row.prev) as SqliteLogRow | undefined;
    if (found === undefined) {
      // The chain ends at rows that compaction deleted; anything newer must exist.
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
