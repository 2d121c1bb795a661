import { tokens } from "../search/tokenizer.ts";

/**
 * Why a text was found, in words that people know: those of the question, and where a synonym stands for one of them, that of the text, marked.
 * Terms are stems and pieces, which nobody wrote.
 */
export function matchedWords(matched: readonly string[], question: string, text: string): readonly string[] {
  const asked = wordsByTerm(question);
  const foreign = matched.some((term) => !asked.has(term)) ? wordsByTerm(text) : asked;
  const wordOf = (term: string): string => asked.get(term) ?? (foreign.has(term) ? `${foreign.get(term)} (by a synonym)` : term);
  return [...new Set(matched.map(wordOf))];
}

function wordsByTerm(text: string): ReadonlyMap<string, string> {
  const words = new Map<string, string>();
  for (const [word] of text.matchAll(/[\p{L}\p{N}\p{M}_'’]+/gu)) {
    // Once for each word: one in a script without spaces has as many terms as characters.
    const lower = word.toLowerCase();
    for (const { term } of tokens(word)) if (!words.has(term)) words.set(term, lower);
  }
  return words;
}
