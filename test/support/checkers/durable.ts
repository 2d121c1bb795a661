import type { Violation } from "../../../src/verify/checkers/violation.ts";
import { Violations } from "../../../src/verify/checkers/violation.ts";

/** A write as its client saw it. `revision` is set exactly if the write was acknowledged before the crash; "unknown" if the answer did not include one. */
export interface SentWrite {
  readonly key: string;
  readonly value: string;
  readonly revision?: number | "unknown";
}

/** A write found in the store after the crash: one version of one key, from the log. */
export interface FoundWrite {
  readonly key: string;
  readonly value: string;
  readonly revision: number;
}

/** G1. Every acknowledged write is present as acknowledged, and nothing is present that was never sent. */
export function checkDurable(sent: readonly SentWrite[], found: readonly FoundWrite[]): readonly Violation[] {
  const violations = new Violations("G1");
  const name = ({ key, value }: { key: string; value: string }): string => `${key} = ${value}`;
  const foundByName = new Map(found.map((write) => [name(write), write]));
  const sentNames = new Set(sent.map(name));
  for (const write of sent) {
    if (write.revision === undefined) continue;
    const there = foundByName.get(name(write));
    if (there === undefined)
      violations.add("acknowledged_write_missing", `${name(write)} was acknowledged${write.revision === "unknown" ? "" : ` at revision ${write.revision}`} and is gone.`);
    else if (write.revision !== "unknown" && there.revision !== write.revision)
      violations.add("acknowledged_write_moved", `${name(write)} was acknowledged at revision ${write.revision} but is at ${there.revision}.`);
  }
  const seen = new Set<string>();
  for (const write of found) {
    if (!sentNames.has(name(write))) violations.add("unsent_write_found", `${name(write)} is at revision ${write.revision}, but no client sent it.`);
    if (seen.has(name(write))) violations.add("write_done_twice", `${name(write)} was sent once but is stored twice, again at revision ${write.revision}.`);
    seen.add(name(write));
  }
  return violations.list();
}
