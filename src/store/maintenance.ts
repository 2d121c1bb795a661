import type { Clock } from "../kernel/clock.ts";
import { isHoldfastError } from "../kernel/errors.ts";
import type { Log } from "../kernel/log.ts";
import { limits } from "./limits.ts";
import { isReservedNamespace } from "./namespace-store.ts";
import type { Engine, RetentionPolicy } from "./store.ts";

export interface MaintenanceOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly log: Log;
  readonly retention: RetentionPolicy;
  /** Chores of the layers above, run as often as compaction. */
  readonly chores?: readonly ((namespace: string) => Promise<void>)[];
  /** Called when expired entries of a namespace were swept. */
  readonly swept?: (namespace: string, count: number) => Promise<void>;
  readonly sweepEveryMs?: number;
  readonly compactEveryMs?: number;
}

/** Rows that one compaction slice may delete: a few milliseconds of work, so that writers hardly notice. */
const compactSlice = 500;

/** Even read-only callers make Holdfast write to its own namespaces (a session starts, a token is used). No caller needs that history, and it must not fill the store. */
const shortly = ({ ageMs, revisions, tombstones }: RetentionPolicy): RetentionPolicy => ({
  ageMs,
  revisions: Math.min(revisions, limits.reservedRevisionsMax),
  tombstones: Math.min(tombstones, limits.reservedRevisionsMax),
});

/**
 * Reclaims space in small steps until the signal aborts. Correctness never depends on it: expiry is checked on every read and write. Several processes may maintain
 * one store at once; each step is its own transaction.
 */
export async function maintain(
  { engine, clock, log, retention, chores = [], swept, sweepEveryMs = 1_000, compactEveryMs = 60_000 }: MaintenanceOptions,
  signal: AbortSignal,
): Promise<void> {
  // A busy or full store is no reason to stop maintaining it, and a failure in one namespace must not affect the others. A namespace that has moved or is moving is
  // skipped.
  const fail = (error: unknown): void => {
    const isAway = isHoldfastError(error, "moved") || isHoldfastError(error, "unavailable");
    log(isAway ? "debug" : "warn", "maintenance_failed", { message: error instanceof Error ? error.message : String(error) });
  };
  const lookAfter = async (namespace: string, compactNow: boolean): Promise<void> => {
    for (let more = true; more && !signal.aborted; ) {
      const count = await engine.sweep(namespace, limits.commitRowsMax);
      if (count > 0) await swept?.(namespace, count);
      more = count >= limits.commitRowsMax;
      if (more) await clock.rest(1, signal);
    }
    const isReserved = isReservedNamespace(namespace);
    // Any reader can make Holdfast write to a reserved namespace, as fast as it likes: a minute of history could fill the memory or the disk.
    if (!compactNow && !isReserved) return;
    if (compactNow) for (const chore of chores) await chore(namespace);
    const kept = isReserved ? shortly(retention) : retention;
    while (!signal.aborted && (await engine.compact(namespace, kept, compactSlice)).more) await clock.rest(5, signal);
  };
  let compactAtMs = clock.nowMs() + compactEveryMs;
  while (!signal.aborted) {
    await clock.rest(sweepEveryMs, signal);
    if (signal.aborted) return;
    try {
      const compactNow = clock.nowMs() >= compactAtMs;
      if (compactNow) compactAtMs = clock.nowMs() + compactEveryMs;
      for (const namespace of await engine.namespaces()) await lookAfter(namespace, compactNow).catch(fail);
    } catch (error) {
      fail(error);
    }
  }
}
