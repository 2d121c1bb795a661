import { InMemoryStore, InvalidNamespaceError } from "@langchain/langgraph-checkpoint";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Holdfast } from "../../../src/index.ts";
import { HoldfastStore } from "../../../src/langgraph.ts";
import { libraries } from "../../library/libraries.ts";
import { openManual } from "../../library/manual-library.ts";

const keysOf = (items: readonly { readonly key: string }[]): string[] => items.map(({ key }) => key);

for (const library of libraries())
  describe(`a store ${library.name}`, () => {
    const open = async (): Promise<{ readonly holdfast: Holdfast; readonly store: HoldfastStore }> => {
      const holdfast = await library.open();
      onTestFinished(() => holdfast.close());
      return { holdfast, store: new HoldfastStore(holdfast) };
    };

    test("returns what was put last, with when it was created, until it is deleted", async () => {
      const { store } = await open();
      await store.put(["users", "ada"], "food", { likes: ["plums"], since: undefined });
      const first = await store.get(["users", "ada"], "food");
      expect(first).toEqual({ namespace: ["users", "ada"], key: "food", value: { likes: ["plums"] }, createdAt: first?.updatedAt, updatedAt: expect.any(Date) });
      await store.put(["users", "ada"], "food", { likes: "pears" });
      const second = await store.get(["users", "ada"], "food");
      expect(second).toMatchObject({ value: { likes: "pears" }, createdAt: first?.createdAt });
      await store.put(["users", "ada"], "food", { likes: "figs" });
      expect(await store.get(["users", "ada"], "food")).toMatchObject({ createdAt: first?.createdAt });
      await store.delete(["users", "ada"], "food");
      expect(await store.get(["users", "ada"], "food")).toBeNull();
      expect(await store.get(["users"], "ada")).toBeNull();
    });

    test("keeps a long value", async () => {
      const { store } = await open();
      const value = { text: "ü".repeat(300_000), list: [1, { a: null }] };
      await store.put(["docs"], "long", value);
      expect((await store.get(["docs"], "long"))?.value).toEqual(value);
      expect((await store.search(["docs"], { filter: { list: [1, { a: null }] } }))[0]?.value).toEqual(value);
    });

    test("answers filters, prefixes, limits and offsets as LangGraph's own store does", async () => {
      const { store } = await open();
      const own = new InMemoryStore();
      const items = Array.from({ length: 12 }, (_, i) => ({
        namespace: i % 3 === 0 ? ["a"] : ["a", i % 2 === 0 ? "b" : "c"],
        key: `k${String(i).padStart(2, "0")}`,
        value: { n: i, odd: i % 2 === 1, word: `w${i % 4}` },
      }));
      for (const each of [store, own]) for (const { namespace, key, value } of items) await each.put(namespace, key, value);
      const filters = [
        undefined,
        { odd: true },
        { odd: { $ne: true } },
        { n: { $gt: 3, $lte: 9 } },
        { n: { $gte: 3 }, odd: false },
        { n: { $lt: "4" } },
        { word: { $in: ["w1", "w2"] } },
        { word: { $nin: ["w1", "w2"] } },
        { missing: { $eq: 1 } },
      ];
      for (const prefix of [[], ["a"], ["a", "b"], ["b"]])
        for (const filter of filters) {
          const wanted = keysOf(await own.search(prefix, { filter, limit: 100 }));
          const found = keysOf(await store.search(prefix, { filter, limit: 100 }));
          expect(found.toSorted(), JSON.stringify({ prefix, filter })).toEqual(wanted.toSorted());
          expect(keysOf(await store.search(prefix, { filter, limit: 2, offset: 1 }))).toEqual(found.slice(1, 3));
        }
      expect((await store.search(["a"])).length).toBe(10);
    });

    test("lists namespaces by prefix, suffix and depth as LangGraph's own store does, also with long labels", async () => {
      const { store } = await open();
      const own = new InMemoryStore();
      const long = "l".repeat(150);
      const namespaces = [["a"], ["a", "b", "c"], ["a", "x", "c"], ["b", "b"], ["b", "b", "c"], [long, "c"], ["ä/ö~", "c"]];
      for (const each of [store, own]) for (const namespace of namespaces) for (const key of ["1", "2"]) await each.put(namespace, key, { a: 1 });
      const sorted = (found: string[][]): string[] => found.map((namespace) => namespace.join("|")).toSorted();
      for (const options of [
        {},
        { prefix: ["a"] },
        { prefix: ["a", "*", "c"] },
        { prefix: ["*", "b"] },
        { suffix: ["c"] },
        { suffix: ["b", "*"] },
        { prefix: ["b"], suffix: ["c"] },
        { maxDepth: 1 },
        { maxDepth: 2, prefix: ["a"] },
      ])
        expect(sorted(await store.listNamespaces(options)), JSON.stringify(options)).toEqual(sorted(await own.listNamespaces(options)));
      expect(await store.listNamespaces({ limit: 2, offset: 1 })).toEqual([
        ["a", "b", "c"],
        ["a", "x", "c"],
      ]);
    });

    test("answers a batch in order, reads before it writes, and lets the last put of an item count", async () => {
      const { store } = await open();
      await store.put(["a"], "x", { n: 1 });
      const results = await store.batch([
        { namespace: ["a"], key: "x" },
        { namespace: ["a"], key: "x", value: { n: 2 } },
        { namespace: ["a"], key: "y", value: { n: 1 } },
        { namespace: ["a"], key: "x", value: { n: 3 } },
        { namespacePrefix: ["a"], filter: { n: 1 } },
        { namespace: ["a"], key: "y", value: null },
        { limit: 10, offset: 0 },
      ]);
      expect(results).toMatchObject([{ value: { n: 1 } }, undefined, undefined, undefined, [{ key: "x" }], undefined, [["a"]]]);
      expect((await store.get(["a"], "x"))?.value).toEqual({ n: 3 });
      expect(await store.get(["a"], "y")).toBeNull();
    });

    test("puts and finds more items than fit into one commit or one page", async () => {
      const { store } = await open();
      await store.batch(Array.from({ length: 450 }, (_, n) => ({ namespace: ["many"], key: `k${n}`, value: { n } })));
      expect((await store.search(["many"], { limit: 1_000 })).length).toBe(450);
      expect((await store.search(["many"], { filter: { n: { $gte: 440 } }, limit: 1_000 })).length).toBe(10);
    });

    test("keeps when an item was created, although many put it at once", async () => {
      const { store } = await open();
      await store.put(["a"], "x", { n: 0 });
      const { createdAt } = (await store.get(["a"], "x")) ?? {};
      await Promise.all(Array.from({ length: 5 }, (_, n) => store.put(["a"], "x", { n })));
      expect(await store.get(["a"], "x")).toMatchObject({ createdAt });
    });

    test("refuses names and filters that mean nothing", async () => {
      const { store } = await open();
      for (const namespace of [[], [""], ["a.b"]]) await expect(store.get(namespace, "x")).rejects.toThrow(InvalidNamespaceError);
      await expect(store.search(["a"], { filter: { n: { $near: 1 } } })).rejects.toMatchObject({
        code: "invalid_input",
        message: expect.stringContaining('unknown operator "$near"'),
      });
      await expect(store.search(["a"], { filter: { n: { $in: 1 } } })).rejects.toMatchObject({ code: "invalid_input" });
    });
  });

test("items expire after the time of their store, counted from their last put", async () => {
  const { clock, holdfast } = openManual();
  onTestFinished(() => holdfast.close());
  const store = new HoldfastStore(holdfast, { ttlMs: 1_000 });
  await store.put(["a"], "x", { n: 1 });
  clock.advance(900);
  await store.put(["a"], "x", { n: 2 });
  clock.advance(900);
  expect((await store.get(["a"], "x"))?.value).toEqual({ n: 2 });
  clock.advance(101);
  expect(await store.search(["a"])).toEqual([]);
});
