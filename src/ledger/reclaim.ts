import { letGoThrough } from "../store/engine-rules.ts";
import { limits } from "../store/limits.ts";
import type { LogRow, NamespaceFacts, RetentionPolicy } from "../store/store.ts";
import { logPositionOf, revisionAt } from "./log-position.ts";
import type { BatchPlan, Tombstone } from "./plan-batch.ts";

/** The size of one slice of a sweep: expired entries, which end in one revision, and old request keys, which are no longer visible to callers. */
export const sweepCounts = (limit: number): { readonly entries: number; readonly requests: number } => ({
  entries: Math.min(limit, limits.commitRowsMax),
  requests: Math.max(limit, limits.commitRowsMax),
});

export function planSweep(plan: BatchPlan, keys: readonly string[]): void {
  for (const key of keys) plan.expire(key);
  if (keys.length > 0) plan.takeRevision();
}

/** The facts of the namespace that compaction reads and advances. */
export interface CompactedSpace extends Pick<NamespaceFacts, "revision" | "gaps"> {
  compacted: number;
  compactedAtMs: number;
  versionFloor: number;
  tombstones: number;
}

/** A log row with the fields that compaction needs. */
export interface PastRow {
  readonly logPosition: number;
  readonly key: string;
  readonly op: LogRow["op"];
  readonly atMs: number;
  /** The position of the previous row of the same key, which may have been deleted. */
  readonly previous: number | null;
}

/**
 * Decides one slice of compaction in two steps: first which log rows to delete, then which tombstones. An engine reads the rows that each step names and deletes
 * those that it returns. The cost of a slice depends on `limit`, not on the size of the store.
 */
export class Compaction {
  readonly #space: CompactedSpace;
  readonly #policy: RetentionPolicy;
  readonly #nowMs: number;
  readonly #limit: number;
  /** Whether the slice ended because of the limit rather than the policy. */
  more = false;

  constructor(space: CompactedSpace, policy: RetentionPolicy, nowMs: number, limit: number) {
    this.#space = space;
    this.#policy = policy;
    this.#nowMs = nowMs;
    this.#limit = limit;
  }

  /** The rows to read, in log order: enough to make the last examined revision complete. */
  get rowsToRead(): { readonly from: number; readonly before: number; readonly count: number } {
    return { from: logPositionOf(this.#space.compacted + 1), before: logPositionOf(this.#space.revision + 1), count: this.#limit + limits.commitRowsMax };
  }

  /** Whether the policy releases any of these rows. */
  letsGoOf(rows: readonly PastRow[]): boolean {
    return this.#window(rows).length > 0;
  }

  /**
   * Returns the positions of the rows to delete and advances the compacted revision. A row may be deleted if the released past has a newer row of its key,
   * or if the row only records that the key was deleted. Earlier slices left at most one row per key below the window, and the chain leads to it.
   */
  forgetRows(rows: readonly PastRow[]): number[] {
    const window = this.#window(rows);
    this.more = window.length >= this.#limit;
    const last = window.at(-1);
    if (last === undefined) return [];
    const kept = logPositionOf(this.#space.compacted + 1);
    const newest = new Map(window.map((row) => [row.key, row]));
    const gone: number[] = [];
    for (const row of window) {
      if (row.previous !== null && row.previous < kept) gone.push(row.previous);
      if (row.op !== "put" || newest.get(row.key) !== row) gone.push(row.logPosition);
    }
    this.#space.compacted = revisionAt(last.logPosition);
    this.#space.compactedAtMs = last.atMs;
    return gone;
  }

  /** How many tombstones to delete, oldest first, and only those below this position: while history shows a deletion, its version is remembered. */
  get tombstonesToRead(): { readonly before: number; readonly count: number } {
    return { before: logPositionOf(this.#space.compacted + 1), count: Math.max(0, Math.min(this.#space.tombstones - this.#policy.tombstones, this.#limit)) };
  }

  /** Deleted tombstones share one version floor, and new keys start above it. */
  forgetTombstones(tombstones: readonly Pick<Tombstone, "version">[]): void {
    for (const { version } of tombstones) this.#space.versionFloor = Math.max(this.#space.versionFloor, version);
    this.#space.tombstones -= tombstones.length;
  }

  /** The complete revisions after the compacted one that the policy releases: about `limit` rows. */
  #window(rows: readonly PastRow[]): readonly PastRow[] {
    const letGo = letGoThrough(this.#space, this.#policy.revisions);
    let target = this.#space.compacted;
    let size = 0;
    for (const { logPosition, atMs } of rows) {
      const revision = revisionAt(logPosition);
      if (revision > target) {
        const isKept = atMs >= this.#nowMs - this.#policy.ageMs && revision > letGo;
        if (size >= this.#limit || isKept) break;
        target = revision;
      }
      size += 1;
    }
    return rows.slice(0, size);
  }
}
