import { letGoThrough } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import { logPositionOf, revisionAt } from "../../store/log-position.ts";
import { requireSum, tombstoneSum } from "../../store/record-sum.ts";
import type { Compacted, RetentionPolicy } from "../../store/store.ts";
import type { Batch } from "./commit-batch.ts";
import type { Connection } from "./connection.ts";
import type { RawLink } from "./key-chain.ts";
import { requireLink } from "./key-chain.ts";
import { logId } from "./log-id.ts";
import type { SqliteLogRow } from "./log-rows.ts";
import { keyName, logColumns, opCode, requireIntact } from "./log-rows.ts";
import type { SqliteNamespaceRow } from "./namespace-row.ts";
import { writeNamespace } from "./namespace-row.ts";

/** Keys of expired entries, those that lapsed first in front; at most what one revision may hold. */
export function expiredKeys(connection: Connection, space: SqliteNamespaceRow, nowMs: number, limit: number): readonly string[] {
  const rows = connection.statement("SELECT k FROM kv INDEXED BY kv_by_expiry WHERE ns = ? AND exp IS NOT NULL AND exp <= ? ORDER BY exp, k LIMIT ?");
  return (rows.all(space.id, nowMs, Math.min(limit, limits.commitRowsMax)) as { readonly k: string }[]).map(({ k }) => k);
}

export function hasOldRequests(connection: Connection, space: SqliteNamespaceRow, nowMs: number): boolean {
  return connection.statement("SELECT 1 FROM request WHERE ns = ? AND kept_until <= ? LIMIT 1").get(space.id, nowMs) !== undefined;
}

/** Inside a write transaction: one slice of the sweep. Old request keys are invisible already, so they may go in slices too. */
export function sweepSlice(connection: Connection, batch: Batch, space: SqliteNamespaceRow, nowMs: number, limit: number): number {
  connection
    .statement("DELETE FROM request WHERE ns = ?1 AND key IN (SELECT key FROM request INDEXED BY request_by_age WHERE ns = ?1 AND kept_until <= ?2 ORDER BY kept_until LIMIT ?3)")
    .run(space.id, nowMs, Math.max(limit, limits.commitRowsMax));
  const keys = expiredKeys(connection, space, nowMs, limit);
  if (keys.length === 0) return 0;
  for (const key of keys) batch.expire(key, nowMs);
  batch.takeRevision(nowMs);
  return keys.length;
}

type WindowRow = SqliteLogRow & RawLink;

/** Whole revisions after the compacted one that the policy lets go, about `limit` rows of them. */
function compactionWindow(connection: Connection, space: SqliteNamespaceRow, policy: RetentionPolicy, nowMs: number, limit: number): readonly WindowRow[] {
  const rows = connection
    .statement(`SELECT ${logColumns(false)}, log.prev, log.jump, log.link_sum FROM log WHERE id >= ${logId("?1", "?2")} AND id < ${logId("?1", "?3")} ORDER BY id LIMIT ?4`)
    .all(space.id, logPositionOf(space.compacted + 1), logPositionOf(space.revision + 1), limit + limits.commitRowsMax) as WindowRow[];
  // What is removed for good is decided by these rows: a damaged one must not decide it.
  for (const row of rows) {
    requireIntact(space.id, row);
    requireLink(space.id, row);
  }
  const horizon = letGoThrough(space, policy.revisions);
  let target = space.compacted;
  let size = 0;
  for (const row of rows) {
    const revision = revisionAt(row.place);
    if (revision > target) {
      const isKept = row.at >= nowMs - policy.ageMs && revision > horizon;
      if (size >= limit || isKept) break;
      target = revision;
    }
    size += 1;
  }
  return rows.slice(0, size);
}

const surplusTombstones = (space: SqliteNamespaceRow, policy: RetentionPolicy, limit: number): number => Math.min(space.tombstones - policy.tombstones, limit);

export function hasSomethingToCompact(connection: Connection, space: SqliteNamespaceRow, policy: RetentionPolicy, nowMs: number): boolean {
  if (compactionWindow(connection, space, policy, nowMs, 1).length > 0) return true;
  return surplusTombstones(space, policy, 1) > 0 && oldestTombstones(connection, space, 1).length > 0;
}

/** Inside a write transaction: one slice of compaction. Its cost follows `limit`, not the size of the store. */
export function compactSlice(connection: Connection, space: SqliteNamespaceRow, policy: RetentionPolicy, nowMs: number, limit: number): Compacted {
  const window = compactionWindow(connection, space, policy, nowMs, limit);
  const removed = forget(connection, space, window);
  forgetTombstones(connection, space, surplusTombstones(space, policy, limit));
  writeNamespace(connection, space);
  return { removed, more: window.length >= limit };
}

/**
 * A row may go when a newer row of its key is also in the past that is let go, or when it only says that the key is gone.
 * Earlier slices left at most one row per key below the window, and the chain leads to it.
 */
function forget(connection: Connection, space: SqliteNamespaceRow, window: readonly WindowRow[]): number {
  const last = window.at(-1);
  if (last === undefined) return 0;
  const remove = connection.statement(`DELETE FROM log WHERE id = ${logId("?1", "?2")}`);
  const newest = new Map(window.map((row) => [row.k, row]));
  let removed = 0;
  for (const row of window) {
    if (row.prev !== null && row.prev < logPositionOf(space.compacted + 1)) removed += Number(remove.run(space.id, row.prev).changes);
    if (row.op !== opCode.put || newest.get(row.k) !== row) removed += Number(remove.run(space.id, row.place).changes);
  }
  space.compacted = revisionAt(last.place);
  space.compactedAtMs = last.at;
  return removed;
}

interface TombstoneRow {
  readonly k: string;
  readonly place: number;
  readonly anchor: number | null;
  readonly ver: number;
  readonly sum: number;
}

function oldestTombstones(connection: Connection, space: SqliteNamespaceRow, count: number): TombstoneRow[] {
  // Only what is compacted: as long as history shows the deletion, its version is remembered.
  const sql = `SELECT k, place, anchor, ver, sum FROM tombstone INDEXED BY tombstone_by_age WHERE ns = ?1 AND place < ?2 ORDER BY place LIMIT ?3`;
  return connection.statement(sql).all(space.id, logPositionOf(space.compacted + 1), count) as TombstoneRow[];
}

function forgetTombstones(connection: Connection, space: SqliteNamespaceRow, surplus: number): void {
  if (surplus <= 0) return;
  for (const { k, place, anchor, ver, sum } of oldestTombstones(connection, space, surplus)) {
    requireSum(tombstoneSum(space.id, k, place, anchor, ver), sum, keyName, k);
    space.versionFloor = Math.max(space.versionFloor, ver);
    connection.statement("DELETE FROM tombstone WHERE ns = ? AND k = ?").run(space.id, k);
    space.tombstones -= 1;
  }
}
