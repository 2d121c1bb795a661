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

/** A term that only one note contains is telling; a term of two notes is not. */
const commonNotes = 0.5;

const withSynonyms: QuestionAbilities = { ...allAbilities, expand: synonymsOf };
/** Other wordings serve the same purpose as synonyms, and do it better. Each term less saves a lookup in the index. */
const withoutSynonyms: QuestionAbilities = { ...allAbilities, expand: () => [] };

/** sure: an answer. maybe: worth showing to a reader who can judge it. */
export type Grade = "sure" | "maybe";

export interface Hit extends Ranked {
  readonly grade: Grade | undefined;
}

export interface TextQuery {
  readonly areas: readonly string[];
  readonly question: string;
  /** Other wordings of the same question. */
  readonly also?: readonly string[];
  /** Return only about this many hits, those with the most rare words: each further hit costs a read of its entry. Absent: return all. */
  readonly hitsMax?: number;
}

interface Found {
  readonly hits: readonly Hit[];
  readonly revision: Revision;
}

interface Search extends Found {
  /** The number of distinct wordings that contain a word to search for. */
  readonly wordings: number;
  /** How well the best of some stored questions, each given as its terms, matches the best of the wordings. 0 to 1. */
  matchOf(questions: readonly ReadonlySet<string>[]): number;
  /** Whether these terms of the question together single out a few notes. */
  isTelling(terms: readonly string[]): boolean;
}

/** Every text that contains a word of the question, best first, as of one revision. One engine search serves all wordings. */
export async function searchHits(store: Store, { areas, question, also = [], hitsMax }: TextQuery): Promise<Search> {
  // A repeated wording agrees with itself and adds no information.
  const asked = [...new Set([question, ...also])].filter((wording) => questionTerms(wording, withoutSynonyms).length > 0);
  const wordings = asked.map((wording) => questionTerms(wording, asked.length > 1 ? withoutSynonyms : withSynonyms));
  const terms = termsOf(wordings);
  const answer = await store.search({ areas: areas.flatMap((area) => [currentArea(area), ...formerAreas(area)]), terms, hitsMax });
  const rarities = raritiesOf(answer);
  return {
    hits: rank(wordings, answer).map((hit) => ({ ...hit, grade: gradeOf(hit, wordings.length) })),
    revision: answer.revision,
    wordings: wordings.length,
    matchOf: openMatcher(wordings, answer),
    isTelling: (some) => some.reduce((sum, term) => sum + (rarities[terms.indexOf(term)] ?? 0), 0) > chanceOf(answer) - commonNotes,
  };
}

/** Texts that answer the question or may answer it, best first. No result is better than the least bad match. */
export async function findText(store: Store, { limit, ...query }: TextQuery & { readonly limit: number }): Promise<Found> {
  const { hits, revision } = await searchHits(store, query);
  return { hits: hits.filter(({ grade }) => grade !== undefined).slice(0, limit), revision };
}

/**
 * For texts saved with questions: one of them must match the question asked. Such a text has more words that can match by chance, but its questions
 * state better what it answers.
 */
export function isAnswered({ agreement, coverage }: Ranked, match: number, wordings: number): boolean {
  const { sure } = cutOffs;
  if (wordings > 1) return agreement * match * coverage ** 2 >= sure.match;
  return coverage >= sure.coverageAlone || agreement * match >= sure.matchOfOne * coverage;
}

export function gradeOf({ agreement, surplus, coverage }: Ranked, wordings: number): Grade | undefined {
  const { sure, maybe } = cutOffs;
  // A note on the same subject that is not an answer rarely covers any wording completely.
  if (wordings > 1) return agreement * coverage ** 4 >= sure.agreement ? "sure" : agreement >= maybe.agreement ? "maybe" : undefined;
  if ((surplus > sure.surplus && coverage >= sure.coverage) || coverage >= sure.coverageAlone) return "sure";
  return coverage >= maybe.coverage ? "maybe" : undefined;
}
