import { describe, expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { findText, searchHits } from "../../src/search/find-text.ts";
import { indexText, questionTerms } from "../../src/search/index-text.ts";
import { rank } from "../../src/search/ranking.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { Store } from "../../src/store/store.ts";
import { manualClock } from "../support/manual-clock.ts";

async function storeOf(notes: Readonly<Record<string, string>>): Promise<Store> {
  const clock = manualClock();
  const store = openNamespaceStore(new MemoryEngine(clock), "test", clock);
  for (const [key, text] of Object.entries(notes))
    await store.commit({ writes: [{ op: "put", key, value: text, index: indexText("notes", [{ text, weight: 1 }]) }], writer: "test" });
  return store;
}
const ask = async (store: Store, question: string, limit = 3): Promise<string[]> => (await findText(store, { areas: ["notes"], question, limit })).hits.map(({ key }) => key);

const corpus = {
  pool: "MAX_POOL_SIZE is 20 per instance; with eight instances we stay under the 200 connections the database allows.",
  retry: "The retryQueue in src/worker.ts doubles its delay after each failure and gives up after seven attempts.",
  tokens: "Access tokens live fifteen minutes, refresh tokens thirty days.",
  leak: "The memory leak in the image resizer came from buffers kept in a cache.",
  friday: "Deploys on Friday afternoon need a second approver.",
  german: "Die Datenbankverbindung bricht nach zehn Minuten Leerlauf ab.",
  chinese: "支付回调可能重复到达，必须用事件编号去重。",
  thai: "หน้าค้นหาช้าเพราะส่งคำขอทุกครั้งที่กดแป้นพิมพ์",
  russian: "Резервная копия базы данных создаётся каждую ночь.",
};

describe("a small store", () => {
  test("answers as it was reviewed", async () => {
    const store = await storeOf(corpus);
    const lines: string[] = [];
    for (const question of [
      "how many connections does the database allow",
      "worker.ts",
      "retry queue",
      "how long do tokens live",
      "memory leaks when resizing images",
      "why did the thumbnails process use so much ram",
      "who approves a deployment on fridays",
      "Abbruch der Datenbankverbindung",
      "支付回调重复",
      "ทำไมหน้าค้นหาช้า",
      "резервные копии",
      "recipe for lentil soup",
      "which lens for bird photography",
      "",
    ]) {
      const { hits } = await findText(store, { areas: ["notes"], question, limit: 3 });
      lines.push(`${question}\n${hits.map((hit) => `  ${hit.key} ${hit.coverage.toFixed(2)} ${hit.matched.join(" ")}\n`).join("")}`);
    }
    await expect(lines.join("\n")).toMatchFileSnapshot("./snapshots/answers.txt");
  });

  test("with a single note finds it by part of a question, and not by an unrelated one", async () => {
    const store = await storeOf({ only: corpus.leak });
    expect(await ask(store, "what caused the memory leak in production")).toEqual(["only"]);
    expect(await ask(store, "which cheese goes with figs")).toEqual([]);
  });
});

describe("the cut-off", () => {
  test("keeps back a note that shares one word of many with the question", async () => {
    const store = await storeOf(corpus);
    expect(await ask(store, "which quantum annealer did we rent for image recognition")).toEqual([]);
    const all = await searchHits(store, { areas: ["notes"], question: "which quantum annealer did we rent for image recognition" });
    expect(all.hits.map(({ key }) => key)).toEqual(["leak"]);
  });

  test("coverage is 1 when the note has every word, and search syntax is only text", async () => {
    const store = await storeOf(corpus);
    const { hits } = await findText(store, { areas: ["notes"], question: '"memory" AND leak*', limit: 3 });
    expect(hits.map(({ key, coverage }) => [key, coverage])).toEqual([["leak", 1]]);
  });
});

describe("ranking", () => {
  test("of equal answers the newest stands first, and a better one before both", async () => {
    const store = await storeOf({ b: "the fence token of the lease", a: "the fence token of the lease", old: "the fence token of the lease and the guard" });
    await store.commit({ writes: [{ op: "put", key: "b", value: 2, index: indexText("notes", [{ text: "the fence token of the lease", weight: 1 }]) }], writer: "test" });
    expect(await ask(store, "fence token")).toEqual(["b", "a", "old"]);
    expect((await ask(store, "guard of the fence token"))[0]).toBe("old");
  });

  test("equal answers of one commit stand in the order of their keys", async () => {
    const store = await storeOf({});
    const put = (key: string) => ({ op: "put", key, value: 1, index: indexText("notes", [{ text: "the fence token", weight: 1 }]) }) as const;
    await store.commit({ writes: [put("b"), put("c"), put("a")], writer: "test" });
    expect(await ask(store, "fence token")).toEqual(["a", "b", "c"]);
  });

  test("does not depend on the order in which an engine gives its hits", async () => {
    const store = await storeOf(corpus);
    const terms = questionTerms("memory of the database connections and retry tokens");
    const answer = await store.search({ areas: ["notes"], terms: terms.map(({ term }) => term) });
    expect(answer.hits.length).toBeGreaterThan(2);
    expect(rank([terms], { ...answer, hits: answer.hits.toReversed() })).toEqual(rank([terms], answer));
  });

  test("the word itself counts more than another word for it, and either is enough", async () => {
    const store = await storeOf({ synonym: "remove the old column", word: "delete the old column" });
    expect(await ask(store, "delete column")).toEqual(["word", "synonym"]);
    expect(await ask(store, "erase column")).toContain("synonym");
  });

  test("one subject is counted once, however many words for it a note has", async () => {
    const store = await storeOf({ many: "delete remove drop erase purge wipe", both: "erase the invoices" });
    expect((await ask(store, "delete invoices"))[0]).toBe("both");
  });

  test("an identifier written apart covers the question as well as one written together", async () => {
    const store = await storeOf({ apart: "the retry queue is full" });
    const { hits } = await findText(store, { areas: ["notes"], question: "retryQueue", limit: 1 });
    expect(hits[0]?.coverage).toBe(1);
  });

  test("a long question keeps its own words before what they imply", () => {
    const own = Array.from({ length: 95 }, (_, i) => `q${String.fromCharCode(97 + (i % 26))}x${String.fromCharCode(97 + Math.floor(i / 26))}z`);
    const terms = questionTerms(`delete ${own.join(" ")}`).map(({ term }) => term);
    expect(terms).toEqual(["delet", ...own]);
  });
});
