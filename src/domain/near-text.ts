import { tokens } from "../search/tokenizer.ts";

/** Words that change a sentence's meaning even if everything else is equal: numbers and negations. */
const turning = /\p{N}|^(?:no|not|never|none|cannot|without|.+n['’]t|nicht|nie|kein|keine|pas|sans|nunca|sin|не)$/u;

/** The numbers and negations of a text, sorted. */
export const turningWords = (text: string): string =>
  Array.from(text.toLowerCase().matchAll(/[\p{L}\p{N}\p{M}'’.]+/gu), ([run]) => run.replace(/(?<![\p{M}'’.])[\p{M}'’.]+$/u, ""))
    .filter((word) => turning.test(word))
    .sort()
    .join(" ");

/** The stems of a text's words, without common words. */
export const wordStems = (text: string): Set<string> => new Set(Array.from(tokens(text)).flatMap(({ term, role }) => (role === "word" || role === "characters" ? [term] : [])));

/** The intersection of two sets as a share of their union, from 0 to 1; undefined if both are empty. */
export function overlapOf(a: ReadonlySet<string>, b: ReadonlySet<string>): number | undefined {
  const all = new Set([...a, ...b]).size;
  return all === 0 ? undefined : (a.size + b.size - all) / all;
}
