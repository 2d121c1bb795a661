import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Question } from "../../bench/recall/labelled-set.ts";
import { readLabelledSet } from "../../bench/recall/labelled-set.ts";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { searchHits } from "../../src/search/find-text.ts";
import { indexText } from "../../src/search/index-text.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { prepareCommit } from "../../src/store/prepare-commit.ts";
import type { Commit, Engine } from "../../src/store/store.ts";
import { engines } from "../support/engines.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { manualClock } from "../support/manual-clock.ts";
import { firstDifference } from "./first-difference.ts";

const set = readLabelledSet(join("bench", "recall", "set"));
export const { questions } = set;
const namespace = "ranking";
const area = "notes";
/** Every written note with its questions, and some of the many made-up ones around them. */
export const notes = set.notes.filter(({ id }, i) => id.startsWith("note-") || i % 5 === 0);
const batchCommits = 200;

const put = (id: string, text: string, ttlMs?: number): Commit => ({
  writes: [{ op: "put", key: `note/${id}`, value: text, ttlMs, index: indexText(area, [{ text, weight: 1 }]) }],
  writer: "tester",
});

/** Saved, and then some of them replaced, expired, deleted, hidden from search and saved again: an index that only ever grows would not do. */
function commitsOf(): readonly Commit[] {
  const commits = notes.map(({ id, text }, i) => put(id, text, i % 9 === 3 ? 60_000 : undefined));
  for (const [i, { id, text }] of notes.entries()) {
    if (i % 9 === 0) commits.push(put(id, notes[(i + 4) % notes.length]?.text ?? text));
    if (i % 9 === 1) commits.push({ writes: [{ op: "delete", key: `note/${id}` }], writer: "tester" });
    if (i % 9 === 2) commits.push({ writes: [{ op: "put", key: `note/${id}`, value: text }], writer: "tester" });
    if (i % 18 === 0 || i % 18 === 1) commits.push(put(id, text));
  }
  return commits;
}

let commits: readonly Commit[] | undefined;

async function fill(engine: Engine, clock: ManualClock): Promise<void> {
  commits ??= commitsOf();
  for (let from = 0; from < commits.length; from += batchCommits) await engine.commit(namespace, commits.slice(from, from + batchCommits).map(prepareCommit));
  clock.advance(60_000);
  // Half of what has expired is swept, half is still there for the search to leave out.
  await engine.sweep(namespace, Math.ceil(notes.length / 18));
}

export interface Ranking {
  readonly question: string;
  readonly kind: string;
  /** Keys with their scores and what matched, best first. */
  readonly hits: unknown;
}

export async function rankAll(engine: Engine, clock: ManualClock, asked: readonly Question[]): Promise<readonly Ranking[]> {
  const store = openNamespaceStore(engine, namespace, clock);
  return Promise.all(
    // All that the engine finds, not only what passes the cut-off.
    asked.map(async ({ text, kind }) => ({ question: text, kind, hits: (await searchHits(store, { areas: [area], question: text })).hits.slice(0, 50) })),
  );
}

interface Corpus {
  readonly engine: Engine;
  readonly clock: ManualClock;
}
let model: Promise<Corpus> | undefined;

/** The corpus on the memory engine, whose rankings the others must give; filled once, and only searched. */
export function openModel(): Promise<Corpus> {
  const open = async (): Promise<Corpus> => {
    const clock = manualClock();
    const engine = new MemoryEngine(clock);
    await fill(engine, clock);
    return { engine, clock };
  };
  model ??= open();
  return model;
}

/** Every engine must answer these questions as memory does. */
export function testRankings(asked: readonly Question[]): void {
  for (const on of engines.filter(({ name }) => name !== "memory"))
    describe(`search on ${on.name}`, () => {
      test(`ranks the answers to ${asked.length} questions as it does on memory, score by score`, async () => {
        const clock = manualClock();
        const engine = await on.openOnClock(await on.freshUrl(), clock);
        onTestFinished(() => engine[Symbol.asyncDispose]());
        const startedMs = performance.now();
        await fill(engine, clock);
        const filledMs = performance.now();
        const rankings = await rankAll(engine, clock, asked);
        const seconds = (fromMs: number, toMs: number): string => ((toMs - fromMs) / 1_000).toFixed(1);
        console.log(
          `search on ${on.name}: ${notes.length} notes saved in ${seconds(startedMs, filledMs)} s, ${rankings.length} questions asked in ${seconds(filledMs, performance.now())} s`,
        );
        const corpus = await openModel();
        expect(firstDifference(rankings, await rankAll(corpus.engine, corpus.clock, asked))).toBeUndefined();
      });
    });
}
