import { findText, gradeOf } from "../../src/search/find-text.ts";
import { questionTerms } from "../../src/search/index-text.ts";
import type { Ranked } from "../../src/search/ranking.ts";
import { rank, termsOf } from "../../src/search/ranking.ts";
import { synonymsOf } from "../../src/search/synonyms.ts";
import type { Abilities } from "../../src/search/tokenizer.ts";
import { allAbilities } from "../../src/search/tokenizer.ts";
import type { NoteStore } from "./note-store.ts";
import { answersCounted } from "./score.ts";

export interface Variant {
  readonly name: string;
  /** How notes are indexed; absent: as in the product. */
  readonly abilities?: Abilities;
  ask(notes: NoteStore, question: string): Promise<readonly Ranked[]>;
}

/** The product as shipped, called the way the tools call it. */
export const product = {
  name: "as shipped",
  ask: async ({ store, areas }: NoteStore, question: string) => (await findText(store, { areas, question, limit: answersCounted })).hits,
} as const;

/** The product without one ability at a time, to show the contribution of each. */
export const ablations: readonly Variant[] = [
  without("stems", { abilities: { ...allAbilities, stems: false } }),
  without("parts of identifiers", { abilities: { ...allAbilities, parts: false } }),
  without("beginnings of words", { abilities: { ...allAbilities, beginnings: false } }),
  without("synonyms", { expand: () => [] }),
  without("cut-off", { cutOff: false }),
];

function without(name: string, { abilities, expand = synonymsOf, cutOff = true }: { abilities?: Abilities; expand?: typeof synonymsOf; cutOff?: boolean }): Variant {
  return {
    name: `without ${name}`,
    abilities,
    async ask({ store, areas }, question) {
      const wordings = [questionTerms(question, { ...(abilities ?? allAbilities), expand })];
      const answer = await store.search({ areas, terms: termsOf(wordings) });
      return rank(wordings, answer)
        .filter((hit) => !cutOff || gradeOf(hit, 1) !== undefined)
        .slice(0, answersCounted);
    },
  };
}
