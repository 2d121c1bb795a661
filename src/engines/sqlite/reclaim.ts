import type { BatchPlan } from "../../ledger/plan-batch.ts";
import type { PastRow } from "../../ledger/reclaim.ts";
import { Compaction, planSweep, sweepCounts } from "../../ledger/reclaim.ts";
import { requireSum, tombstoneSum } from "../../ledger/record-sum.ts";
import { opOf } from "../../ledger/stored-row.ts";
import type { Compacted, RetentionPolicy } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import type { RawLink } from "./key-chain.ts";
import { requireLink } from "./key-chain.ts";
import { logId } from "./log-id.ts";
import type { SqliteLogRow } from "./log-rows.ts";
import { keyName, logColumns, requireIntact } from "./log-rows.ts";
import type { SqliteNamespaceRow } from "./namespace-row.ts";
import { writeNamespace } from "./namespace-row.ts";

/** Keys of expired entries, those that lapsed first in front. */
function expiredKeys(connection: Connection, space: SqliteNamespaceRow, nowMs: number, count: number): readonly string[] {
  const rows = connection.statement("SELECT k FROM kv INDEXED BY kv_by_expiry WHERE ns = ? AND exp IS NOT NULL AND exp <= ? ORDER BY exp, k LIMIT ?");
  return (rows.all(space.id, nowMs, count) as { readonly k: string }[]).map(({ k }) => k);
}

export function hasSomethingToSweep(connection: Connection, space: SqliteNamespaceRow, nowMs: number): boolean {
  if (expiredKeys(connection, space, nowMs, 1).length > 0) return true;
  return connection.statement("SELECT 1 FROM request WHERE ns = ? AND kept_until <= ? LIMIT 1").get(space.id, nowMs) !== undefined;
}

/** Inside a write transaction: one slice of the sweep. */
export function sweepSlice(connection: Connection, plan: BatchPlan, space: SqliteNamespaceRow, nowMs: number, limit: number): number {
  const counts = sweepCounts(limit);
  connection
    .statement("DELETE FROM request WHERE ns = ?1 AND key IN (SELECT key FROM request INDEXED BY request_by_age WHERE ns = ?1 AND kept_until <= ?2 ORDER BY kept_until LIMIT ?3)")
    .run(space.id, nowMs, counts.requests);
  const keys = expiredKeys(connection, space, nowMs, counts.entries);
  planSweep(plan, keys);
  return keys.length;
}

/** What is removed for good is decided by these rows: a damaged one must not decide it. */
function readRows(connection: Connection, space: SqliteNamespaceRow, { from, before, count }: Compaction["rowsToRead"]): PastRow[] {
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

function readTombstones(
  connection: Connection,
  space: SqliteNamespaceRow,
  { before, count }: Compaction["tombstonesToRead"],
): { readonly key: string; readonly version: number }[] {
  if (count === 0) return [];
  const rows = connection
    .statement("SELECT k, place, anchor, ver, sum FROM tombstone INDEXED BY tombstone_by_age WHERE ns = ?1 AND place < ?2 ORDER BY place LIMIT ?3")
    .all(space.id, before, count) as TombstoneRow[];
  return rows.map(({ k, place, anchor, ver, sum }) => {
    requireSum(tombstoneSum(space.id, k, place, anchor, ver), sum, keyName, k);
    return { key: k, version: ver };
  });
}

export function hasSomethingToCompact(connection: Connection, space: SqliteNamespaceRow, policy: RetentionPolicy, nowMs: number): boolean {
  const compaction = new Compaction(space, policy, nowMs, 1);
  return compaction.letsGoOf(readRows(connection, space, compaction.rowsToRead)) || readTombstones(connection, space, compaction.tombstonesToRead).length > 0;
}

/** Inside a write transaction: one slice of compaction. */
export function compactSlice(connection: Connection, space: SqliteNamespaceRow, policy: RetentionPolicy, nowMs: number, limit: number): Compacted {
  const compaction = new Compaction(space, policy, nowMs, limit);
  const remove = connection.statement(`DELETE FROM log WHERE id = ${logId("?1", "?2")}`);
  let removed = 0;
  for (const logPosition of compaction.forgetRows(readRows(connection, space, compaction.rowsToRead))) removed += Number(remove.run(space.id, logPosition).changes);
  const tombstones = readTombstones(connection, space, compaction.tombstonesToRead);
  compaction.forgetTombstones(tombstones);
  for (const { key } of tombstones) connection.statement("DELETE FROM tombstone WHERE ns = ? AND k = ?").run(space.id, key);
  writeNamespace(connection, space);
  return { removed, more: compaction.more };
}
