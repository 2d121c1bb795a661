import { tokens } from "../../search/tokenizer.ts";
import type { ResearchContent } from "./checkpoint.ts";

/** Questions and theses that share this much of all their words are told to say almost the same. */
export const nearDuplicateOverlapMin = 0.8;

type Claim = Pick<ResearchContent, "coreQuestion" | "thesis">;

/** Almost the same question with almost the same answer. A number or a negation that only one of them has makes them different. */
export const isNearDuplicate = (a: Claim, b: Claim): boolean => isAlmostEqual(a.coreQuestion, b.coreQuestion) && isAlmostEqual(a.thesis, b.thesis);

function isAlmostEqual(a: string, b: string): boolean {
  if (turningWords(a) !== turningWords(b)) return false;
  const left = termsOf(a);
  const right = termsOf(b);
  const all = new Set([...left, ...right]).size;
  const shared = left.size + right.size - all;
  return all === 0 ? a.trim() === b.trim() : shared / all >= nearDuplicateOverlapMin;
}

/** Words that turn a sentence into another one however much the rest agrees: numbers and negations. */
const turning = /\p{N}|^(?:no|not|never|none|cannot|without|.+n['’]t|nicht|nie|kein|keine|pas|sans|nunca|sin|не)$/u;

const turningWords = (text: string): string =>
  Array.from(text.toLowerCase().matchAll(/[\p{L}\p{N}\p{M}'’.]+/gu), ([run]) => run.replace(/(?<![\p{M}'’.])[\p{M}'’.]+$/u, ""))
    .filter((word) => turning.test(word))
    .sort()
    .join(" ");

const termsOf = (text: string): Set<string> => new Set(Array.from(tokens(text)).flatMap(({ term, role }) => (role === "word" || role === "characters" ? [term] : [])));
