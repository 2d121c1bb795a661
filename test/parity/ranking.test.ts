import { beforeAll, describe, expect, test } from "vitest";
import type { Engine, SearchAnswer } from "../../src/store/store.ts";
import { firstDifference } from "./first-difference.ts";
import type { Ranking } from "./rankings.ts";
import { notes, openModel, questions, rankAll, testRankings } from "./rankings.ts";

const oneInThree = questions.filter((_, i) => i % 3 === 0);

let corpus: Awaited<ReturnType<typeof openModel>>;
let model: readonly Ranking[];
beforeAll(async () => {
  corpus = await openModel();
  model = await rankAll(corpus.engine, corpus.clock, questions);
});

test("the corpus has notes and questions of every kind, most of which find something", () => {
  expect(notes.length).toBeGreaterThan(500);
  expect(new Set(model.map(({ kind }) => kind)).size).toBeGreaterThan(12);
  expect(new Set(oneInThree.map(({ kind }) => kind))).toEqual(new Set(questions.map(({ kind }) => kind)));
  expect(model.filter(({ hits }) => (hits as readonly unknown[]).length > 3).length).toBeGreaterThan(500);
});

// All of them in ranking.campaign.ts.
testRankings(oneInThree);

/** Faults that an index could have; each must show in some ranking. */
const faults: Readonly<Record<string, (answer: SearchAnswer) => SearchAnswer>> = {
  "counts one document too many": (answer) => ({ ...answer, documents: answer.documents + 1 }),
  "forgets one hit in fifty": (answer) => ({ ...answer, hits: answer.hits.filter((_, i) => i % 50 !== 49) }),
  "gives another length": (answer) => ({ ...answer, hits: answer.hits.map((hit) => ({ ...hit, length: hit.length + 1 })) }),
  "does not count a term's documents anew": (answer) => ({ ...answer, frequencies: answer.frequencies.map((frequency) => frequency + 1) }),
  "gives an older revision": (answer) => ({ ...answer, hits: answer.hits.map((hit) => ({ ...hit, revision: -hit.revision })) }),
};

describe("the rankings show a search that", () => {
  const asked = questions.slice(0, 60);
  for (const [name, fault] of Object.entries(faults))
    test(name, async () => {
      const { engine, clock } = corpus;
      const faulty = Object.create(engine, { search: { value: async (...query: Parameters<Engine["search"]>) => fault(await engine.search(...query)) } }) as Engine;
      expect(firstDifference(await rankAll(faulty, clock, asked), model.slice(0, asked.length))).toBeDefined();
    });
});
