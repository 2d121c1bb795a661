import type { SearchAnswer, SearchHit } from "./store.ts";

type Weighed = Pick<SearchHit, "revision" | "weights">;
type Counts = Pick<SearchAnswer, "documents" | "frequencies">;

/** Hits in groups of about `size`, best first: hits with the most rare terms, then newer hits. Equal hits share a group, because no rule orders them. */
export function* groupsByRarity<Hit extends Weighed>(hits: readonly Hit[], { documents, frequencies }: Counts, size: number): Generator<readonly Hit[]> {
  const rarities = frequencies.map((frequency) => Math.log(1 + documents / (frequency + 1)));
  const weighed = hits.map((hit) => {
    let rarity = 0;
    for (let i = 0; i < rarities.length; i += 1) if ((hit.weights[i] as number) > 0) rarity += rarities[i] as number;
    return { hit, rarity };
  });
  weighed.sort((a, b) => b.rarity - a.rarity || b.hit.revision - a.hit.revision);
  for (let start = 0; start < weighed.length; ) {
    let end = Math.min(start + size, weighed.length);
    const last = weighed[end - 1] as (typeof weighed)[number];
    while (weighed[end]?.rarity === last.rarity && weighed[end]?.hit.revision === last.hit.revision) end += 1;
    yield weighed.slice(start, end).map(({ hit }) => hit);
    start = end;
  }
}

/** The first group is the same whichever engine found it. An engine may leave out hits of later groups if it returns as many as were requested. */
export function bestHits(answer: SearchAnswer, hitsMax: number | undefined): SearchAnswer {
  if (hitsMax === undefined || answer.hits.length <= hitsMax) return answer;
  const [best = []] = groupsByRarity(answer.hits, answer, hitsMax);
  return { ...answer, hits: best };
}
