import type { Revision } from "../../store/store.ts";
import type { Violation } from "./violation.ts";
import { Violations } from "./violation.ts";

/** An acknowledged write with a time to live. Each key is written once. */
export interface ExpiringWrite {
  readonly key: string;
  readonly ttlMs: number;
  readonly revision: Revision;
  /** When it was written and when it expires, by the engine's clock. */
  readonly atMs: number;
  readonly expiresAtMs: number;
}

/** One read at one revision and one moment of the engine's clock, with the keys that were present. */
export interface Look {
  readonly by: string;
  readonly revision: Revision;
  readonly nowMs: number;
  readonly keys: readonly string[];
}

/** G6. By the engine's clock, an entry is present from its commit until it expires and not a millisecond longer. */
export function checkExpiry(writes: readonly ExpiringWrite[], looks: readonly Look[]): readonly Violation[] {
  const violations = new Violations("G6");
  for (const { key, ttlMs, atMs, expiresAtMs } of writes)
    if (expiresAtMs - atMs !== ttlMs) violations.add("other_time", `${key} should live ${ttlMs} ms but got ${expiresAtMs - atMs} ms.`);
  const latest = new Map<string, number>();
  for (const { by, revision, nowMs, keys } of looks) {
    if (nowMs < (latest.get(by) ?? 0)) violations.add("clock_went_back", `${by} received ${nowMs} after ${latest.get(by)}.`);
    latest.set(by, nowMs);
    const there = new Set(keys);
    for (const write of writes) {
      if (write.revision > revision) continue;
      if (there.has(write.key) && nowMs >= write.expiresAtMs) violations.add("returned_after_its_time", `${by} saw ${write.key} ${nowMs - write.expiresAtMs} ms after its time.`);
      if (!there.has(write.key) && nowMs < write.expiresAtMs) violations.add("gone_before_its_time", `${by} missed ${write.key} ${write.expiresAtMs - nowMs} ms before its time.`);
    }
  }
  return violations.list();
}
