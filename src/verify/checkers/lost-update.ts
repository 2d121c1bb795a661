import type { Violation } from "./violation.ts";
import { Violations } from "./violation.ts";

/** A successful compare-and-set increment, as its client saw it. */
export interface Increment {
  readonly client: string;
  readonly version: number;
  readonly value: number;
}

export interface IncrementRun {
  /** All acknowledged successes. */
  readonly increments: readonly Increment[];
  /** The number of increments sent but never answered; each may or may not have happened. */
  readonly unanswered: number;
  readonly final: { readonly version: number; readonly value: number };
}

/**
 * G3. Every increment wrote "the value I read, plus one" under the version it had read. If no update is lost,
 * the n-th success wrote the value n under the version n, and the counter ends at the number of successes.
 */
export function checkNoLostUpdate({ increments, unanswered, final }: IncrementRun): readonly Violation[] {
  const violations = new Violations("G3");
  const winners = new Map<number, Increment>();
  for (const increment of increments) {
    const other = winners.get(increment.version);
    if (other !== undefined) violations.add("two_winners", `${other.client} and ${increment.client} both received version ${increment.version}.`);
    winners.set(increment.version, increment);
    if (increment.value !== increment.version)
      violations.add("stale_increment", `${increment.client} wrote ${increment.value} as version ${increment.version}: an increment between was lost.`);
  }
  if (final.value < increments.length) violations.add("update_lost", `${increments.length} increments were acknowledged, but the counter is at ${final.value}.`);
  if (final.value > increments.length + unanswered)
    violations.add("update_invented", `The counter is at ${final.value} after ${increments.length} acknowledged and ${unanswered} unanswered increments.`);
  if (final.version !== final.value) violations.add("version_differs", `The counter's value is ${final.value} and its version ${final.version}.`);
  return violations.list();
}
