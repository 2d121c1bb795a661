import { afterAll, expect, test, vi } from "vitest";
import { everything, prefixRange } from "../../src/store/ranges.ts";
import type { IndexedText } from "../../src/store/store.ts";
import { countedEngine } from "../support/counted-engine.ts";
import type { TestTools } from "../tools/open-tools.ts";

// Everything in this file runs on the version after the first. Files share their modules: those of this one are its own.
const versionModule = "../../src/search/index-version.ts";
vi.doMock(versionModule, () => ({ indexVersion: 2 }));
vi.resetModules();
const { openReindexChore } = await import("../../src/domain/findable/reindex.ts");
const { indexText } = await import("../../src/search/index-text.ts");
const { openTools } = await import("../tools/open-tools.ts");
afterAll(() => {
  vi.doUnmock(versionModule);
  vi.resetModules();
});

/** As a first version would have indexed it that knew words by how they begin alone. */
function formerly({ area, length, terms }: IndexedText): IndexedText {
  return { area: area.replace("~2", ""), length, terms: [...new Map(terms.map(([term, weight]) => [`${term.slice(0, 2)}…`, weight]))] };
}

/** Indexes what is stored as the first version did. */
async function writeIndexOfFirst({ base: { store }, engine }: TestTools): Promise<void> {
  const dumped = await engine.dump(store.namespace, { part: "keys" });
  await store.reindex(dumped.records.flatMap((record) => (record.kind === "key" && record.index !== undefined ? [{ ...record, index: formerly(record.index) }] : [])));
}

async function fill(tools: TestTools): Promise<void> {
  await tools.call("save_knowledge", { id: "vault", content: "the deploy key is in the vault" });
  await tools.call("save_knowledge", { id: "limits", content: "parcels weigh thirty kilos at most", skill: "shipping" });
  await tools.call("save_knowledge", { id: "archived", content: "the vault is blue", status: "archived" });
  await tools.call("checkpoint", { description: "repaired the vault door", workspace: "w" });
  await tools.call("save_checkpoint", { core_question: "why do vaults rust?", thesis: "salt", confidence: 0.5 });
}

async function found({ call }: TestTools): Promise<unknown> {
  return {
    notes: (await call("recall_knowledge", { query: "vault" })).items.map(({ id }: { id: string }) => id),
    ofSkill: (await call("recall_knowledge", { query: "how heavy may parcels weigh", skill: "shipping" })).items.map(({ id }: { id: string }) => id),
    entries: (await call("checkpoint", { query: "vault door", workspace: "w" })).data.found,
    research: (await call("list_checkpoints", { query: "rust of vaults" })).checkpoints.length,
  };
}

const all = { notes: ["vault"], ofSkill: ["limits"], entries: 1, research: 1 };
const none = { notes: [], ofSkill: [], entries: 0, research: 0 };

test("what an earlier version indexed is found after the chore, and is otherwise as it was", async () => {
  const tools = openTools();
  await fill(tools);
  expect(await found(tools)).toEqual(all);
  await writeIndexOfFirst(tools);
  expect(await found(tools)).toEqual(none);
  const { store } = tools.base;
  const before = (await store.read(everything)).entries;
  await openReindexChore()(store);
  expect(await found(tools)).toEqual(all);
  expect((await store.read(everything)).entries.filter(({ key }) => !key.startsWith("search/"))).toEqual(before);
  expect((await store.search({ areas: ["knowledge", "knowledge/shipping", "research"], terms: [] })).documents).toBe(0);
});

test("until then it is found by the terms it was indexed by", async () => {
  const tools = openTools();
  const index = indexText("knowledge", [{ text: "the deploy key is in the vault", weight: 1 }]);
  await tools.call("save_knowledge", { id: "vault", content: "the deploy key is in the vault" });
  const { store } = tools.base;
  const { entries } = await store.read(prefixRange("knowledge/note/"));
  await store.reindex(entries.map(({ key, revision }) => ({ key, revision, index: { ...index, area: "knowledge" } })));
  expect((await tools.call("recall_knowledge", { query: "deploy key" })).items).toHaveLength(1);
});

test("a namespace is gone through once, by any process; one without texts is not written to", async () => {
  const tools = openTools();
  await fill(tools);
  await writeIndexOfFirst(tools);
  const counted = countedEngine(tools.engine);
  const { store } = openTools({ engine: counted.engine, clock: tools.clock }).base;
  expect(await counted.during(() => openReindexChore()(store))).toMatchObject({ reindex: 1, commit: 1 });
  expect(await counted.during(() => openReindexChore()(store))).toEqual({ read: 1 });
  const empty = openTools();
  await empty.call("state_set", { key: "a", value: 1 });
  const { revision } = await empty.base.store.position();
  await openReindexChore()(empty.base.store);
  expect((await empty.base.store.position()).revision).toBe(revision);
});

test("more entries than one turn takes are gone through over several turns, each once", async () => {
  const tools = openTools();
  const { store } = tools.base;
  const count = 2_100;
  const value = { content: "", keywords: [], status: "active", trust: "medium" };
  for (let start = 0; start < count; start += 100)
    await store.commit({
      writer: "w",
      writes: Array.from({ length: 100 }, (_, i) => ({
        op: "put",
        key: `knowledge/note/n${String(start + i).padStart(5, "0")}`,
        value: { ...value, content: `number${start + i}` },
        index: { area: "knowledge", length: 1, terms: [["old", 100]] },
      })),
    });
  const chore = openReindexChore();
  await chore(store);
  const left = (await store.search({ areas: ["knowledge"], terms: [] })).documents;
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThan(200);
  await chore(store);
  expect((await store.search({ areas: ["knowledge"], terms: [] })).documents).toBe(0);
  expect((await store.search({ areas: ["knowledge~2"], terms: [] })).documents).toBe(count);
  expect((await tools.call("recall_knowledge", { query: "number2077" })).items.map(({ id }: { id: string }) => id)).toEqual(["n02077"]);
});
