import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { EntryInput, HoldfastOptions, JournalEntry, Note, ResearchInput, ResumeText } from "../../src/index.ts";
import { openHoldfast } from "../../src/index.ts";
import { createRepository } from "../support/git-repository.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { libraries } from "./libraries.ts";

const openMemory = (options: HoldfastOptions = {}) => openHoldfast({ store: "memory:", agent: "a1", writer: "program", ...options });
const question: ResearchInput = { coreQuestion: "What does a request cost?", thesis: "Caching halves the cost", confidence: 0.8 };

for (const { name, open } of libraries())
  describe(`memory in the library, ${name}`, () => {
    test("keeps entries by workspace and gives them back by id, by age and by question", async () => {
      await using holdfast = await open();
      const { journal } = holdfast;
      const saved = await journal.save({ description: "Moved the retry queue", highlights: ["flush loses the last item"], tags: ["queue"] }, { workspace: "engine" });
      await journal.save({ description: "Wrote the manual" }, { workspace: "engine" });
      await journal.save({ description: "Elsewhere" }, { workspace: "other" });
      const entry: JournalEntry = await journal.get(saved.id);
      expect(entry).toMatchObject({ description: "Moved the retry queue", tags: ["queue"], workspace: { name: "engine" }, agent: "a1" });
      expect((await journal.get(saved.id.slice(0, -1))).id).toBe(saved.id);
      await expect(journal.get(saved.id, { workspace: "other" })).rejects.toMatchObject({ code: "not_found" });
      const page = await journal.list({ workspace: "engine", limit: 1 });
      expect(page.entries.map(({ description }) => description)).toEqual(["Wrote the manual"]);
      expect((await journal.list({ workspace: "engine", before: page.next })).entries.map(({ id }) => id)).toEqual([saved.id]);
      expect((await journal.search("which queue was moved?", { workspace: "engine" })).hits.map(({ entry: { id } }) => id)).toEqual([saved.id]);
      expect((await holdfast.history({ name: saved.id })).entries).toMatchObject([{ kind: "checkpoint", op: "save" }]);
    });

    test("one opening is one session, unless the call says otherwise", async () => {
      await using holdfast = await open();
      const { journal } = holdfast;
      const at = { workspace: "engine" };
      await journal.save({ description: "one", highlights: ["a"] }, at);
      await journal.save({ description: "apart", highlights: ["x"] }, { ...at, sessionId: "mine" });
      const last = await journal.save({ description: "two", highlights: ["b", "a"] }, at);
      expect((await journal.highlights(await journal.get(last.id), at)).highlights).toEqual(["a", "b"]);
    });

    test("wrong entries are refused by field, whatever their type", async () => {
      await using holdfast = await open();
      for (const [entry, field] of [
        [{}, "description"],
        [{ description: "  " }, "description"],
        [{ description: 5 }, "description"],
        [{ description: "x", highlights: "not a list" }, "highlights"],
        [{ description: "x", tags: [5] }, "tags[0]"],
      ] as const)
        await expect(holdfast.journal.save(entry as unknown as EntryInput, { workspace: "engine" })).rejects.toMatchObject({ code: "invalid_input", details: { field } });
      expect((await holdfast.journal.list({ workspace: "engine" })).entries).toEqual([]);
    });

    test("knowledge: save, replace, supersede, recall inside a budget", async () => {
      await using holdfast = await open();
      const { knowledge } = holdfast;
      expect(await knowledge.save({ id: "deploy", content: "Deploying needs the tunnel.", keywords: ["release"] })).toMatchObject({ name: "deploy", version: 1 });
      expect(await knowledge.save({ id: "deploy-now", content: "Deploying needs nothing any more.", keywords: ["release"], supersedes: "deploy" })).toMatchObject({
        superseded: "deploy",
      });
      const old: Note | undefined = await knowledge.get("deploy");
      expect(old).toMatchObject({ status: "deprecated", supersededBy: "deploy-now" });
      expect(await knowledge.get("@shipping/none")).toBeUndefined();
      const recall = await knowledge.recall("what do I need for a release?");
      expect(recall.notes.map(({ id }) => id)).toEqual(["deploy-now"]);
      expect(recall.context).toContain("> Deploying needs nothing any more.");
      expect((await knowledge.recall("what do I need for a release?", { maxTokens: 1 })).notes).toEqual([]);
      await expect(knowledge.save({ id: "", content: "x" })).rejects.toMatchObject({ code: "invalid_input" });
    });

    test("is one text with the last entry, held runs and whatever fits, for the calling agent", async () => {
      await using holdfast = await open();
      await holdfast.journal.save({ description: "Half of the parser is done" }, { workspace: "engine" });
      await holdfast.leases.acquire("deploy", { ttlMs: 60_000 });
      await holdfast.leases.acquire("migrations", { ttlMs: 60_000, agent: "a2" });
      const mine: ResumeText = await holdfast.resume({ workspace: "engine" });
      expect(mine).toMatchObject({ workspace: { name: "engine" }, shown: { journal: 1 } });
      expect(mine.text).toContain("> Half of the parser is done");
      expect(mine.text).toMatch(/^You are a1\. You hold lease deploy \(until .*\)\.$/m);
      expect(mine.text).toContain("Others at work: a2 holds lease migrations.");
      expect((await holdfast.resume({ workspace: "engine", agent: "a2" })).text).toContain("migrations");
      expect((await holdfast.resume({ workspace: "engine", tokensMax: 200 })).tokens).toBeLessThanOrEqual(200);
    });
  });

describe("the journal of the embedded library", () => {
  test("finds the workspace from a folder, and lets an entry end", async () => {
    const repository = createRepository(await temporaryFolder(), "engine");
    await using holdfast = await openMemory();
    const saved = await holdfast.journal.save({ description: "short" }, { workspace: repository, ttlMs: 60_000 });
    expect(saved).toMatchObject({ gitBranch: "main", gitCommit: expect.stringMatching(/^[0-9a-f]{40}$/) });
    expect(saved.expiresAtMs).toBeGreaterThanOrEqual(saved.createdAtMs + 60_000);
    expect((await holdfast.journal.list({ workspace: repository })).entries).toMatchObject([{ workspace: { name: "engine" } }]);
  });

  test("a retry under its request key is the first entry again, also from another opening", async () => {
    const store = `sqlite:${join(await temporaryFolder(), "retry.db")}`;
    const saveOnce = async (description: string) => {
      await using holdfast = await openHoldfast({ store });
      return await holdfast.journal.save({ description }, { workspace: "engine", requestKey: "r" });
    };
    const first = await saveOnce("done");
    expect((await saveOnce("done")).id).toBe(first.id);
    await expect(saveOnce("done twice")).rejects.toMatchObject({ code: "request_key_reused" });
  });
});

describe("research in the embedded library", () => {
  test("research: save, list, load with the text to continue from, and a readable copy beside the file", async () => {
    await using holdfast = await openMemory({ store: `sqlite:${join(await temporaryFolder(), "research.db")}` });
    const { research } = holdfast;
    const saved = await research.save({ ...question, openQuestions: ["For writes too?"] });
    expect(saved.checkpointId).toMatch(/_caching-halves-the-cost$/);
    expect(await readFile(saved.path as string, "utf8")).toContain("Caching halves the cost");
    expect(await research.save({ ...question, openQuestions: ["For writes too?"] })).toMatchObject({ checkpointId: saved.checkpointId, duplicateOf: saved.checkpointId });
    expect((await research.list({ query: "cost of caching" })).checkpoints).toMatchObject([{ id: saved.checkpointId, trigger: "synthesis" }]);
    const { checkpoint, context } = await research.load("halves");
    expect(checkpoint).toMatchObject({ thesis: question.thesis, writer: "program", agent: "a1" });
    expect(context).toContain("> Caching halves the cost");
    await expect(research.save({ ...question, confidence: 2 })).rejects.toMatchObject({ code: "invalid_input", details: { field: "confidence" } });
  });
});
