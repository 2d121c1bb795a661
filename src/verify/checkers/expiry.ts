import type { Revision } from "../../store/store.ts";
import type { Violation } from "./violation.ts";
import { Violations } from "./violation.ts";

/** A write with a time to live, as acknowledged. Each key is written once. */
export interface ExpiringWrite {
  readonly key: string;
  readonly ttlMs: number;
  readonly revision: Revision;
  /** When it was written and when it ends, by the engine's clock. */
  readonly atMs: number;
  readonly expiresAtMs: number;
}

/** One read at one revision and one moment of the engine's clock: these keys were present. */
export interface Look {
  readonly by: string;
  readonly revision: Revision;
  readonly nowMs: number;
  readonly keys: readonly string[];
}

/** G6. An entry is there from its commit until its time, by the engine's clock, and not a millisecond longer. */
export function checkExpiry(writes: readonly ExpiringWrite[], looks: readonly Look[]): readonly Violation[] {
  const violations = new Violations("G6");
  for (const { key, ttlMs, atMs, expiresAtMs } of writes)
    if (expiresAtMs - atMs !== ttlMs) violations.add("other_time", `${key} was to live ${ttlMs} ms and was given ${expiresAtMs - atMs}.`);
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
