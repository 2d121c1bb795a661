import type { Store } from "../store/store.ts";
import { currentArea, formerAreas } from "./index-areas.ts";
import { raritiesOf } from "./ranking.ts";
import { tokens } from "./tokenizer.ts";

export interface Sharing {
  readonly key: string;
  /** The rare terms that both texts contain, rarest first. */
  readonly terms: readonly string[];
}

/** The maximum number of terms to search for, and of hits to examine. */
const looked = { termsMax: 96, hitsMax: 40 } as const;
/** A term is rare if at most this many texts contain it, and at most this share of all texts (but two texts are always allowed). */
const rare = { textsMax: 8, share: 0.25 } as const;

/** Texts that share a rare term with this one, those with the rarest shared terms first. */
export async function findSharing(store: Store, { areas, text }: { readonly areas: readonly string[]; readonly text: string }): Promise<readonly Sharing[]> {
  const words = Array.from(tokens(text)).flatMap(({ term, role }) => (role === "word" || role === "whole" ? [term] : []));
  const terms = [...new Set(words)].slice(0, looked.termsMax);
  if (terms.length === 0) return [];
  const answer = await store.search({ areas: areas.flatMap((area) => [currentArea(area), ...formerAreas(area)]), terms, hitsMax: looked.hitsMax });
  const rarities = raritiesOf(answer);
  const textsMax = Math.min(rare.textsMax, Math.max(2, answer.documents * rare.share));
  const sharing = answer.hits.map(({ key, revision, weights }) => {
    const shared = terms
      .map((term, i) => ({ term, rarity: (weights[i] as number) > 0 && (answer.frequencies[i] as number) <= textsMax ? (rarities[i] as number) : 0 }))
      .filter(({ rarity }) => rarity > 0)
      .sort((a, b) => b.rarity - a.rarity);
    return { key, revision, terms: shared.map(({ term }) => term), rarity: shared.reduce((sum, { rarity }) => sum + rarity, 0) };
  });
  return sharing.filter(({ rarity }) => rarity > 0).sort((a, b) => b.rarity - a.rarity || b.revision - a.revision);
}
