import fc from "fast-check";
import { expect, test } from "vitest";
import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import { limits } from "../../../src/store/limits.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import { everything } from "../../../src/store/ranges.ts";
import type { IndexedText, SearchAnswer } from "../../../src/store/store.ts";
import { propertySeed } from "../../support/property-seed.ts";
import type { OpenEngine } from "./fixture.ts";
import { codeOf, commit, commitBatch, commitOf, del, namespace, openFixture, put, sweepAll } from "./fixture.ts";

const index = (terms: Record<string, number>, area = "notes"): { index: IndexedText } => ({
  index: { area, terms: Object.entries(terms), length: Object.values(terms).reduce((sum, weight) => sum + Math.ceil(weight / 100), 0) },
});
const found = (answer: SearchAnswer): string[] => answer.hits.map((hit) => hit.key).sort();

export function searchCases(open: OpenEngine): void {
  test("an entry is findable from its commit on, with counts to rank it by", async () => {
    const { store } = await openFixture(open);
    await commit(store, [put("a", 1, index({ fence: 200, token: 100 })), put("b", 1, index({ token: 100 }))]);
    await commit(store, put("c", 1));
    expect(await store.search({ areas: ["notes"], terms: ["fence", "token", "none"] })).toMatchObject({ revision: 2, documents: 2, totalLength: 4, frequencies: [1, 2, 0] });
    const { hits } = await store.search({ areas: ["notes"], terms: ["fence", "token"] });
    expect(hits.toSorted((x, y) => (x.key < y.key ? -1 : 1))).toEqual([
      { key: "a", revision: 1, length: 3, weights: [200, 100] },
      { key: "b", revision: 1, length: 1, weights: [0, 100] },
    ]);
  });

  test("what is replaced, deleted, expired or put without text is no longer found, and no longer counted once it is gone", async () => {
    const { store, engine, clock } = await openFixture(open);
    const ask = (...terms: string[]) => store.search({ areas: ["notes"], terms });
    await commit(store, [
      put("replaced", 1, index({ old: 100 })),
      put("deleted", 1, index({ old: 100 })),
      put("silenced", 1, index({ old: 100 })),
      put("expired", 1, { ...index({ old: 100 }), ttlMs: 10 }),
    ]);
    await commit(store, [put("replaced", 2, index({ fresh: 100 })), del("deleted"), put("silenced", 2)]);
    expect(found(await ask("old"))).toEqual(["expired"]);
    clock.advance(10);
    expect(found(await ask("old"))).toEqual([]);
    await sweepAll(engine);
    expect(await ask("old", "fresh")).toMatchObject({ documents: 1, totalLength: 1, frequencies: [0, 1] });
    await commit(store, put("deleted", 3, index({ old: 100 })));
    expect(found(await ask("old"))).toEqual(["deleted"]);
  });

  test("areas are searched and counted apart, and together when asked together; namespaces never meet", async () => {
    const { store, engine, clock } = await openFixture(open);
    await commit(store, [put("a", 1, index({ x: 100 }, "journal")), put("b", 1, index({ x: 100 }, "knowledge"))]);
    const other = openNamespaceStore(engine, "elsewhere", clock);
    await commit(other, put("c", 1, index({ x: 100 }, "journal")));
    expect(await store.search({ areas: ["journal"], terms: ["x"] })).toMatchObject({ documents: 1, hits: [{ key: "a" }] });
    expect(found(await store.search({ areas: ["journal", "knowledge"], terms: ["x"] }))).toEqual(["a", "b"]);
    expect(await store.search({ areas: ["nowhere"], terms: ["x"] })).toMatchObject({ documents: 0, totalLength: 0, frequencies: [0], hits: [] });
  });

  test("several commits of one batch to one key leave only the last text", async () => {
    const { engine, store } = await openFixture(open);
    await commitBatch(engine, [
      commitOf(put("k", 1, index({ first: 100 }))),
      commitOf(del("k")),
      commitOf(put("k", 2, index({ second: 100 }))),
      commitOf(put("k", 3, index({ third: 100 }))),
    ]);
    expect(await store.search({ areas: ["notes"], terms: ["first", "second", "third"] })).toMatchObject({ documents: 1, frequencies: [0, 0, 1], hits: [{ key: "k" }] });
  });

  test("a text that is made again is found by its new terms, in its new area; the entry is as it was", async () => {
    const { store, engine, clock } = await openFixture(open);
    await commit(store, [put("a", 1, index({ old: 100, both: 100 })), put("b", 2, index({ old: 300 })), put("plain", 3)]);
    clock.advance(5);
    const before = await store.read(everything);
    expect(await store.search({ areas: ["notes"], terms: [] })).toMatchObject({ documents: 2, hits: [] });
    const text = (terms: Record<string, number>) => index(terms, "notes~2");
    expect(
      await store.reindex([
        { key: "a", revision: 1, ...text({ new: 100, both: 50 }) },
        { key: "plain", revision: 1, ...text({ new: 100 }) },
        { key: "nowhere", revision: 1, ...text({ new: 100 }) },
      ]),
    ).toBe(1);
    expect(await store.search({ areas: ["notes"], terms: ["old", "both", "new"] })).toMatchObject({ documents: 1, frequencies: [1, 0, 0], hits: [{ key: "b" }] });
    expect(await store.search({ areas: ["notes~2"], terms: ["old", "both", "new"] })).toMatchObject({
      documents: 1,
      frequencies: [0, 1, 1],
      hits: [{ key: "a", revision: 1, weights: [0, 50, 100] }],
    });
    expect(await store.read(everything)).toEqual(before);
    expect((await store.log({ ranges: [everything] })).rows).toHaveLength(3);
    // From then on it is an indexed entry like any other.
    await commit(store, [put("a", 1, index({ newest: 100 })), del("b")]);
    expect(await store.search({ areas: ["notes", "notes~2"], terms: ["old", "new", "newest"] })).toMatchObject({ documents: 1, frequencies: [0, 0, 1], hits: [{ key: "a" }] });
    expect(await engine.checkFiles()).toEqual([]);
  });

  test("a text of an entry that was changed since is left alone, and so is all of a namespace that is being copied", async () => {
    const { store, engine, clock } = await openFixture(open);
    await commit(store, put("a", 1, index({ first: 100 })));
    await commit(store, put("a", 2, index({ second: 100 })));
    const late = { key: "a", revision: 1, index: index({ late: 100 }).index };
    expect(await store.reindex([late])).toBe(0);
    await engine.seal(namespace, { state: "copying", untilMs: clock.nowMs() + 10, holds: { a: clock.nowMs() + 10 } });
    expect(await store.reindex([{ ...late, revision: 2 }])).toBe(0);
    clock.advance(10);
    expect(await store.search({ areas: ["notes"], terms: ["second", "late"] })).toMatchObject({ documents: 1, frequencies: [1, 0] });
    expect(await store.reindex([{ ...late, revision: 2 }])).toBe(1);
    expect(await store.reindex([])).toBe(0);
    expect(await codeOf(store.reindex(Array.from({ length: limits.commitWritesMax + 1 }, () => late)))).toBe("limit_exceeded");
  });

  test("search syntax and hostile text are terms like any other", async () => {
    const { store } = await openFixture(open);
    const hostile = ["a OR b", '"', "*", "NEAR(x)", "'; DROP TABLE posting; --", "\u202e", "\ud800", "__proto__", "constructor"];
    await commit(store, put("k", 1, index(Object.fromEntries(hostile.slice(0, 6).map((term) => [term, 100])))));
    for (const term of hostile) await store.search({ areas: ["notes", term.toWellFormed()], terms: [term.toWellFormed()] });
    expect(found(await store.search({ areas: ["notes"], terms: ['"'] }))).toEqual(["k"]);
    expect(found(await store.search({ areas: ["notes"], terms: ["__proto__"] }))).toEqual([]);
  });

  test("any history gives the same answers as the memory engine", async () => {
    const key = fc.constantFrom("a", "b", "c", "d");
    const text = fc.option(fc.dictionary(fc.constantFrom("x", "y", "z"), fc.integer({ min: 1, max: 300 }), { minKeys: 1 }), { nil: undefined });
    const step = fc.oneof(
      fc.record({ op: fc.constant("put" as const), key, text, area: fc.constantFrom("one", "two"), ttlMs: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }) }),
      fc.record({ op: fc.constant("delete" as const), key }),
      fc.record({ op: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 20 }) }),
      fc.constant({ op: "sweep" as const }),
    );
    // One engine, a namespace for each history: sixty engines at once would hold sixty times its connections.
    const { engine, clock } = await openFixture(open);
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        run += 1;
        const own = `history ${run}`;
        const store = openNamespaceStore(engine, own, clock);
        const model = new MemoryEngine(clock);
        const modelStore = openNamespaceStore(model, own, clock);
        for (const each of steps) {
          if (each.op === "wait") clock.advance(each.ms);
          else if (each.op === "sweep") for (const one of [engine, model]) await one.sweep(own, 100);
          else {
            const write = each.op === "delete" ? del(each.key) : put(each.key, 1, { ttlMs: each.ttlMs, ...(each.text === undefined ? {} : index(each.text, each.area)) });
            for (const one of [store, modelStore]) await commit(one, write);
          }
        }
        for (const areas of [["one"], ["one", "two"]]) {
          const [mine, theirs] = await Promise.all([store, modelStore].map((one) => one.search({ areas, terms: ["x", "y", "z"] })));
          const sorted = (answer: SearchAnswer | undefined) => ({ ...answer, hits: answer?.hits.toSorted((p, q) => (p.key < q.key ? -1 : 1)) });
          expect(sorted(mine)).toEqual(sorted(theirs));
        }
      }),
      { numRuns: 60, seed: propertySeed },
    );
  });
}
