import { tokens } from "../search/tokenizer.ts";

/** Words that turn a sentence into another one however much the rest agrees: numbers and negations. */
const turning = /\p{N}|^(?:no|not|never|none|cannot|without|.+n['’]t|nicht|nie|kein|keine|pas|sans|nunca|sin|не)$/u;

/** The numbers and negations of a text, in a fixed order. */
export const turningWords = (text: string): string =>
  Array.from(text.toLowerCase().matchAll(/[\p{L}\p{N}\p{M}'’.]+/gu), ([run]) => run.replace(/(?<![\p{M}'’.])[\p{M}'’.]+$/u, ""))
    .filter((word) => turning.test(word))
    .sort()
    .join(" ");

/** The words of a text by their stems, without those that every text has. */
export const wordStems = (text: string): Set<string> => new Set(Array.from(tokens(text)).flatMap(({ term, role }) => (role === "word" || role === "characters" ? [term] : [])));

/** What two sets have in common as a share of what either has: 0 to 1; undefined when both are empty. */
export function overlapOf(a: ReadonlySet<string>, b: ReadonlySet<string>): number | undefined {
  const all = new Set([...a, ...b]).size;
  return all === 0 ? undefined : (a.size + b.size - all) / all;
}
