import { tokens } from "../search/tokenizer.ts";

/**
 * Explains a match in words that people recognise: the words of the query or, where a synonym matched, the word of the text, marked as such.
 * The index terms themselves are stems and word fragments, which mean little to a reader.
 */
export function matchedWords(matched: readonly string[], question: string, text: string): readonly string[] {
  const asked = wordsByTerm(question);
  const foreign = matched.some((term) => !asked.has(term)) ? wordsByTerm(text) : asked;
  const wordOf = (term: string): string => asked.get(term) ?? (foreign.has(term) ? `${foreign.get(term)} (synonym)` : term);
  return [...new Set(matched.map(wordOf))];
}

function wordsByTerm(text: string): ReadonlyMap<string, string> {
  const words = new Map<string, string>();
  for (const [word] of text.matchAll(/[\p{L}\p{N}\p{M}_'’]+/gu)) {
    // Lower-cased once per word: in a script without spaces, a word has as many terms as characters.
    const lower = word.toLowerCase();
    for (const { term } of tokens(word)) if (!words.has(term)) words.set(term, lower);
  }
  return words;
}
