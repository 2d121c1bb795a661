import { groupsByRarity } from "../store/best-hits.ts";
import { essentialTerms } from "../store/engine-rules.ts";
import { limits } from "../store/limits.ts";
import type { SearchHit } from "../store/store.ts";
import { revisionAt } from "./log-position.ts";

/** A term in a document. The document is identified by the position of its entry's log row. */
export type Posting = readonly [place: number, weight: number, length: number, ...rest: unknown[]];

interface Candidate {
  readonly length: number;
  /** One weight per query term. */
  readonly weights: number[];
}

/** Chooses the documents that a search considers, and the weights that it must look up for them. */
export class SearchCandidates {
  /** Indexes of the query terms that choose candidates. For each of them, the newest `limits.searchCandidatesMax` postings of every area are read. */
  readonly essential: readonly number[];
  readonly #frequencies: readonly number[];
  readonly #candidates = new Map<number, Candidate>();

  /** `frequencies`: for each query term, the number of documents that contain it. */
  constructor(frequencies: readonly number[]) {
    this.#frequencies = frequencies;
    this.essential = essentialTerms(frequencies);
  }

  /** `postings`: the postings of this essential term, newest first within each area. */
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
   * Indexes of the terms whose weights must be looked up for each candidate: the postings of a common term are never walked as a whole. This includes an essential
   * term if it has more postings than were read.
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

  /** Candidates in groups, best first, each about as large as the number of hits wanted. A single group if all hits are wanted. */
  *groups(documents: number, hitsMax: number | undefined): Generator<readonly number[]> {
    const all = Array.from(this.#candidates, ([logPosition, { weights }]) => ({ logPosition, revision: revisionAt(logPosition), weights }));
    if (hitsMax === undefined || all.length <= hitsMax) yield this.places;
    else for (const group of groupsByRarity(all, { documents, frequencies: this.#frequencies }, hitsMax)) yield group.map(({ logPosition }) => logPosition);
  }

  hit(logPosition: number, key: string): SearchHit {
    return { key, revision: revisionAt(logPosition), ...(this.#candidates.get(logPosition) as Candidate) };
  }
}
