import type { IndexedText } from "../store/store.ts";
import { currentArea } from "./index-areas.ts";
import type { QueryTerm } from "./ranking.ts";
import { synonymsOf } from "./synonyms.ts";
import type { Abilities, TextToken } from "./tokenizer.ts";
import { allAbilities, tokens } from "./tokenizer.ts";

export interface IndexedField {
  readonly text: string;
  /** 1 for running text; more for words that say more, as in a title or a keyword. */
  readonly weight: number;
}

/** The maximum number of index terms of one note; a longer note is found by its first ones. */
const termsMax = 2_000;
const questionTermsMax = 96;
const beginningWeight = 0.5;
const synonymWeight = 0.7;
const wholeWeight = 0.5;

/** The index data of a put, which makes its entry findable: each term once, with its weight in hundredths. */
export function indexText(area: string, fields: readonly IndexedField[], abilities: Abilities = allAbilities): IndexedText {
  const weights = new Map<string, number>();
  let length = 0;
  for (const field of fields)
    for (const { term, weight, role } of tokens(field.text, abilities)) {
      if (role === "word" || role === "characters") length += 1;
      if (weights.size >= termsMax && !weights.has(term)) continue;
      weights.set(term, (weights.get(term) ?? 0) + weight * field.weight);
    }
  return { area: currentArea(area), length, terms: Array.from(weights, ([term, weight]): [string, number] => [term, Math.round(weight * 100)]) };
}

export interface QuestionAbilities extends Abilities {
  /** Synonyms of a word, both as stems. */
  readonly expand: (stem: string) => readonly string[];
}

/**
 * The terms of a question, each once. There is no search syntax: it is treated as plain text.
 * A question is a list of subjects, one per word. The word itself matches a subject; its beginning or a synonym matches it with less weight.
 */
export function questionTerms(question: string, abilities: QuestionAbilities = { ...allAbilities, expand: synonymsOf }): QueryTerm[] {
  const found = [...tokens(question, abilities)];
  const byTerm = new Map<string, QueryTerm>();
  const add = (term: QueryTerm): void => {
    const known = byTerm.get(term.term);
    if (known === undefined ? byTerm.size < questionTermsMax : known.weight < term.weight) byTerm.set(term.term, term);
  };
  // The question's own words come before the terms they imply, so that a long question keeps its own words when it reaches the limit.
  const partsOf = new Map<number, TextToken[]>();
  for (const token of found) {
    if (token.role !== "part") continue;
    const parts = partsOf.get(token.word);
    if (parts === undefined) partsOf.set(token.word, [token]);
    else parts.push(token);
  }
  const subjects = new Map<string, number>();
  const subjectOf = (term: string): number => {
    const known = subjects.get(term) ?? subjects.size;
    subjects.set(term, known);
    return known;
  };
  const ofWord = new Map<number, number>();
  for (const { term, weight, role, word } of found) {
    if (role === "beginning") continue;
    const isNamed = role === "whole" || (role === "word" && saysEnough(partsOf.get(word), term));
    // The name as a whole only helps to rank: a note with its parts written separately means the same.
    if (isNamed) add({ term, weight: wholeWeight, subject: undefined });
    else if (role !== "part" || (partsOf.get(word)?.length ?? 0) > 1) {
      const subject = subjectOf(term);
      if (role === "word") ofWord.set(word, subject);
      add({ term, weight: role === "characters" ? weight : 1, subject });
    }
  }
  for (const { term, role, word } of found) {
    const subject = ofWord.get(word);
    if (role === "beginning" && subject !== undefined) add({ term, weight: beginningWeight, subject });
  }
  for (const [term, subject] of subjects) for (const other of abilities.expand(term)) add({ term: other, weight: synonymWeight, subject });
  return [...byTerm.values()];
}

/** Whether the parts are words rather than fragments of a number such as 4f2a9c1. */
const saysEnough = (parts: readonly { readonly term: string }[] | undefined, whole: string): boolean =>
  parts !== undefined && parts.length > 1 && parts.reduce((sum, { term }) => sum + term.length, 0) >= whole.length / 2;
