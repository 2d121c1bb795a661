import type { Revision, Store } from "../store/store.ts";
import { questionTerms } from "./index-text.ts";
import type { Ranked } from "./ranking.ts";
import { rank } from "./ranking.ts";

/**
 * The cut-off that suits a question in plain words, chosen on one half of the labelled questions (docs/search.md): below it more unrelated notes
 * come back than right ones.
 */
export const relevantCoverageMin = 0.2;

export interface TextQuery {
  readonly areas: readonly string[];
  readonly question: string;
  readonly limit: number;
  /** Notes that speak of less of the question than this are not answers: nothing is better than the least bad match. */
  readonly coverageMin?: number;
}

/** The best answers to a question in plain words, best first, as of one revision. */
export async function findText(
  store: Store,
  { areas, question, limit, coverageMin = relevantCoverageMin }: TextQuery,
): Promise<{ readonly hits: readonly Ranked[]; readonly revision: Revision }> {
  const terms = questionTerms(question);
  const answer = await store.search({ areas, terms: terms.map(({ term }) => term) });
  return { hits: rank(terms, answer, coverageMin).slice(0, limit), revision: answer.revision };
}
