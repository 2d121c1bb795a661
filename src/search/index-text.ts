import type { IndexedText } from "../store/store.ts";
import type { QueryTerm } from "./ranking.ts";
import { tokens } from "./tokenizer.ts";

export interface Field {
  readonly text: string;
  /** 1 for running text; more where a word says more, as in a title or a keyword. */
  readonly weight: number;
}

/** Terms one note may have in the index; a longer note is found by the ones that stand first. */
const termsMax = 2_000;
const questionTermsMax = 64;

/** What a put carries so that its entry can be found: each term once, with its weight in hundredths. */
export function indexText(area: string, fields: readonly Field[]): IndexedText {
  const weights = new Map<string, number>();
  let length = 0;
  for (const field of fields)
    for (const { term, weight } of tokens(field.text)) {
      if (weight === 1) length += 1;
      if (weights.size >= termsMax && !weights.has(term)) continue;
      weights.set(term, (weights.get(term) ?? 0) + weight * field.weight);
    }
  return { area, length, terms: Array.from(weights, ([term, weight]): [string, number] => [term, Math.round(weight * 100)]) };
}

/** The terms of a question, each once, at its highest weight. Search syntax has no meaning: it is text like any other. */
export function questionTerms(question: string): QueryTerm[] {
  const weights = new Map<string, number>();
  for (const { term, weight } of tokens(question)) {
    weights.set(term, Math.max(weights.get(term) ?? 0, weight));
    if (weights.size >= questionTermsMax) break;
  }
  return Array.from(weights, ([term, weight]) => ({ term, weight }));
}
