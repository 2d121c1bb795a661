import type { Revision, Store } from "../store/store.ts";
import { currentArea, formerAreas } from "./index-areas.ts";
import type { QuestionAbilities } from "./index-text.ts";
import { questionTerms } from "./index-text.ts";
import type { Ranked } from "./ranking.ts";
import { chanceOf, openMatcher, rank, raritiesOf, termsOf } from "./ranking.ts";
import { synonymsOf } from "./synonyms.ts";
import { allAbilities } from "./tokenizer.ts";

/** Chosen on labelled questions (docs/search.md). `agreement`: with several wordings; the others: with one. */
const cutOffs = {
  sure: { agreement: 0.2, match: 0.14, matchOfOne: 0.05, surplus: 1, coverage: 0.15, coverageAlone: 0.75 },
  maybe: { agreement: 0.05, coverage: 0.2 },
} as const;

/** A term of a single note is telling, one of two is not. */
const commonNotes = 0.5;

const withSynonyms: QuestionAbilities = { ...allAbilities, expand: synonymsOf };
/** Other wordings say what synonyms would, and better; each term less is a look into the index less. */
const withoutSynonyms: QuestionAbilities = { ...allAbilities, expand: () => [] };

/** sure: an answer. maybe: worth a line for a reader who can tell. */
export type Grade = "sure" | "maybe";

export interface Hit extends Ranked {
  readonly grade: Grade | undefined;
}

export interface TextQuery {
  readonly areas: readonly string[];
  readonly question: string;
  /** Other wordings of the same question. */
  readonly also?: readonly string[];
}

interface Found {
  readonly hits: readonly Hit[];
  readonly revision: Revision;
}

interface Search extends Found {
  /** How many wordings differ and have a word to look for. */
  readonly wordings: number;
  /** How well the best of some stored questions, each as its terms, is the best of the wordings. 0 to 1. */
  matchOf(questions: readonly ReadonlySet<string>[]): number;
  /** Do these terms of the question together single out a few notes? */
  isTelling(terms: readonly string[]): boolean;
}

/** Everything that has a word of the question, best first, as of one revision. One engine search for all wordings. */
export async function searchHits(store: Store, { areas, question, also = [] }: TextQuery): Promise<Search> {
  // The same wording twice agrees with itself and says nothing.
  const asked = [...new Set([question, ...also])].filter((wording) => questionTerms(wording, withoutSynonyms).length > 0);
  const wordings = asked.map((wording) => questionTerms(wording, asked.length > 1 ? withoutSynonyms : withSynonyms));
  const terms = termsOf(wordings);
  const answer = await store.search({ areas: areas.flatMap((area) => [currentArea(area), ...formerAreas(area)]), terms });
  const rarities = raritiesOf(answer);
  return {
    hits: rank(wordings, answer).map((hit) => ({ ...hit, grade: gradeOf(hit, wordings.length) })),
    revision: answer.revision,
    wordings: wordings.length,
    matchOf: openMatcher(wordings, answer),
    isTelling: (some) => some.reduce((sum, term) => sum + (rarities[terms.indexOf(term)] ?? 0), 0) > chanceOf(answer) - commonNotes,
  };
}

/** What answers a question or may answer it, best first. Nothing is better than the least bad match. */
export async function findText(store: Store, { limit, ...query }: TextQuery & { readonly limit: number }): Promise<Found> {
  const { hits, revision } = await searchHits(store, query);
  return { hits: hits.filter(({ grade }) => grade !== undefined).slice(0, limit), revision };
}

/** Of what was saved with questions: one of them must be what is asked. Such a text has more words for chance to find, and says better what it answers. */
export function isAnswered({ agreement, coverage }: Ranked, match: number, wordings: number): boolean {
  const { sure } = cutOffs;
  if (wordings > 1) return agreement * match * coverage ** 2 >= sure.match;
  return coverage >= sure.coverageAlone || agreement * match >= sure.matchOfOne * coverage;
}

export function gradeOf({ agreement, surplus, coverage }: Ranked, wordings: number): Grade | undefined {
  const { sure, maybe } = cutOffs;
  // Of a note on the same subject that is no answer, hardly ever is one of the wordings covered as a whole.
  if (wordings > 1) return agreement * coverage ** 4 >= sure.agreement ? "sure" : agreement >= maybe.agreement ? "maybe" : undefined;
  if ((surplus > sure.surplus && coverage >= sure.coverage) || coverage >= sure.coverageAlone) return "sure";
  return coverage >= maybe.coverage ? "maybe" : undefined;
}
