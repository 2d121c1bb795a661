import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { openEngine } from "../../src/engines/open-store.ts";
import { groupsByRarity } from "../../src/store/best-hits.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { Engine, Put, SearchHit } from "../../src/store/store.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { manualClock } from "../support/manual-clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const hit = (key: string, revision: number, ...weights: number[]): SearchHit => ({ key, revision, length: 1, weights });

test("groups have the most of the rare terms first, then the newer; equals are never parted", () => {
  const hits = [hit("common", 9, 0, 100), hit("rare", 1, 100, 0), hit("both", 2, 100, 100), hit("one", 5, 0, 100), hit("other", 5, 0, 100), hit("older", 4, 0, 100)];
  const keys = [...groupsByRarity(hits, { documents: 100, frequencies: [2, 50] }, 2)].map((group) => group.map(({ key }) => key));
  expect(keys).toEqual([["both", "rare"], ["common", "one", "other"], ["older"]]);
});

const put = (n: number, terms: readonly string[], ttlMs?: number): Put => ({
  op: "put",
  key: `k${n}`,
  value: n,
  ttlMs,
  index: { area: "a", length: terms.length, terms: terms.map((term) => [term, 100]) },
});

/** Sixty entries, of which every third has expired and is not swept: the best are not always live. */
async function answersOf(engine: Engine, clock: ManualClock): Promise<Record<"all" | "one" | "nine" | "many", readonly (readonly [string, readonly number[]])[]>> {
  const store = openNamespaceStore(engine, "n", clock);
  for (let n = 0; n < 60; n += 4)
    await store.commit({
      writer: "w",
      writes: [0, 1, 2, 3].map((i) => put(n + i, ["all", ...((n + i) % 5 === 0 ? ["fifth"] : []), ...((n + i) % 3 === 0 ? ["third"] : [])], (n + i) % 3 === 0 ? 1_000 : undefined)),
    });
  clock.advance(2_000);
  const ask = async (hitsMax?: number) =>
    (await store.search({ areas: ["a"], terms: ["all", "third", "fifth"], hitsMax })).hits.map(({ key, weights }) => [key, weights] as const).sort(([a], [b]) => (a < b ? -1 : 1));
  return { all: await ask(), one: await ask(1), nine: await ask(9), many: await ask(1_000) };
}

test("SQLite, which stops at the best, gives what is best of everything", async () => {
  const clocks = [manualClock(), manualClock()] as const;
  const sqlite = await openEngine(`sqlite:${join(await temporaryFolder(), "h.db")}`, { clock: clocks[0] });
  onTestFinished(() => sqlite[Symbol.asyncDispose]());
  const answers = await answersOf(sqlite, clocks[0]);
  expect(answers).toEqual(await answersOf(new MemoryEngine(clocks[1]), clocks[1]));
  expect([answers.all.length, answers.many.length]).toEqual([40, 40]);
  // Four entries of one commit may be equal.
  expect(answers.nine.length).toBeGreaterThanOrEqual(9);
  expect(answers.nine.length).toBeLessThan(13);
  expect(answers.one.every(([, weights]) => weights[2] === 100)).toBe(true);
});
