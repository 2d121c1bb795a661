import { overlapOf, turningWords, wordStems } from "../near-text.ts";
import type { ResearchContent } from "./checkpoint.ts";

/** Questions and theses that share at least this fraction of their words count as almost the same. */
export const nearDuplicateOverlapMin = 0.8;

type Claim = Pick<ResearchContent, "coreQuestion" | "thesis">;

/** True for almost the same question with almost the same answer. A number or a negation that only one of them has makes them different. */
export const isNearDuplicate = (a: Claim, b: Claim): boolean => isAlmostEqual(a.coreQuestion, b.coreQuestion) && isAlmostEqual(a.thesis, b.thesis);

function isAlmostEqual(a: string, b: string): boolean {
  if (turningWords(a) !== turningWords(b)) return false;
  const overlap = overlapOf(wordStems(a), wordStems(b));
  return overlap === undefined ? a.trim() === b.trim() : overlap >= nearDuplicateOverlapMin;
}
