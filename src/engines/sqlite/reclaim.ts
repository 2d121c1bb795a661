import type { Compaction, PastRow } from "../../ledger/reclaim.ts";
import { requireSum, tombstoneSum } from "../../ledger/record-sum.ts";
import type { SpaceRow } from "../../ledger/rows.ts";
import { opOf } from "../../ledger/stored-row.ts";
import type { Connection } from "./connection.ts";
import type { RawLink } from "./key-chain.ts";
import { requireLink } from "./key-chain.ts";
import { logId } from "./log-id.ts";
import type { SqliteLogRow } from "./log-rows.ts";
import { keyName, logColumns, requireIntact } from "./log-rows.ts";

/** Keys of expired entries, in the order in which they expired. */
export function expiredKeys(connection: Connection, { id, nowMs }: SpaceRow, count: number): readonly string[] {
  const rows = connection.statement("SELECT k FROM kv INDEXED BY kv_by_expiry WHERE ns = ? AND exp IS NOT NULL AND exp <= ? ORDER BY exp, k LIMIT ?");
  return (rows.all(id, nowMs, count) as { readonly k: string }[]).map(({ k }) => k);
}

export function isSweepDue(connection: Connection, space: SpaceRow): boolean {
  if (expiredKeys(connection, space, 1).length > 0) return true;
  return connection.statement("SELECT 1 FROM request WHERE ns = ? AND kept_until <= ? LIMIT 1").get(space.id, space.nowMs) !== undefined;
}

/** These rows decide what is deleted for good, so each is verified: a damaged row must not decide that. */
export function readPastRows(connection: Connection, space: SpaceRow, { from, before, count }: Compaction["rowsToRead"]): PastRow[] {
  const rows = connection
    .statement(`SELECT ${logColumns(false)}, log.prev, log.jump, log.link_sum FROM log WHERE id >= ${logId("?1", "?2")} AND id < ${logId("?1", "?3")} ORDER BY id LIMIT ?4`)
    .all(space.id, from, before, count) as (SqliteLogRow & RawLink)[];
  return rows.map((row): PastRow => {
    requireIntact(space.id, row);
    requireLink(space.id, row);
    return { logPosition: row.place, key: row.k, op: opOf(row.op), atMs: row.at, previous: row.prev };
  });
}

interface TombstoneRow {
  readonly k: string;
  readonly place: number;
  readonly anchor: number | null;
  readonly ver: number;
  readonly sum: number;
}

export function readOldTombstones(
  connection: Connection,
  space: SpaceRow,
  { before, count }: Compaction["tombstonesToRead"],
): { readonly key: string; readonly version: number }[] {
  const rows = connection
    .statement("SELECT k, place, anchor, ver, sum FROM tombstone INDEXED BY tombstone_by_age WHERE ns = ?1 AND place < ?2 ORDER BY place LIMIT ?3")
    .all(space.id, before, count) as TombstoneRow[];
  return rows.map(({ k, place, anchor, ver, sum }) => {
    requireSum(tombstoneSum(space.id, k, place, anchor, ver), sum, keyName, k);
    return { key: k, version: ver };
  });
}
