import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Question } from "../../bench/recall/labelled-set.ts";
import { readLabelledSet } from "../../bench/recall/labelled-set.ts";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { searchHits } from "../../src/search/find-text.ts";
import { indexText } from "../../src/search/index-text.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { prepareCommit } from "../../src/store/prepare-commit.ts";
import type { Commit, Engine, SearchAnswer } from "../../src/store/store.ts";
import { engines } from "../support/engines.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { manualClock } from "../support/manual-clock.ts";
import { firstDifference } from "./first-difference.ts";

const set = readLabelledSet(join("bench", "recall", "set"));
const namespace = "ranking";
const area = "notes";
/** Every written note with its questions, and some of the many made-up ones around them. */
const notes = set.notes.filter(({ id }, i) => id.startsWith("note-") || i % 5 === 0);
const batchCommits = 200;

const put = (id: string, text: string, ttlMs?: number): Commit => ({
  writes: [{ op: "put", key: `note/${id}`, value: text, ttlMs, index: indexText(area, [{ text, weight: 1 }]) }],
  writer: "tester",
});

/** Saved, and then some of them replaced, expired, deleted, hidden from search and saved again: an index that only ever grows would not do. */
async function fill(engine: Engine, clock: ManualClock): Promise<void> {
  const commits = notes.map(({ id, text }, i) => put(id, text, i % 9 === 3 ? 60_000 : undefined));
  for (const [i, { id, text }] of notes.entries()) {
    if (i % 9 === 0) commits.push(put(id, notes[(i + 4) % notes.length]?.text ?? text));
    if (i % 9 === 1) commits.push({ writes: [{ op: "delete", key: `note/${id}` }], writer: "tester" });
    if (i % 9 === 2) commits.push({ writes: [{ op: "put", key: `note/${id}`, value: text }], writer: "tester" });
    if (i % 18 === 0 || i % 18 === 1) commits.push(put(id, text));
  }
  for (let from = 0; from < commits.length; from += batchCommits) await engine.commit(namespace, commits.slice(from, from + batchCommits).map(prepareCommit));
  clock.advance(60_000);
  // Half of what has expired is swept, half is still there for the search to leave out.
  await engine.sweep(namespace, Math.ceil(notes.length / 18));
}

interface Ranking {
  readonly question: string;
  readonly kind: string;
  /** Keys with their scores and what matched, best first. */
  readonly hits: unknown;
}

async function rankAll(engine: Engine, clock: ManualClock, questions: readonly Question[]): Promise<readonly Ranking[]> {
  const store = openNamespaceStore(engine, namespace, clock);
  return Promise.all(
    // All that the engine finds, not only what passes the cut-off.
    questions.map(async ({ text, kind }) => ({ question: text, kind, hits: (await searchHits(store, { areas: [area], question: text })).hits.slice(0, 50) })),
  );
}

let model: readonly Ranking[];
beforeAll(async () => {
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  await fill(engine, clock);
  model = await rankAll(engine, clock, set.questions);
});

test("the corpus has notes and questions of every kind, most of which find something", () => {
  expect(notes.length).toBeGreaterThan(500);
  expect(new Set(model.map(({ kind }) => kind)).size).toBeGreaterThan(12);
  expect(model.filter(({ hits }) => (hits as readonly unknown[]).length > 3).length).toBeGreaterThan(500);
});

for (const on of engines.filter(({ name }) => name !== "memory"))
  describe(`search on ${on.name}`, () => {
    test(`ranks the answers to ${set.questions.length} questions as it does on memory, score by score`, async () => {
      const clock = manualClock();
      const engine = await on.openOnClock(await on.freshUrl(), clock);
      onTestFinished(() => engine[Symbol.asyncDispose]());
      const startedMs = performance.now();
      await fill(engine, clock);
      const filledMs = performance.now();
      const rankings = await rankAll(engine, clock, set.questions);
      const seconds = (fromMs: number, toMs: number): string => ((toMs - fromMs) / 1_000).toFixed(1);
      console.log(
        `search on ${on.name}: ${notes.length} notes saved in ${seconds(startedMs, filledMs)} s, ${rankings.length} questions asked in ${seconds(filledMs, performance.now())} s`,
      );
      expect(firstDifference(rankings, model)).toBeUndefined();
    });
  });

/** Faults that an index could have; each must show in some ranking. */
const faults: Readonly<Record<string, (answer: SearchAnswer) => SearchAnswer>> = {
  "counts one document too many": (answer) => ({ ...answer, documents: answer.documents + 1 }),
  "forgets one hit in fifty": (answer) => ({ ...answer, hits: answer.hits.filter((_, i) => i % 50 !== 49) }),
  "gives another length": (answer) => ({ ...answer, hits: answer.hits.map((hit) => ({ ...hit, length: hit.length + 1 })) }),
  "does not count a term's documents anew": (answer) => ({ ...answer, frequencies: answer.frequencies.map((frequency) => frequency + 1) }),
  "gives an older revision": (answer) => ({ ...answer, hits: answer.hits.map((hit) => ({ ...hit, revision: -hit.revision })) }),
};

describe("the rankings show a search that", () => {
  const asked = set.questions.slice(0, 60);
  for (const [name, fault] of Object.entries(faults))
    test(name, async () => {
      const clock = manualClock();
      const engine = new MemoryEngine(clock);
      await fill(engine, clock);
      const faulty = Object.create(engine, { search: { value: async (...query: Parameters<Engine["search"]>) => fault(await engine.search(...query)) } }) as Engine;
      expect(firstDifference(await rankAll(faulty, clock, asked), model.slice(0, asked.length))).toBeDefined();
    });
});
