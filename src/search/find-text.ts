import type { Revision, Store } from "../store/store.ts";
import { questionTerms } from "./index-text.ts";
import type { Ranked } from "./ranking.ts";
import { rank } from "./ranking.ts";

export interface TextQuery {
  readonly areas: readonly string[];
  readonly question: string;
  readonly limit: number;
  /** Notes that speak of less of the question than this are not answers: nothing is better than the least bad match. */
  readonly coverageMin: number;
}

/** The best answers to a question in plain words, best first, as of one revision. */
export async function findText(store: Store, { areas, question, limit, coverageMin }: TextQuery): Promise<{ readonly hits: readonly Ranked[]; readonly revision: Revision }> {
  const terms = questionTerms(question);
  const answer = await store.search({ areas, terms: terms.map(({ term }) => term) });
  return {
    hits: rank(terms, answer)
      .filter((hit) => hit.coverage >= coverageMin)
      .slice(0, limit),
    revision: answer.revision,
  };
}
