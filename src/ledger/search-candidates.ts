import { essentialTerms } from "../store/engine-rules.ts";
import { limits } from "../store/limits.ts";
import type { SearchHit } from "../store/store.ts";
import { revisionAt } from "./log-position.ts";

/** A term in a document, which is named by where the log row of its entry is. */
export type Posting = readonly [place: number, weight: number, length: number, ...rest: unknown[]];

interface Candidate {
  readonly length: number;
  /** By term of the query. */
  readonly weights: number[];
}

/** Which documents a search looks at, and what it must look up of them. */
export class SearchCandidates {
  /** Positions of the terms that choose: the newest `limits.searchCandidatesMax` postings of each are to be read, of every area. */
  readonly essential: readonly number[];
  readonly #frequencies: readonly number[];
  readonly #candidates = new Map<number, Candidate>();

  /** `frequencies`: by term of the query, in how many documents it stands. */
  constructor(frequencies: readonly number[]) {
    this.#frequencies = frequencies;
    this.essential = essentialTerms(frequencies);
  }

  /** `postings` of the essential term: newest first within each area. */
  choose(term: number, postings: readonly Posting[]): void {
    const newestFirst = postings.toSorted(([a], [b]) => b - a);
    for (const [logPosition, weight, length] of newestFirst.slice(0, limits.searchCandidatesMax)) {
      const candidate = this.#candidates.get(logPosition) ?? { length, weights: this.#frequencies.map(() => 0) };
      candidate.weights[term] = weight;
      this.#candidates.set(logPosition, candidate);
    }
  }

  get size(): number {
    return this.#candidates.size;
  }

  get places(): number[] {
    return [...this.#candidates.keys()];
  }

  /**
   * Positions of the terms whose weights are to be looked up, candidate by candidate: the postings of a common term are never walked as a whole.
   * An essential term may have more of them than chose.
   */
  get unknown(): number[] {
    if (this.#candidates.size === 0) return [];
    const isKnown = (frequency: number, i: number): boolean => frequency === 0 || (frequency <= limits.searchCandidatesMax && this.essential.includes(i));
    return this.#frequencies.flatMap((frequency, i) => (isKnown(frequency, i) ? [] : [i]));
  }

  weigh(logPosition: number, term: number, weight: number): void {
    const candidate = this.#candidates.get(logPosition);
    if (candidate !== undefined) candidate.weights[term] = weight;
  }

  hit(logPosition: number, key: string): SearchHit {
    return { key, revision: revisionAt(logPosition), ...(this.#candidates.get(logPosition) as Candidate) };
  }
}
