import type { Violation } from "./violation.ts";
import { Violations } from "./violation.ts";

/** One request key, sent any number of times. */
export interface RetriedRequest {
  readonly key: string;
  /** The answer of each answered attempt, as text; attempts whose answer was lost are not here. */
  readonly answers: readonly string[];
  /** How often its effect is in the log. */
  readonly effects: number;
  /** The answer was that nothing is changed. */
  readonly refused?: boolean;
}

/** G9. However often a request is sent, its effect is in the log at most once, an answered one exactly once, a refused one never, and every answer is the first one. */
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
