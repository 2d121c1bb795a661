import type { Violation } from "./violation.ts";
import { Violations } from "./violation.ts";

/** One request key, sent any number of times. */
export interface RetriedRequest {
  readonly key: string;
  /** The answer to each answered attempt, as text; attempts whose answer was lost are not included. */
  readonly answers: readonly string[];
  /** How many times its effect is in the log. */
  readonly effects: number;
  /** True if the answer was that nothing was changed. */
  readonly refused?: boolean;
}

/**
 * G9. However often a request is sent, its effect is in the log at most once: exactly once if it
 * was answered, never if it was rejected. Every answer equals the first one.
 */
export function checkRetrySafe(requests: readonly RetriedRequest[]): readonly Violation[] {
  const violations = new Violations("G9");
  for (const { key, answers, effects, refused = false } of requests) {
    if (effects > 1) violations.add("effect_twice", `${key} took effect ${effects} times.`);
    if (effects > 0 && refused) violations.add("refused_took_effect", `${key} was refused and has an effect.`);
    if (effects === 0 && answers.length > 0 && !refused) violations.add("effect_lost", `${key} was answered and has no effect.`);
    if (new Set(answers).size > 1) violations.add("answers_differ", `${key} was answered in ${new Set(answers).size} different ways.`);
  }
  return violations.list();
}
