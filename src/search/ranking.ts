import type { SearchAnswer } from "../store/store.ts";

/** How much a term repeated in one note still adds, and how far long notes are discounted: the usual values of BM25. */
const saturation = 1.2;
const lengthDiscount = 0.75;

export interface Ranked {
  readonly key: string;
  /** Comparable within one answer only. */
  readonly score: number;
  /** How much of what was asked the note speaks of: matched weight of the question's terms over all of it, rare terms counting more. 0 to 1. */
  readonly coverage: number;
  /** The terms of the question that were found, the most telling first. */
  readonly matched: readonly string[];
}

export interface QueryTerm {
  readonly term: string;
  readonly weight: number;
}

/** Best first. Written once, over counts that every engine gives alike, so the same question gets the same answer everywhere. */
export function rank(question: readonly QueryTerm[], answer: SearchAnswer): Ranked[] {
  const averageLength = answer.documents === 0 ? 1 : answer.totalLength / answer.documents;
  const rarity = question.map((_, i) => Math.log(1 + (answer.documents - (answer.frequencies[i] ?? 0) + 0.5) / ((answer.frequencies[i] ?? 0) + 0.5)));
  const asked = question.reduce((sum, { weight }, i) => sum + weight * (rarity[i] as number), 0);
  return answer.hits
    .map((hit) => {
      let score = 0;
      let covered = 0;
      const matched: { term: string; gain: number }[] = [];
      for (const [i, { term, weight }] of question.entries()) {
        const found = (hit.weights[i] ?? 0) / 100;
        if (found === 0) continue;
        const gain = weight * (rarity[i] as number);
        const dampened = (found * (saturation + 1)) / (found + saturation * (1 - lengthDiscount + (lengthDiscount * hit.length) / averageLength));
        score += gain * dampened;
        covered += gain * Math.min(1, found);
        matched.push({ term, gain });
      }
      return { key: hit.key, score, coverage: asked === 0 ? 0 : covered / asked, matched: matched.sort((a, b) => b.gain - a.gain).map(({ term }) => term) };
    })
    .sort((a, b) => b.score - a.score || (a.key < b.key ? 1 : -1));
}
