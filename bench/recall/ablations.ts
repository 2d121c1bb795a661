import { findText, relevantCoverageMin } from "../../src/search/find-text.ts";
import { questionTerms } from "../../src/search/index-text.ts";
import { rank } from "../../src/search/ranking.ts";
import { synonymsOf } from "../../src/search/synonyms.ts";
import type { Abilities } from "../../src/search/tokenizer.ts";
import { allAbilities } from "../../src/search/tokenizer.ts";
import type { NoteStore } from "./note-store.ts";
import { answersCounted } from "./score.ts";

export interface Variant {
  readonly name: string;
  /** How notes are indexed; absent: as the product does. */
  readonly abilities?: Abilities;
  ask(notes: NoteStore, question: string): ReturnType<typeof product.ask>;
}

/** What is shipped, by the way the tools take. */
export const product = {
  name: "as shipped",
  ask: async ({ store, areas }: NoteStore, question: string) => (await findText(store, { areas, question, limit: answersCounted })).hits,
} as const;

/** The product without one of its abilities each, to show what that one is worth. */
export const ablations: readonly Variant[] = [
  without("stems", { abilities: { ...allAbilities, stems: false } }),
  without("parts of identifiers", { abilities: { ...allAbilities, parts: false } }),
  without("beginnings of words", { abilities: { ...allAbilities, beginnings: false } }),
  without("synonyms", { expand: () => [] }),
  without("cut-off", { coverageMin: 0 }),
];

function without(
  name: string,
  { abilities, expand = synonymsOf, coverageMin = relevantCoverageMin }: { abilities?: Abilities; expand?: typeof synonymsOf; coverageMin?: number },
): Variant {
  return {
    name: `without ${name}`,
    abilities,
    async ask({ store, areas }, question) {
      const terms = questionTerms(question, { ...(abilities ?? allAbilities), expand });
      const answer = await store.search({ areas, terms: terms.map(({ term }) => term) });
      return rank(terms, answer, coverageMin).slice(0, answersCounted);
    },
  };
}
