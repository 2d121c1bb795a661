import type { SearchAnswer, SearchHit } from "../store/store.ts";

/** How much a term repeated in one note still adds, and how far long notes are discounted. */
const saturation = 1.2;
const lengthDiscount = 0.5;
/**
 * Rarity is judged as if the store held this many more notes that have none of the words: in a store of ten notes a word of one of them
 * is still telling, and a word of none does not drown the others.
 */
const imaginedNotes = 200;
/** One word of several may stand in a note by chance: alone it counts only this much towards coverage. */
const aloneShare = 0.5;
/** Scores closer than about this share are equal, and the newer note stands first. */
const tieShare = 0.02;

export interface Ranked {
  readonly key: string;
  /** Comparable within one answer only. */
  readonly score: number;
  /** How much of what was asked the note speaks of: matched weight of the question's subjects over all of it, rare ones counting more. 0 to 1. */
  readonly coverage: number;
  /** The terms of the question that were found, the most telling first. */
  readonly matched: readonly string[];
}

export interface QueryTerm {
  readonly term: string;
  /** 1 for what was asked; less for what only stands for it. */
  readonly weight: number;
  /** Terms of one subject are other ways to say the same; the best of them counts. Without one, a term helps to rank and was not asked for. */
  readonly subject: number | undefined;
}

/** The notes that cover enough of the question, best first. Written once, over counts that every engine gives alike, so the same question gets the same answer everywhere. */
export function rank(question: readonly QueryTerm[], answer: SearchAnswer, coverageMin = 0): Ranked[] {
  const averageLength = answer.documents === 0 ? 1 : Math.max(1, answer.totalLength / answer.documents);
  const documents = answer.documents + imaginedNotes;
  const rarities = question.map((_, i) => Math.log(1 + (documents - (answer.frequencies[i] ?? 0) + 0.5) / ((answer.frequencies[i] ?? 0) + 0.5)));
  const asked = askedBySubject(question, rarities);
  const askedInAll = asked.reduce((sum, rarity) => sum + rarity, 0);
  const gains = question.map(({ weight }, i) => weight * (rarities[i] as number));
  // A search looks at thousands of notes: plain loops over two arrays that are used again for each.
  const scored = new Float64Array(asked.length);
  const met = new Float64Array(asked.length);
  const weigh = (hit: SearchHit): { readonly hit: SearchHit; readonly score: number; readonly coverage: number } => {
    scored.fill(0);
    met.fill(0);
    const lengthFactor = saturation * (1 - lengthDiscount + (lengthDiscount * hit.length) / averageLength);
    let score = 0;
    for (let i = 0; i < gains.length; i += 1) {
      const found = (hit.weights[i] as number) / 100;
      if (found === 0) continue;
      const gain = gains[i] as number;
      const worth = (gain * found * (saturation + 1)) / (found + lengthFactor);
      const subject = question[i]?.subject;
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
    return { hit, score, coverage: askedInAll === 0 ? 0 : (covered / askedInAll) * share };
  };
  const matchedTerms = ({ weights }: SearchHit): string[] =>
    question
      .map(({ term }, i) => ({ term, gain: (weights[i] as number) > 0 ? (gains[i] as number) : 0 }))
      .filter(({ gain }) => gain > 0)
      .sort((a, b) => b.gain - a.gain)
      .map(({ term }) => term);
  return answer.hits
    .map(weigh)
    .filter(({ coverage }) => coverage >= coverageMin)
    .sort((a, b) => tier(b.score) - tier(a.score) || b.hit.revision - a.hit.revision || (a.hit.key < b.hit.key ? -1 : 1))
    .map(({ hit, score, coverage }) => ({ key: hit.key, score, coverage, matched: matchedTerms(hit) }));
}

/** What meeting a subject is worth: the rarity of the word that was asked, which is its term of the greatest weight. */
function askedBySubject(question: readonly QueryTerm[], rarities: readonly number[]): number[] {
  const heaviest: number[] = [];
  const asked: number[] = [];
  for (const [i, { weight, subject }] of question.entries()) {
    if (subject === undefined || weight <= (heaviest[subject] ?? 0)) continue;
    heaviest[subject] = weight;
    asked[subject] = weight * (rarities[i] as number);
  }
  // A subject whose every term already stood for another asks for nothing more.
  return Array.from(asked, (worth) => worth ?? 0);
}

const tier = (score: number): number => Math.round(Math.log(Math.max(score, Number.MIN_VALUE)) / tieShare);
