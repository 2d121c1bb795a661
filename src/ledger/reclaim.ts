import { letGoThrough } from "../store/engine-rules.ts";
import { limits } from "../store/limits.ts";
import type { LogRow, NamespaceFacts, RetentionPolicy } from "../store/store.ts";
import { logPositionOf, revisionAt } from "./log-position.ts";
import type { BatchPlan, Tombstone } from "./plan-batch.ts";

/** How much one slice of a sweep takes: expired entries, which end in one revision, and old request keys, which nobody sees any more. */
export const sweepCounts = (limit: number): { readonly entries: number; readonly requests: number } => ({
  entries: Math.min(limit, limits.commitRowsMax),
  requests: Math.max(limit, limits.commitRowsMax),
});

/** Ends expired entries in one revision. */
export function planSweep(plan: BatchPlan, keys: readonly string[]): void {
  for (const key of keys) plan.expire(key);
  if (keys.length > 0) plan.takeRevision();
}

/** What compaction needs of the namespace, and moves on. */
export interface CompactedSpace extends Pick<NamespaceFacts, "revision" | "gaps"> {
  compacted: number;
  compactedAtMs: number;
  versionFloor: number;
  tombstones: number;
}

/** A log row as compaction judges it. */
export interface PastRow {
  readonly logPosition: number;
  readonly key: string;
  readonly op: LogRow["op"];
  readonly atMs: number;
  /** Where the row before it of its key is, or was. */
  readonly previous: number | null;
}

/**
 * Decides one slice of compaction, in two steps: which log rows go, and then which tombstones. An engine reads what each step names and deletes what it answers.
 * The cost of a slice follows `limit`, not the size of the store.
 */
export class Compaction {
  readonly #space: CompactedSpace;
  readonly #policy: RetentionPolicy;
  readonly #nowMs: number;
  readonly #limit: number;
  /** The limit ended the slice, not the policy. */
  more = false;

  constructor(space: CompactedSpace, policy: RetentionPolicy, nowMs: number, limit: number) {
    this.#space = space;
    this.#policy = policy;
    this.#nowMs = nowMs;
    this.#limit = limit;
  }

  /** The rows to read, in the log's order: enough that the last revision looked at is whole. */
  get rowsToRead(): { readonly from: number; readonly before: number; readonly count: number } {
    return { from: logPositionOf(this.#space.compacted + 1), before: logPositionOf(this.#space.revision + 1), count: this.#limit + limits.commitRowsMax };
  }

  /** Is there anything among the rows that the policy lets go? */
  letsGoOf(rows: readonly PastRow[]): boolean {
    return this.#window(rows).length > 0;
  }

  /**
   * Where the rows are that go. A row may go when a newer row of its key is also in the past that is let go, or when it only says that the key is gone.
   * Earlier slices left at most one row per key below the window, and the chain leads to it. Moves the compacted revision on.
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

  /** How many tombstones go, the oldest first, and only those before this place: as long as history shows the deletion, its version is remembered. */
  get tombstonesToRead(): { readonly before: number; readonly count: number } {
    return { before: logPositionOf(this.#space.compacted + 1), count: Math.max(0, Math.min(this.#space.tombstones - this.#policy.tombstones, this.#limit)) };
  }

  /** The versions of all that go share one floor, which new keys start above. */
  forgetTombstones(tombstones: readonly Pick<Tombstone, "version">[]): void {
    for (const { version } of tombstones) this.#space.versionFloor = Math.max(this.#space.versionFloor, version);
    this.#space.tombstones -= tombstones.length;
  }

  /** Whole revisions after the compacted one that the policy lets go, about `limit` rows of them. */
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
