import type { SearchAnswer, SearchHit } from "../store/store.ts";

/** How much a repeated term in one note still adds, and how much long notes are discounted. */
const saturation = 1.2;
const lengthDiscount = 0.5;
/**
 * Rarity is computed as if the store had this many additional notes without any of the words. In a store of ten notes, a word of one of them
 * is then still telling, and a word of none does not outweigh the others.
 */
const imaginedNotes = 200;
/** One word of several may occur in a note by chance: alone it counts only this much towards coverage. */
const aloneShare = 0.5;
/** Scores closer than about this share are equal, and the newer note comes first. */
const tieShare = 0.02;

export interface Ranked {
  readonly key: string;
  /** Comparable only within one answer. */
  readonly score: number;
  /** How much of the best wording the note covers: the matched weight of its subjects divided by that of all subjects. Rare ones count more. 0 to 1. */
  readonly coverage: number;
  /** How far the rarity of the words that the note covers exceeds chance among this many notes, for the best wording. */
  readonly surplus: number;
  /**
   * The surplus as a multiple of chance, weighted by the square of the coverage; the mean over the wordings. A chance match rarely
   * occurs in several independent wordings, and a note on the same subject leaves part of each uncovered.
   */
  readonly agreement: number;
  /** The matched terms of the question, most telling first. */
  readonly matched: readonly string[];
}

export interface QueryTerm {
  readonly term: string;
  /** 1 for a word of the question; less for a term that only represents it. */
  readonly weight: number;
  /** Terms of one subject are alternatives, and the best of them counts. A term without a subject only helps to rank; the question does not require it. */
  readonly subject: number | undefined;
}

/** The terms of all wordings together that the engine searches for, each once. */
export const termsOf = (wordings: readonly (readonly QueryTerm[])[]): readonly string[] => [...new Set(wordings.flat().map(({ term }) => term))];

/**
 * Best first. `answer` must be for `termsOf(wordings)`. Implemented once, on counts that are the same in every engine, so the same question gets the same answer
 * everywhere.
 */
export function rank(wordings: readonly (readonly QueryTerm[])[], answer: SearchAnswer): Ranked[] {
  const averageLength = answer.documents === 0 ? 1 : Math.max(1, answer.totalLength / answer.documents);
  const chance = chanceOf(answer);
  const terms = termsOf(wordings);
  const rarities = raritiesOf(answer);
  const weighers = wordings.map((wording) => openWeigher(wording, terms, rarities));
  const best = new Float64Array(terms.length);
  for (const { gains, positions } of weighers) for (const [n, i] of positions.entries()) best[i] = Math.max(best[i] as number, gains[n] as number);

  const weigh = (hit: SearchHit): { readonly hit: SearchHit } & Pick<Ranked, "score" | "coverage" | "surplus" | "agreement"> => {
    const lengthFactor = saturation * (1 - lengthDiscount + (lengthDiscount * hit.length) / averageLength);
    let score = 0;
    let coverage = 0;
    let surplus = 0;
    let agreement = 0;
    for (const weigher of weighers) {
      const weighed = weigher.weigh(hit, lengthFactor);
      score += weighed.score;
      coverage = Math.max(coverage, weighed.coverage);
      const above = Math.max(weighed.covered - chance, 0);
      surplus = Math.max(surplus, above);
      agreement += (above / chance) * weighed.coverage ** 2;
    }
    return { hit, score: score / weighers.length, coverage, surplus, agreement: agreement / weighers.length };
  };
  const matchedTerms = ({ weights }: SearchHit): string[] =>
    terms
      .map((term, i) => ({ term, gain: (weights[i] as number) > 0 ? (best[i] as number) : 0 }))
      .filter(({ gain }) => gain > 0)
      .sort((a, b) => b.gain - a.gain)
      .map(({ term }) => term);
  return answer.hits
    .map(weigh)
    .sort((a, b) => tier(b.score) - tier(a.score) || b.hit.revision - a.hit.revision || (a.hit.key < b.hit.key ? -1 : 1))
    .map(({ hit, ...weighed }) => ({ key: hit.key, ...weighed, matched: matchedTerms(hit) }));
}

/** What a note covers by chance among this many, in units of rarity. */
export const chanceOf = ({ documents }: SearchAnswer): number => Math.log(documents + imaginedNotes);

/** How telling each term is; a term that only one note contains is worth about as much as chance. */
export function raritiesOf({ documents, frequencies }: SearchAnswer): readonly number[] {
  const all = documents + imaginedNotes;
  return frequencies.map((frequency) => Math.log(1 + (all - frequency + 0.5) / (frequency + 0.5)));
}

/**
 * How well the best of some texts matches the best of the wordings: the common part relative to both together. 0 to 1. For stored questions, each of which
 * is compared as a whole: words of several questions that coincide are not a match. The rarity of words that only the text contains is unknown; they are
 * assumed to have the average rarity of the question's words.
 */
export function openMatcher(wordings: readonly (readonly QueryTerm[])[], answer: SearchAnswer): (texts: readonly ReadonlySet<string>[]) => number {
  const terms = termsOf(wordings);
  const rarities = raritiesOf(answer);
  const weighers = wordings.map((wording) => openWeigher(wording, terms, rarities));
  return (texts) => {
    let best = 0;
    for (const text of texts) {
      const hit: SearchHit = { key: "", revision: 0, length: 1, weights: terms.map((term) => (text.has(term) ? 100 : 0)) };
      for (const { weigh, askedInAll, subjects } of weighers) best = Math.max(best, (2 * weigh(hit, 1).covered) / (askedInAll + (text.size * askedInAll) / Math.max(1, subjects)));
    }
    return best;
  };
}

interface Weighed {
  readonly score: number;
  readonly coverage: number;
  readonly covered: number;
}

/** For one wording. A search weighs thousands of notes, so this uses plain loops over two arrays that are reused for each note. */
function openWeigher(wording: readonly QueryTerm[], terms: readonly string[], rarityOf: readonly number[]) {
  const positions = wording.map(({ term }) => terms.indexOf(term));
  const rarities = positions.map((i) => rarityOf[i] as number);
  const asked = askedBySubject(wording, rarities);
  const askedInAll = asked.reduce((sum, rarity) => sum + rarity, 0);
  const gains = wording.map(({ weight }, n) => weight * (rarities[n] as number));
  const scored = new Float64Array(asked.length);
  const met = new Float64Array(asked.length);
  const weigh = (hit: SearchHit, lengthFactor: number): Weighed => {
    scored.fill(0);
    met.fill(0);
    let score = 0;
    for (let n = 0; n < gains.length; n += 1) {
      const found = (hit.weights[positions[n] as number] as number) / 100;
      if (found === 0) continue;
      const gain = gains[n] as number;
      const worth = (gain * found * (saturation + 1)) / (found + lengthFactor);
      const subject = wording[n]?.subject;
      if (subject === undefined) score += worth;
      else {
        scored[subject] = Math.max(scored[subject] as number, worth);
        met[subject] = Math.max(met[subject] as number, Math.min(gain, asked[subject] as number));
      }
    }
    let covered = 0;
    let subjectsMet = 0;
    for (let subject = 0; subject < asked.length; subject += 1) {
      score += scored[subject] as number;
      covered += met[subject] as number;
      if ((met[subject] as number) > 0) subjectsMet += 1;
    }
    const share = subjectsMet === 1 && asked.length > 1 ? aloneShare : 1;
    return { score, covered, coverage: askedInAll === 0 ? 0 : (covered / askedInAll) * share };
  };
  return { positions, gains, weigh, askedInAll, subjects: asked.length };
}

/** The value of a match for each subject: the rarity of the question's own word, which is the subject's term with the greatest weight. */
function askedBySubject(question: readonly QueryTerm[], rarities: readonly number[]): number[] {
  const heaviest: number[] = [];
  const asked: number[] = [];
  for (const [i, { weight, subject }] of question.entries()) {
    if (subject === undefined || weight <= (heaviest[subject] ?? 0)) continue;
    heaviest[subject] = weight;
    asked[subject] = weight * (rarities[i] as number);
  }
  // A subject whose terms all belong to other subjects adds nothing.
  return Array.from(asked, (worth) => worth ?? 0);
}

const tier = (score: number): number => Math.round(Math.log(Math.max(score, Number.MIN_VALUE)) / tieShare);
