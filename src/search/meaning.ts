import type { Hit } from "./find-text.ts";
import type { Meaning } from "./vector-search.ts";

/** A hit with its rank by words and by meaning. */
export interface WeighedHit extends Hit {
  /** Comparable only within one answer. */
  readonly together: number;
  /** The hit is included for its meaning: its words alone would not have been enough. */
  readonly byMeaning: boolean;
}

/** The value of one unit of rarity above chance, in cosines. The two are added, because ranks would give a chance hit the weight of a sure one. */
const surplusWeight = 0.05;
/** The maximum number of texts included only for their meaning. */
const nearestMax = 10;

/**
 * The only place that combines words and meaning. Meaning finds texts and orders them, but never makes an answer: a model places a question about the same
 * subject as near as a paraphrase. A text that is not an answer by its words is at most worth showing to a reader who can judge it.
 */
export function weighByMeaning(hits: readonly Hit[], { nearness, chance }: Meaning, accepts: (key: string) => boolean): readonly WeighedHit[] {
  const known = new Set(hits.map(({ key }) => key));
  const unworded = nearness.nearest(nearestMax, (key) => accepts(key) && !known.has(key)).map(({ key }): Hit => ({ key, ...nothing }));
  return [...hits, ...unworded]
    .map((hit): WeighedHit => {
      const cosine = nearness.of(hit.key)?.cosine ?? 0;
      const byMeaning = hit.grade === undefined && cosine > chance;
      return { ...hit, grade: byMeaning ? "maybe" : hit.grade, together: cosine + surplusWeight * hit.surplus, byMeaning };
    })
    .filter(({ key, grade }) => grade !== undefined || known.has(key));
}

const nothing = { score: 0, coverage: 0, surplus: 0, agreement: 0, matched: [], grade: undefined } as const;
