import { expect, onTestFinished, test, vi } from "vitest";
import { openStore } from "../../src/compose.ts";
import { readConfig } from "../../src/config.ts";
import { openEmbedChore } from "../../src/domain/findable/embed-notes.ts";
import { NoteVectors } from "../../src/domain/findable/note-vectors.ts";
import { openEndpointEmbedder } from "../../src/embeddings/endpoint-embedder.ts";
import type { GuardedEmbedder } from "../../src/embeddings/guarded-embedder.ts";
import { guardEmbedder, guardLimits } from "../../src/embeddings/guarded-embedder.ts";
import { silentLog } from "../../src/kernel/log.ts";
import { unrelatedQuestions } from "../../src/search/unrelated-questions.ts";
import { VectorTable } from "../../src/search/vector-table.ts";
import { everything, prefixRange } from "../../src/store/ranges.ts";
import { embeddingsFindings } from "../../src/surfaces/cli/memory-findings.ts";
import type { EmbeddingServer } from "../support/embedding-server.ts";
import { openEmbeddingServer } from "../support/embedding-server.ts";
import { manualClock } from "../support/manual-clock.ts";
import { soon } from "../support/soon.ts";
import type { TestTools } from "../tools/open-tools.ts";
import { openTools } from "../tools/open-tools.ts";

interface Meaningful extends TestTools {
  readonly server: EmbeddingServer;
  readonly guarded: GuardedEmbedder;
  /** Gives vectors to all notes that need them. */
  embed(): Promise<void>;
}

/** The tools with vectors of a real endpoint, under a clock that the test moves. */
async function openMeaningful(model = "toy"): Promise<Meaningful> {
  const server = await openEmbeddingServer();
  const clock = manualClock();
  const logged: unknown[] = [];
  const guarded = guardEmbedder(openEndpointEmbedder({ url: server.url, model }), { clock, log: (_level, event) => void logged.push(event) });
  const vectors = new NoteVectors(guarded.asking, clock);
  const tools = openTools({ clock, server: { vectors } });
  const perform = openEmbedChore(guarded.background, vectors, clock);
  return {
    ...tools,
    server,
    guarded,
    async embed() {
      while (await perform(tools.base.store, new AbortController().signal));
    },
  };
}

const question = { query: "is the basement wet" };
const save = async ({ call }: TestTools): Promise<void> => {
  await call("save_knowledge", { id: "cellar", content: "A leak in the underground store after every flood.", keywords: ["storeroom"] });
  await call("save_knowledge", { id: "trains", content: "Railway sleepers are sold by the metre." });
};

test("a note that shares no word with the question is named in maybe, never given as an answer", async () => {
  const tools = await openMeaningful();
  await save(tools);
  expect(await tools.call("recall_knowledge", question)).toMatchObject({ items: [], hint: expect.stringContaining("Found by words alone: The notes have no vectors yet.") });
  await tools.embed();
  const answer = await tools.call("recall_knowledge", question);
  expect(answer.items).toEqual([]);
  expect(answer.maybe).toEqual([expect.stringMatching(/^cellar: .*\(by meaning\)$/)]);
  expect(answer.hint).not.toContain("words alone");
  // Without the setting the same store answers by words alone, and no model hears of it.
  const asked = tools.server.requests.length;
  expect((await openTools({ engine: tools.engine, clock: tools.clock }).call("recall_knowledge", question)).maybe).toBeUndefined();
  expect(tools.server.requests.length).toBe(asked);
});

test("an unrelated question stays unanswered, and one by the note's own words is answered as ever", async () => {
  const tools = await openMeaningful();
  await save(tools);
  await tools.embed();
  const unrelated = await tools.call("recall_knowledge", { query: "which puppy should I get" });
  expect([unrelated.items, unrelated.maybe]).toEqual([[], undefined]);
  expect((await tools.call("recall_knowledge", { query: "underground store leak" })).items.map(({ id }: { id: string }) => id)).toEqual(["cellar"]);
});

test("notes of another skill are not brought up", async () => {
  const tools = await openMeaningful();
  await tools.call("save_knowledge", { id: "cellar", content: "A leak in the underground store after every flood.", skill: "house" });
  await tools.embed();
  expect((await tools.call("recall_knowledge", question)).maybe).toBeUndefined();
  expect((await tools.call("recall_knowledge", { ...question, skill: "garden" })).maybe).toBeUndefined();
  expect((await tools.call("recall_knowledge", { ...question, skill: "house" })).maybe).toEqual([expect.stringMatching(/^@house\/cellar: /)]);
});

test("vectors leave the notes and their history as they are", async () => {
  const tools = await openMeaningful();
  await save(tools);
  const before = (await tools.base.store.read(prefixRange("knowledge/"))).entries;
  await tools.embed();
  expect((await tools.base.store.read(prefixRange("knowledge/"))).entries).toEqual(before);
  const { rows } = await tools.base.store.log({ ranges: [everything], recorded: {}, reverse: true, values: false });
  expect(rows.filter(({ key }) => key.startsWith("vector/"))).toEqual([]);
  // Once more there is nothing to do.
  const { revision } = await tools.base.store.position();
  await tools.embed();
  expect((await tools.base.store.position()).revision).toBe(revision);
});

test("a changed note is not found by what it said, and by what it says after the chore; a withdrawn one loses its vector", async () => {
  const tools = await openMeaningful();
  await save(tools);
  await tools.embed();
  await tools.call("save_knowledge", { id: "cellar", content: "A hound guards the store." });
  expect((await tools.call("recall_knowledge", question)).maybe).toBeUndefined();
  await tools.embed();
  expect((await tools.call("recall_knowledge", { query: "where is the puppy" })).maybe).toEqual([expect.stringMatching(/^cellar: /)]);
  await tools.call("save_knowledge", { id: "cellar", content: "A hound guards the store.", status: "archived" });
  await tools.embed();
  const { entries } = await tools.base.store.read(prefixRange("vector/note/"));
  expect(entries.map(({ key }) => key)).toEqual(["vector/note/trains"]);
});

test("vectors of another model are not compared; the chore replaces them", async () => {
  const tools = await openMeaningful();
  await save(tools);
  await tools.embed();
  const other = guardEmbedder(openEndpointEmbedder({ url: tools.server.url, model: "another" }), { clock: tools.clock, log: silentLog });
  const vectors = new NoteVectors(other.asking, tools.clock);
  const after = openTools({ engine: tools.engine, clock: tools.clock, server: { vectors } });
  expect((await after.call("recall_knowledge", question)).hint).toContain("The notes have no vectors yet.");
  const perform = openEmbedChore(other.background, vectors, tools.clock);
  while (await perform(after.base.store, new AbortController().signal));
  expect((await after.call("recall_knowledge", question)).maybe).toEqual([expect.stringMatching(/^cellar: /)]);
  expect((await tools.base.store.read(prefixRange("vector/note/"))).entries.map(({ value }) => (value as { model: string }).model)).toEqual([
    "endpoint:another",
    "endpoint:another",
  ]);
});

test("vectors that others wrote are seen, also when the log no longer goes back to the last look", async () => {
  const tools = await openMeaningful();
  await save(tools);
  await tools.embed();
  const here = openTools({ engine: tools.engine, clock: tools.clock, server: { vectors: new NoteVectors(tools.guarded.asking, tools.clock) } });
  expect((await here.call("recall_knowledge", question)).maybe).toHaveLength(1);
  await tools.call("save_knowledge", { id: "kennel", content: "Hound to be walked at noon." });
  await tools.embed();
  tools.clock.advance(1_000);
  await tools.engine.compact("test", { ageMs: 0, revisions: 1, tombstones: 0 }, 1_000);
  expect((await here.call("recall_knowledge", { query: "our puppy" })).maybe).toEqual([expect.stringMatching(/^kennel: /)]);
});

test("where the endpoint does not answer, words answer, the hint says so, and the endpoint is tried again later", async () => {
  const tools = await openMeaningful();
  await save(tools);
  await tools.embed();
  const { server, clock } = tools;
  server.misbehave = (response) => void response.writeHead(503).end();
  const ask = () => tools.call("recall_knowledge", { query: "underground store leak" });
  const before = server.requests.length;
  for (let i = 0; i < guardLimits.failuresMax; i += 1) {
    const answer = await ask();
    expect(answer.items.map(({ id }: { id: string }) => id)).toEqual(["cellar"]);
    expect(answer.hint).toBe("Found by words alone: The embedding endpoint answered with status 503.");
  }
  expect((await ask()).hint).toContain("will be tried again later");
  expect(server.requests.length - before).toBe(guardLimits.failuresMax);
  server.misbehave = undefined;
  clock.advance(guardLimits.restMs);
  expect((await ask()).hint).toBeUndefined();
  expect(server.requests.length - before).toBe(guardLimits.failuresMax + 1);
});

test("a note that the model refuses does not keep the others from their vectors", async () => {
  const tools = await openMeaningful();
  await tools.call("save_knowledge", { id: "bad", content: "poison" });
  await save(tools);
  tools.server.misbehave = (response, good) => void (tools.server.requests.at(-1)?.input.includes("poison") ? response.writeHead(400).end() : response.end(JSON.stringify(good)));
  await tools.embed();
  const { entries } = await tools.base.store.read(prefixRange("vector/note/"));
  expect(entries.map(({ key }) => key)).toEqual(["vector/note/cellar", "vector/note/trains"]);
});

/** Answers with this status to every call that has a text with the word. */
const refuse = ({ server }: Meaningful, word: string, status: number): void => {
  server.misbehave = (response, good) =>
    void (server.requests.at(-1)?.input.some((text) => text.includes(word)) ? response.writeHead(status).end() : response.end(JSON.stringify(good)));
};
const embedded = async ({ base }: Meaningful): Promise<readonly string[]> => (await base.store.read(prefixRange("vector/note/"))).entries.map(({ key }) => key);

test("notes that are all refused are skipped, and those after them get their vectors", async () => {
  const tools = await openMeaningful();
  // The first turn has nothing but refused notes, in more batches than the model may fail in a row.
  for (let i = 10; i < 42; i += 1) await tools.call("save_knowledge", { id: `a${i}`, content: `poison ${i}` });
  await save(tools);
  refuse(tools, "poison", 413);
  await tools.embed();
  expect(await embedded(tools)).toEqual(["vector/note/cellar", "vector/note/trains"]);
  expect((await tools.call("recall_knowledge", question)).maybe).toHaveLength(1);
  // They have been dealt with: nobody sends them again.
  const before = tools.server.requests.length;
  await tools.embed();
  expect(tools.server.requests.length).toBe(before);
});

test("an endpoint that goes away between a batch and its texts ends the turn, and no note is taken for done", async () => {
  const tools = await openMeaningful();
  await save(tools);
  await tools.call("save_knowledge", { id: "abacus", content: "poison" });
  const { server, clock } = tools;
  // The batch is refused and its first text, too; the second is answered, and then the endpoint is away.
  let answers = 0;
  server.misbehave = (response, good) => {
    answers += 1;
    if (answers === 3) response.end(JSON.stringify(good));
    else response.writeHead(answers < 3 ? 400 : 503).end();
  };
  for (let i = 0; i < guardLimits.failuresMax; i += 1) await expect(tools.embed()).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("503") });
  await expect(tools.embed()).rejects.toMatchObject({ message: expect.stringContaining("tried again later") });
  expect(await embedded(tools)).toEqual([]);
  refuse(tools, "poison", 400);
  clock.advance(guardLimits.restMs);
  await tools.embed();
  expect(await embedded(tools)).toEqual(["vector/note/cellar", "vector/note/trains"]);
});

test("if the model refuses the questions that measure chance, nothing is found by chance", async () => {
  const tools = await openMeaningful();
  await save(tools);
  tools.server.misbehave = (response, good) =>
    void (tools.server.requests.at(-1)?.input.some((text) => /flood|Railway/.test(text)) ? response.end(JSON.stringify(good)) : response.writeHead(400).end());
  await tools.embed();
  expect(await embedded(tools)).toHaveLength(2);
  tools.server.misbehave = undefined;
  expect(await tools.call("recall_knowledge", question)).toMatchObject({ items: [], hint: expect.stringContaining("Found by words alone") });
});

test.each([
  [400, true],
  [413, true],
  [422, true],
  [401, false],
  [403, false],
  [404, false],
  [408, false],
  [429, false],
  [500, false],
])("status %i for a question is about the question alone: %s", async (status, isRefusal) => {
  const tools = await openMeaningful();
  await save(tools);
  await tools.embed();
  refuse(tools, "poison", status);
  for (let i = 0; i < guardLimits.failuresMax; i += 1)
    expect((await tools.call("recall_knowledge", { query: "poison" })).hint).toContain(`Found by words alone: The embedding endpoint answered with status ${status}.`);
  const { maybe, hint } = await tools.call("recall_knowledge", question);
  if (isRefusal) expect(maybe).toEqual([expect.stringMatching(/^cellar: /)]);
  else expect(hint).toContain("tried again later");
});

test("the event loop has a turn between two comparisons with all vectors", async () => {
  const tools = await openMeaningful();
  await save(tools);
  const turn = vi.spyOn(tools.clock, "turn");
  const compare = vi.spyOn(VectorTable.prototype, "compare");
  onTestFinished(() => compare.mockRestore());
  await tools.embed();
  const compared = compare.mock.invocationCallOrder;
  expect(compared.length).toBeGreaterThanOrEqual(2 * unrelatedQuestions.length);
  const turns = turn.mock.invocationCallOrder;
  expect(compared.slice(1).filter((at, i) => !turns.some((each) => each > (compared[i] as number) && each < at))).toEqual([]);
});

test("an endpoint that never answers is not waited for longer than a question may take", async () => {
  const tools = await openMeaningful();
  await save(tools);
  await tools.embed();
  let isAbandoned = false;
  tools.server.misbehave = (response) => void response.on("close", () => (isAbandoned = true));
  const before = tools.server.requests.length;
  const answer = tools.call("recall_knowledge", question);
  await soon(() => expect(tools.server.requests.length).toBe(before + 1));
  tools.clock.advance(guardLimits.askedMsMax);
  expect((await answer).hint).toContain("Found by words alone: The embedding");
  await soon(() => expect(isAbandoned).toBe(true));
});

test("doctor names the model and counts the notes with vectors, where a model is configured", async () => {
  const tools = await openMeaningful();
  await save(tools);
  await tools.embed();
  await tools.call("save_knowledge", { id: "new", content: "Not embedded yet." });
  const config = { store: "memory:", namespace: "test", readOnly: false, colourAllowed: false, effectAgeMs: 1_000, origins: {} };
  expect(await embeddingsFindings(tools.base, config)).toEqual([]);
  const [finding] = await embeddingsFindings(tools.base, { ...config, embeddings: "https://models.example/v1", embeddingsModel: "toy", embeddingsRemote: true });
  expect(finding?.says).toBe("https://models.example/v1, model toy: 2 of 3 notes with vectors; notes and questions may leave this machine");
});

test("a running server embeds what is saved, by the setting alone", async () => {
  const server = await openEmbeddingServer();
  const config = readConfig({ store: "memory:", embeddings: server.url, "embeddings-model": "toy" }, { HOLDFAST_EMBEDDINGS_KEY: "sesame" });
  const opened = await openStore(config, { stays: true, log: silentLog });
  onTestFinished(() => opened[Symbol.asyncDispose]());
  const { store, server: facts } = opened.base;
  const tools = openTools({ engine: opened.engine, server: { vectors: facts.vectors } });
  await tools.call("save_knowledge", { id: "cellar", content: "A leak in the underground store after every flood." });
  await soon(async () => expect((await tools.call("recall_knowledge", question)).maybe).toEqual([expect.stringMatching(/^cellar: /)]));
  expect(store.namespace).toBe("default");
  expect(new Set(server.requests.map(({ path, model, headers }) => `${path} ${model} ${headers.authorization}`))).toEqual(new Set(["/v1/embeddings toy Bearer sesame"]));
});
