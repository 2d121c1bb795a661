import { expect, test } from "vitest";
import { logPositionOf } from "../../src/ledger/log-position.ts";
import type { Posting } from "../../src/ledger/search-candidates.ts";
import { SearchCandidates } from "../../src/ledger/search-candidates.ts";
import { limits } from "../../src/store/limits.ts";

const max = limits.searchCandidatesMax;
const postings = (count: number, from = 1): Posting[] => Array.from({ length: count }, (_, i) => [logPositionOf(from + count - 1 - i), 100, 7]);

test("the rarest terms choose; a common one is only looked up among what they chose", () => {
  const candidates = new SearchCandidates([3, max + 1, 0]);
  expect(candidates.essential).toEqual([0]);
  candidates.choose(0, postings(3));
  expect(candidates.unknown).toEqual([1]);
  candidates.weigh(logPositionOf(2), 1, 50);
  candidates.weigh(logPositionOf(99), 1, 50);
  expect(candidates.hit(logPositionOf(2), "k")).toEqual({ key: "k", revision: 2, length: 7, weights: [100, 50, 0] });
  expect(candidates.size).toBe(3);
});

test("a term with more postings than are read brings the newest of all areas, and is looked up for the others", () => {
  const candidates = new SearchCandidates([1, 2 * max]);
  expect(candidates.essential).toEqual([0]);
  const alone = new SearchCandidates([2 * max]);
  alone.choose(0, [...postings(max, 1), ...postings(max, max + 1)]);
  expect(alone.size).toBe(max);
  expect(Math.min(...alone.places)).toBe(logPositionOf(max + 1));
  expect(alone.unknown).toEqual([0]);
});

test("where no term is found, nothing is looked up", () => {
  const candidates = new SearchCandidates([0, 0]);
  expect([candidates.essential, candidates.places, candidates.unknown]).toEqual([[], [], []]);
});
