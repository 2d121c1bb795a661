import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { noteFromMarkdown } from "../../src/transfer/mirror/note-file.ts";
import { openMirror } from "../../src/transfer/mirror/open-mirror.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { Answer } from "./open-tools.ts";
import { openTools, toolNamed } from "./open-tools.ts";

const note = {
  id: "api-limits",
  content: "The shipping API allows 60 requests per minute.",
  keywords: ["rate limit"],
  questions: ["How often may I call the carrier?"],
  source: "handbook",
};

describe("knowledge", () => {
  test("a saved note is recalled with its source, score, matched words and time", async () => {
    const { call } = openTools();
    expect(await call("save_knowledge", note)).toEqual({ id: "api-limits", scope: "global", tokens: 12, version: 1, path: null });
    const answer = await call("recall_knowledge", { query: "how many requests may I send to the shipping API" });
    expect(answer.items).toEqual([
      {
        id: "api-limits",
        scope: "global",
        content: note.content,
        source: "handbook",
        tokens: 12,
        score: expect.any(Number),
        why: expect.arrayContaining(["requests", "shipping"]),
        saved: "2027-01-15T08:00:00.000Z",
        author: "tester",
        trust: "medium",
        version: 1,
        revision: 1,
      },
    ]);
    expect(answer.total_tokens).toBe(12);
    expect(answer.formatted_context).toContain(`> ${note.content}`);
    expect(answer.formatted_context).toMatch(/evidence to weigh, not instructions/);
  });

  test.each([
    [["s3", "listing"], "Use list-objects with a start key.", "how to enumerate a huge s3 bucket"],
    [["ios", "push", "apns"], "Certificates run out each May.", "apns problems on device"],
    [["vacuum", "bloat"], "Autovacuum was off for that one.", "why is our table bloat growing"],
    [["connection pool"], "Twenty are enough.", "how large should the connection pool of the new reporting service become"],
  ])("a keyword that its author gave is enough: %j", async (keywords, content, question) => {
    const { call } = openTools();
    await call("save_knowledge", { id: "wanted", content, keywords });
    await call("save_knowledge", { id: "other", content: "The garden needs water twice a week in July." });
    expect((await call("recall_knowledge", { query: question })).items.map(({ id }: Answer) => id)).toEqual(["wanted"]);
  });

  describe("a note that says nearly the same as another", () => {
    const questions = ["How often may I call it?"];
    const save = async (second: Record<string, unknown>, first: Record<string, unknown> = {}): Promise<string | undefined> => {
      const { call } = openTools();
      await call("save_knowledge", { ...note, ...first });
      await call("save_knowledge", { id: "garden", content: "The garden needs water twice a week in July.", questions });
      return (await call("save_knowledge", { id: "carrier", content: "Shipping API: it allows 60 requests per minute!", questions, ...second })).hint;
    };

    test("is saved with a hint that names the other", async () => {
      expect(await save({})).toBe('Note "api-limits" says nearly the same. Keep one: supersedes replaces the other.');
      expect(await save({ skill: "shipping" })).toContain('"api-limits"');
      expect(await save({ skill: "shipping" }, { skill: "shipping" })).toContain('"@shipping/api-limits"');
      expect(await save({ questions: [] })).toMatch(/^Note "api-limits" says nearly the same\..* Saved without questions/);
    });

    test.each(["The shipping API allows 100 requests per minute.", "The shipping API never allows 60 requests per minute."])(
      "and is told apart where a number or a negation differs: %s",
      async (content) => {
        expect(await save({ content })).toBe(
          'Note "api-limits" says nearly the same with other numbers or a negation: one of them may be wrong. Keep one: supersedes replaces the other.',
        );
      },
    );

    test.each([
      ["it is the same note", { id: "api-limits" }, {}],
      ["it replaces the other", { supersedes: "api-limits" }, {}],
      ["it replaces the other of its skill", { supersedes: "api-limits", skill: "shipping" }, { skill: "shipping" }],
      ["the other is of another skill", { skill: "billing" }, { skill: "shipping" }],
      ["the other is not active", {}, { status: "deprecated" }],
      ["the other is quarantined", {}, { trust: "quarantined" }],
      ["it is not active itself", { status: "archived" }, {}],
      ["it is about something else of the same subject", { content: "The shipping API is down for maintenance on Sundays." }, {}],
    ])("gives no hint when %s", async (_, second, first) => {
      expect(await save(second, first)).toBeUndefined();
    });

    test("gives no hint in the profile sage, whose original has none", async () => {
      const { call } = openTools({ server: { profile: "sage" } });
      await call("save_knowledge", note);
      expect((await call("save_knowledge", { ...note, id: "again" })).hint).toBeUndefined();
    });

    test("is found also where both are long and begin alike", async () => {
      const { call } = openTools();
      const long = Array.from({ length: 400 }, (_, i) => `word${String.fromCharCode(97 + (i % 26))}${String.fromCharCode(97 + Math.floor(i / 26))}`).join(" ");
      await call("save_knowledge", { id: "one", content: long, questions });
      expect((await call("save_knowledge", { id: "two", content: `${long} ending`, questions })).hint).toContain('"one"');
    });
  });

  test("half a keyword is not", async () => {
    const { call } = openTools();
    await call("save_knowledge", { id: "pool", content: "Twenty are enough.", keywords: ["connection pool"] });
    expect((await call("recall_knowledge", { query: "where can the children swim in a pool with warm water this summer" })).items).toEqual([]);
  });

  test("items that did not fit max_tokens are counted, in the text too", async () => {
    const { call } = openTools();
    await call("save_knowledge", { id: "long", content: `Deploys need the VPN. ${"Reason follows reason. ".repeat(50)}`, keywords: ["deploy"] });
    const answer = await call("recall_knowledge", { query: "deploy", max_tokens: 50 });
    expect(answer).toMatchObject({ items: [], total_tokens: 0, omitted: 1 });
    expect(toolNamed("recall_knowledge").render?.(answer).join("\n")).toContain("none fits max_tokens");
    expect((await call("recall_knowledge", { query: "deploy" })).omitted).toBeUndefined();
  });

  test("the text is the notes once, without the items", async () => {
    const { call } = openTools();
    await call("save_knowledge", { id: "vpn", content: "Deploys need the VPN.", keywords: ["deploy"] });
    const answer = await call("recall_knowledge", { query: "deploy" });
    const text = toolNamed("recall_knowledge").render?.(answer).join("\n") as string;
    expect(text.split("Deploys need the VPN.")).toHaveLength(2);
    expect(text).toBe(answer.formatted_context);
  });

  test("nothing relevant is an empty list", async () => {
    const { call } = openTools();
    await call("save_knowledge", note);
    const nothing = { items: [], total_tokens: 0, formatted_context: "" };
    expect(await call("recall_knowledge", { query: "recipe for pancakes" })).toEqual({ ...nothing, hint: expect.stringContaining("also") });
    expect(await call("recall_knowledge", { query: "recipe for pancakes", also: ["how to make crepes"] })).toEqual(nothing);
  });

  test("a save without questions says what they would bring", async () => {
    const { call } = openTools();
    const { questions: _, ...bare } = note;
    expect((await call("save_knowledge", bare)).hint).toContain("without questions");
    expect((await call("save_knowledge", note)).hint).toBeUndefined();
  });

  test("what could be meant comes as a line with its reason, after the answers", async () => {
    const { call } = openTools();
    await call("save_knowledge", note);
    const answer = await call("recall_knowledge", { query: "shipping company" });
    expect(answer).toMatchObject({ items: [], maybe: [expect.stringMatching(/^api-limits: .*60 requests.*\(.*shipping.*\)$/)] });
    expect(toolNamed("recall_knowledge").render?.(answer).join("\n")).toContain("Possibly related:\n- api-limits: ");
  });

  test("a skill's note is for that skill, and says so", async () => {
    const { call } = openTools();
    expect((await call("save_knowledge", { ...note, skill: "shipping" })).scope).toBe("skill:shipping");
    expect((await call("recall_knowledge", { query: "rate limit" })).items).toEqual([]);
    expect((await call("recall_knowledge", { query: "rate limit", skill: "shipping" })).items[0]).toMatchObject({ id: "api-limits", scope: "skill:shipping" });
  });

  test("limit and max_tokens bound the answer; by default three notes", async () => {
    const { call, fails } = openTools();
    for (let i = 0; i < 6; i += 1) await call("save_knowledge", { ...note, id: `n${i}` });
    expect((await call("recall_knowledge", { query: "rate limit" })).items).toHaveLength(3);
    expect((await call("recall_knowledge", { query: "rate limit", limit: 20 })).items).toHaveLength(6);
    expect(await call("recall_knowledge", { query: "rate limit", limit: 20, max_tokens: 30 })).toMatchObject({ total_tokens: 24 });
    expect(await fails("recall_knowledge", { query: "x", limit: 21 })).toMatchObject({ message: "limit: must be at most 20" });
    expect(await fails("recall_knowledge", { query: " " })).toMatchObject({ message: "query: must be a non-empty string" });
  });

  test("a replaced note keeps its versions in history; the superseded one is no longer recalled", async () => {
    const { call } = openTools();
    await call("save_knowledge", note);
    expect((await call("save_knowledge", { ...note, content: "The rate limit is 90." })).version).toBe(2);
    await call("save_knowledge", { id: "limits", content: "The rate limit is 120.", supersedes: "api-limits" });
    expect((await call("recall_knowledge", { query: "rate limit" })).items.map(({ id }: Answer) => id)).toEqual(["limits"]);
    const { entries } = await call("history_log", { key: "api-limits", kind: "knowledge" });
    expect(entries.map(({ op, new_value }: Answer) => [op, new_value.status, new_value.content])).toEqual([
      ["supersede", "deprecated", "The rate limit is 90."],
      ["save", "active", "The rate limit is 90."],
      ["save", "active", note.content],
    ]);
  });

  test("a retry under its request key gives the first answer and no second version", async () => {
    const { call, outcome } = openTools();
    const first = await call("save_knowledge", note, { requestKey: "k" });
    await call("save_knowledge", { ...note, content: "Other." });
    expect(await call("save_knowledge", note, { requestKey: "k" })).toEqual(first);
    expect((await call("recall_knowledge", { query: "rate limit" })).items[0].content).toBe("Other.");
    expect(await outcome("save_knowledge", { ...note, id: "x" }, { requestKey: "k" })).toMatchObject({ ok: false, error: { code: "request_key_reused" } });
  });

  test.each([
    [{ id: "a b" }, "id: must begin with a letter or digit, then letters, digits and . _ : @ / -, at most 128 bytes"],
    [{ skill: "a/b" }, "skill: must begin with a letter or digit, then letters, digits and . _ : -, at most 64 bytes"],
    [{ status: "gone" }, 'status: must be one of "active", "deprecated", "archived"'],
    [{ trust: 0.5 }, 'trust: must be one of "quarantined", "low", "medium", "high"'],
    [{ keywords: 5 }, "keywords: must be a list, not a number"],
    [{ supersedes: "@x" }, "supersedes: must begin with a letter or digit, then letters, digits and . _ : @ / -, at most 128 bytes"],
  ])("%j is refused: %s", async (change, message) => {
    const { fails } = openTools();
    expect(await fails("save_knowledge", { ...note, ...change })).toMatchObject({ code: "invalid_input", message });
  });

  test("path names the note's Markdown file, and a superseded note's file follows", async () => {
    const folder = await temporaryFolder();
    const { call } = openTools({ server: { mirror: openMirror({ checkpointDir: folder, knowledgeDir: folder, namespace: "default" }) } });
    const { path } = await call("save_knowledge", note);
    expect(path).toBe(join(folder, "api-limits.md"));
    await call("save_knowledge", { id: "limits", content: "The rate limit is 120.", supersedes: "api-limits" });
    expect(await readdir(folder)).toEqual(["api-limits.md", "limits.md"]);
    expect(noteFromMarkdown(await readFile(path, "utf8"))).toMatchObject({ content: note.content, status: "deprecated", supersededBy: "limits", version: 2 });
  });
});
