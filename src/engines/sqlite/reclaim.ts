import type { Clock } from "../../kernel/clock.ts";
import { limits } from "../../store/limits.ts";
import type { RetentionPolicy, Revision } from "../../store/store.ts";
import type { Batch } from "./commit-batch.ts";
import type { Connection } from "./connection.ts";
import { logId, revisionOf } from "./log-id.ts";
import { opCode } from "./log-rows.ts";
import type { NamespaceRow } from "./namespace-row.ts";
import { engineNowMs, writeNamespace } from "./namespace-row.ts";

/** Keys of expired entries, those that lapsed first in front; at most what one revision may hold. */
export function expiredKeys(connection: Connection, space: NamespaceRow, nowMs: number, limit: number): readonly string[] {
  const rows = connection.statement("SELECT k FROM kv INDEXED BY kv_by_expiry WHERE ns = ? AND exp IS NOT NULL AND exp <= ? ORDER BY exp, k LIMIT ?");
  return (rows.all(space.id, nowMs, Math.min(limit, limits.commitRowsMax)) as { readonly k: string }[]).map(({ k }) => k);
}

export function hasOldRequests(connection: Connection, space: NamespaceRow, nowMs: number): boolean {
  return connection.statement("SELECT 1 FROM request WHERE ns = ? AND kept_until <= ? LIMIT 1").get(space.id, nowMs) !== undefined;
}

/** Inside a write transaction: one slice of the sweep. Old request keys are invisible already, so they may go in slices too. */
export function sweepSlice(connection: Connection, batch: Batch, space: NamespaceRow, nowMs: number, limit: number): number {
  connection
    .statement("DELETE FROM request WHERE ns = ?1 AND key IN (SELECT key FROM request INDEXED BY request_by_age WHERE ns = ?1 AND kept_until <= ?2 ORDER BY kept_until LIMIT ?3)")
    .run(space.id, nowMs, Math.max(limit, limits.commitRowsMax));
  const keys = expiredKeys(connection, space, nowMs, limit);
  if (keys.length === 0) return 0;
  for (const key of keys) batch.expire(key, nowMs);
  batch.takeRevision(nowMs);
  return keys.length;
}

interface WindowRow {
  readonly rev: Revision;
  readonly at: number;
  readonly k: string;
  readonly op: number;
}

/** Whole revisions after the compacted one that the policy lets go, about `limit` rows of them. */
function compactionWindow(connection: Connection, space: NamespaceRow, policy: RetentionPolicy, nowMs: number, limit: number): readonly WindowRow[] {
  const rows = connection
    .statement(`SELECT ${revisionOf("id")} AS rev, at, k, op FROM log WHERE id >= ${logId("?1", "?2")} AND id < ${logId("?1", "?3")} ORDER BY id LIMIT ?4`)
    .all(space.id, space.compacted + 1, space.revision + 1, limit + limits.commitRowsMax) as WindowRow[];
  let target = space.compacted;
  let size = 0;
  for (const row of rows) {
    if (row.rev > target) {
      const isKept = row.at >= nowMs - policy.ageMs && row.rev > space.revision - policy.revisions;
      if (size >= limit || isKept) break;
      target = row.rev;
    }
    size += 1;
  }
  return rows.slice(0, size);
}

const surplusTombstones = (space: NamespaceRow, policy: RetentionPolicy, limit: number): number => Math.min(space.tombstones - policy.tombstones, limit);

export function hasSomethingToCompact(connection: Connection, space: NamespaceRow, policy: RetentionPolicy, clock: Clock): boolean {
  if (compactionWindow(connection, space, policy, engineNowMs(clock, space), 1).length > 0) return true;
  return surplusTombstones(space, policy, 1) > 0 && oldestTombstones(connection, space, 1).length > 0;
}

/** Inside a write transaction: one slice of compaction. Its cost follows `limit`, not the size of the store. */
export function compactSlice(connection: Connection, space: NamespaceRow, policy: RetentionPolicy, clock: Clock, limit: number): number {
  const window = compactionWindow(connection, space, policy, engineNowMs(clock, space), limit);
  const removed = forget(connection, space, window);
  forgetTombstones(connection, space, surplusTombstones(space, policy, limit));
  writeNamespace(connection, space);
  return removed;
}

/**
 * A row may go when a newer row of its key is also in the past that is let go, or when it only says that the key is gone.
 * Earlier slices left at most one row per key below the window, so looking at the window's keys is enough.
 */
function forget(connection: Connection, space: NamespaceRow, window: readonly WindowRow[]): number {
  if (window.length === 0) return 0;
  const newest = new Map<string, WindowRow>();
  for (const row of window) newest.set(row.k, row);
  const olderOfKey = connection.statement(`DELETE FROM log WHERE ns = ?1 AND k = ?2 AND id < ${logId("?1", "?3")}`);
  const upToOfKey = connection.statement(`DELETE FROM log WHERE ns = ?1 AND k = ?2 AND id < ${logId("?1", "(?3 + 1)")}`);
  // A revision can hold two rows of one key: the expiry it met, then the put.
  const expiryBeside = connection.statement(`DELETE FROM log WHERE ns = ?1 AND k = ?2 AND id >= ${logId("?1", "?3")} AND id < ${logId("?1", "(?3 + 1)")} AND op <> ${opCode.put}`);
  let removed = 0;
  for (const { k, rev, op } of newest.values()) {
    if (op === opCode.put) removed += Number(olderOfKey.run(space.id, k, rev).changes) + Number(expiryBeside.run(space.id, k, rev).changes);
    else removed += Number(upToOfKey.run(space.id, k, rev).changes);
  }
  space.compacted = (window.at(-1) as WindowRow).rev;
  return removed;
}

function oldestTombstones(connection: Connection, space: NamespaceRow, count: number): { readonly k: string; readonly ver: number }[] {
  // Only what is compacted: as long as history shows the deletion, its version is remembered.
  const sql = `SELECT k, ver FROM tombstone INDEXED BY tombstone_by_age WHERE ns = ?1 AND log_id < ${logId("?1", "?2")} ORDER BY log_id LIMIT ?3`;
  return connection.statement(sql).all(space.id, space.compacted + 1, count) as { readonly k: string; readonly ver: number }[];
}

function forgetTombstones(connection: Connection, space: NamespaceRow, surplus: number): void {
  if (surplus <= 0) return;
  for (const { k, ver } of oldestTombstones(connection, space, surplus)) {
    space.versionFloor = Math.max(space.versionFloor, ver);
    connection.statement("DELETE FROM tombstone WHERE ns = ? AND k = ?").run(space.id, k);
    space.tombstones -= 1;
  }
}
