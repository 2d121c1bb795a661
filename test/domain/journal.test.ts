import { describe, expect, test } from "vitest";
import { resetNamespace } from "../../src/domain/admin/reset.ts";
import { readHistory } from "../../src/domain/history/history.ts";
import { automaticTags } from "../../src/domain/journal/automatic-entry.ts";
import { listEntries, relatedToHits, requireEntry, searchEntries } from "../../src/domain/journal/find-entries.ts";
import type { SaveEntry } from "../../src/domain/journal/journal.ts";
import { readHighlights, saveEntry } from "../../src/domain/journal/journal.ts";
import { readLatest } from "../../src/domain/journal/latest-entry.ts";
import type { Workspace } from "../../src/domain/workspace/workspace.ts";
import type { TestScope } from "../support/scope.ts";
import { openScope } from "../support/scope.ts";

const place = (name: string, formerIds: readonly string[] = []): Workspace => ({ id: `ws-${name}`, name, formerIds });
const engine = place("engine");
const site = place("site");

const save = (scope: TestScope, description: string, more: Partial<SaveEntry> = {}) =>
  saveEntry(scope, { description, highlights: [], activeFiles: [], tags: [], workspace: engine, sessionId: "s1", global: false, ...more });
const descriptions = async (scope: TestScope, workspace: Workspace, more: object = {}): Promise<string[]> =>
  (await listEntries(scope, { workspace, limit: 100, ...more })).entries.map(({ description }) => description);

describe("the journal", () => {
  test("lists newest first, also what was saved in the same millisecond", async () => {
    const scope = openScope();
    for (const text of ["one", "two", "three"]) await save(scope, text);
    scope.clock.advance(1_000);
    await save(scope, "four");
    expect(await descriptions(scope, engine)).toEqual(["four", "three", "two", "one"]);
  });

  test("a hundred sessions that save at once each get an entry of their own", async () => {
    const scope = openScope();
    const saved = await Promise.all(Array.from({ length: 100 }, (_, i) => save(scope, `entry ${i}`, { sessionId: `s${i}`, highlights: ["same"] })));
    expect(new Set(saved.map(({ id }) => id)).size).toBe(100);
    expect(await descriptions(scope, engine)).toHaveLength(100);
  });

  test("savers at once in one session lose no highlight", async () => {
    const scope = openScope();
    const saving = Promise.all(Array.from({ length: 10 }, (_, i) => save(scope, `entry ${i}`, { highlights: [`highlight ${i}`] })));
    await scope.clock.advanceBy(1_000);
    await saving;
    const [entry] = (await listEntries(scope, { workspace: engine, limit: 1 })).entries;
    expect((await readHighlights(scope, entry as NonNullable<typeof entry>, engine)).highlights.toSorted()).toEqual(Array.from({ length: 10 }, (_, i) => `highlight ${i}`));
  });

  test("shows a workspace its own entries and the global ones, no other's", async () => {
    const scope = openScope();
    await save(scope, "ours");
    await save(scope, "theirs", { workspace: site });
    await save(scope, "everybody's", { workspace: site, global: true });
    expect(await descriptions(scope, engine)).toEqual(["everybody's", "ours"]);
    expect(await descriptions(scope, site)).toEqual(["everybody's", "theirs"]);
    const found = async (workspace: Workspace) => (await searchEntries(scope, { workspace, query: "theirs", limit: 10 })).hits.length;
    expect([await found(engine), await found(site)]).toEqual([0, 1]);
  });

  test("continues showing what was saved under a former id of the workspace", async () => {
    const scope = openScope();
    await save(scope, "before the first commit");
    const grown = place("grown", [engine.id]);
    await save(scope, "after it", { workspace: grown });
    expect(await descriptions(scope, grown)).toEqual(["after it", "before the first commit"]);
    expect((await searchEntries(scope, { workspace: grown, query: "first commit", limit: 5 })).hits).toHaveLength(1);
  });

  test("pages without gaps or repeats, within a time range", async () => {
    const scope = openScope();
    const startMs = scope.clock.nowMs();
    for (let i = 0; i < 25; i += 1) {
      await save(scope, `entry ${i}`, { global: i % 3 === 0 });
      scope.clock.advance(1_000);
    }
    const seen: string[] = [];
    let before: string | undefined;
    do {
      const page = await listEntries(scope, { workspace: engine, limit: 4, fromMs: startMs + 5_000, untilMs: startMs + 20_000, before });
      expect(page.entries.length).toBeLessThanOrEqual(4);
      seen.push(...page.entries.map(({ description }) => description));
      before = page.next;
    } while (before !== undefined);
    expect(seen).toEqual(Array.from({ length: 15 }, (_, i) => `entry ${19 - i}`));
  });

  test("has one history record for each save, under the entry's id", async () => {
    const scope = openScope();
    const { id, revision } = await save(scope, "one", { highlights: ["a"], tags: ["t"] });
    await save(scope, "two");
    const all = await readHistory(scope, { kind: "checkpoint", limit: 10 });
    expect(all.entries.map(({ op, kind }) => [kind, op])).toEqual([
      ["checkpoint", "save"],
      ["checkpoint", "save"],
    ]);
    expect((await readHistory(scope, { name: id, limit: 10 })).entries).toMatchObject([{ revision, name: id, op: "save", value: { description: "one" } }]);
    expect((await readHistory(scope, { prefix: "cp-", limit: 10 })).total).toBe(2);
  });

  test("a reset takes everything of it, with one record for each entry", async () => {
    const scope = openScope();
    await save(scope, "one zebra", { highlights: ["a"] });
    await save(scope, "two");
    expect((await resetNamespace(scope)).cleared).toBe(2);
    expect(await descriptions(scope, engine)).toEqual([]);
    expect((await searchEntries(scope, { workspace: engine, query: "zebra", limit: 5 })).hits).toEqual([]);
    expect((await readHistory(scope, { kind: "checkpoint", limit: 10 })).entries.map(({ op }) => op)).toEqual(["reset", "reset", "save", "save"]);
  });

  test("the same request key saves once and gives the first answer, whatever the session is called by then", async () => {
    const scope = openScope();
    const request = { key: "k", fingerprint: "f" };
    const first = await save({ ...scope, request } as TestScope, "once", { sessionId: "first" });
    scope.clock.advance(60_000);
    expect(await save({ ...scope, request } as TestScope, "once", { sessionId: "second" })).toEqual(first);
    expect(await descriptions(scope, engine)).toEqual(["once"]);
  });
});

describe("the last work in a workspace", () => {
  const latest = async (scope: TestScope, workspace: Workspace) => {
    const { entry, news } = await readLatest(scope, workspace);
    return [entry?.description, news.map(({ description }) => description)];
  };

  test("is not what others saved for every workspace, which comes beside it", async () => {
    const scope = openScope();
    expect(await latest(scope, engine)).toEqual([undefined, []]);
    await save(scope, "old news", { workspace: site, global: true });
    expect(await latest(scope, engine)).toEqual(["old news", []]);
    await save(scope, "ours");
    for (let i = 0; i < 45; i += 1) await save(scope, `news ${i}`, { workspace: site, global: true });
    expect(await latest(scope, engine)).toEqual(["ours", ["news 44", "news 43", "news 42"]]);
    expect(await latest(scope, site)).toEqual(["news 44", []]);
  });

  test("may itself have been saved for all, or under a former id", async () => {
    const scope = openScope();
    await save(scope, "ours");
    scope.clock.advance(1_000);
    await save(scope, "ours for all", { global: true });
    await save(scope, "theirs for all", { workspace: site, global: true });
    expect(await latest(scope, engine)).toEqual(["ours for all", ["theirs for all"]]);
    expect(await latest(scope, place("grown", [engine.id]))).toEqual(["ours for all", ["theirs for all"]]);
  });

  test.each(automaticTags)("is not what the %s hook saved, however often, as long as an agent wrote something", async (tag) => {
    const scope = openScope();
    await save(scope, "saved by a hook first", { tags: [tag] });
    expect(await latest(scope, engine)).toEqual(["saved by a hook first", []]);
    await save(scope, "ours");
    for (let i = 0; i < 45; i += 1) await save(scope, `saved by a hook ${i}`, { tags: [tag] });
    expect(await latest(scope, engine)).toEqual(["ours", []]);
  });
});

describe("highlights of a session", () => {
  const highlightsOf = async (scope: TestScope, workspace: Workspace = engine) => {
    const [entry] = (await listEntries(scope, { workspace, limit: 1 })).entries;
    return (await readHighlights(scope, entry as NonNullable<typeof entry>, workspace)).highlights;
  };

  test("gather over its entries, each once, in the order of first mention", async () => {
    const scope = openScope();
    await save(scope, "one", { highlights: ["b", "a", "b"] });
    await save(scope, "two", { highlights: [" a ", "c", ""] });
    await save(scope, "three");
    expect(await highlightsOf(scope)).toEqual(["b", "a", "c"]);
  });

  test("belong to one session and one workspace", async () => {
    const scope = openScope();
    await save(scope, "elsewhere", { workspace: site, highlights: ["site's"] });
    await save(scope, "other session", { sessionId: "s2", highlights: ["s2's"] });
    await save(scope, "ours", { highlights: ["ours"] });
    expect(await highlightsOf(scope)).toEqual(["ours"]);
  });

  test("of another workspace's global entry only its own are shown", async () => {
    const scope = openScope();
    await save(scope, "private", { workspace: site, highlights: ["private to the site"] });
    await save(scope, "public", { workspace: site, global: true, highlights: ["for all"] });
    expect(await highlightsOf(scope)).toEqual(["for all"]);
    expect(await highlightsOf(scope, site)).toEqual(["private to the site", "for all"]);
  });

  test("go when the last entry that named them goes", async () => {
    const scope = openScope();
    await save(scope, "short", { highlights: ["short", "both"], ttlMs: 1_000 });
    await save(scope, "long", { highlights: ["both", "long"] });
    scope.clock.advance(1_000);
    expect(await highlightsOf(scope)).toEqual(["both", "long"]);
  });

  test("stay bounded: the oldest make room", async () => {
    const scope = openScope();
    for (let i = 0; i < 7; i += 1) await save(scope, `entry ${i}`, { highlights: Array.from({ length: 100 }, (_, j) => `highlight ${i}-${j} ${"x".repeat(900)}`) });
    const kept = await highlightsOf(scope);
    expect(kept.length).toBeGreaterThan(100);
    expect(kept.reduce((sum, text) => sum + text.length, 0)).toBeLessThanOrEqual(200_000);
    expect(kept.at(-1)).toMatch(/^highlight 6-99 /);
  });
});

describe("retention", () => {
  test("an entry with a time to live is gone after it from lists, search and restore, with one record of its end", async () => {
    const scope = openScope();
    const { id, expiresAtMs } = await save(scope, "temporary zebra", { ttlMs: 5_000 });
    expect(expiresAtMs).toBe(scope.clock.nowMs() + 5_000);
    await save(scope, "lasting giraffe");
    scope.clock.advance(4_999);
    expect(await descriptions(scope, engine)).toHaveLength(2);
    scope.clock.advance(1);
    expect(await descriptions(scope, engine)).toEqual(["lasting giraffe"]);
    expect((await searchEntries(scope, { workspace: engine, query: "zebra", limit: 5 })).hits).toEqual([]);
    await expect(requireEntry(scope, id, undefined)).rejects.toMatchObject({ code: "not_found" });
    await scope.engine.sweep("test", 100);
    expect((await readHistory(scope, { name: id, limit: 10 })).entries.map(({ op }) => op)).toEqual(["expire", "save"]);
  });
});

describe("an entry by its id", () => {
  test("is found by the whole id, by its beginning, and by any part only it has", async () => {
    const scope = openScope();
    const { id } = await save(scope, "one");
    scope.clock.advance(86_400_000);
    await save(scope, "two");
    for (const part of [id, id.slice(0, 11), id.slice(-12), ` ${id} `]) expect((await requireEntry(scope, part, undefined)).id, part).toBe(id);
  });

  test("a part of several is ambiguous and names them; of none is not found; nonsense is refused", async () => {
    const scope = openScope();
    const [one, two] = [await save(scope, "one"), await save(scope, "two")];
    await expect(requireEntry(scope, "cp-", undefined)).rejects.toMatchObject({
      code: "ambiguous",
      details: {
        candidates: [
          { checkpointId: two.id, description: "two" },
          { checkpointId: one.id, description: "one" },
        ],
        more: false,
      },
    });
    await expect(requireEntry(scope, "nope", undefined)).rejects.toMatchObject({ code: "not_found" });
    await expect(requireEntry(scope, "../state", undefined)).rejects.toMatchObject({ code: "invalid_input", details: { field: "checkpointId" } });
    await expect(requireEntry(scope, "%", undefined)).rejects.toMatchObject({ code: "invalid_input" });
  });

  test("a named workspace filters, and makes a part unambiguous", async () => {
    const scope = openScope();
    const { id } = await save(scope, "ours");
    await save(scope, "theirs", { workspace: site });
    expect((await requireEntry(scope, "cp-", engine)).id).toBe(id);
    await expect(requireEntry(scope, id, site)).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("search", () => {
  test.each([
    ["a question in plain words", "why did the login test fail?", "Login tests were failing because the session cookie expired early"],
    ["a file", "worker.ts", "Moved the loop"],
    ["part of an identifier", "retry queue", "Renamed things"],
    ["a tag", "release", "Wrote the notes"],
    ["a word of the context", "postgres", "Chose the database"],
    ["an accent left out", "grosse", "Die Größe der Warteschlange begrenzt"],
    ["a script without spaces", "再試行", "再試行キューを直した"],
  ])("finds an entry by %s", async (_by, query, expected) => {
    const scope = openScope();
    await save(scope, "Login tests were failing because the session cookie expired early");
    await save(scope, "Moved the loop", { activeFiles: ["src/worker.ts"] });
    await save(scope, "Renamed things", { highlights: ["retryQueue is now the only way in"] });
    await save(scope, "Wrote the notes", { tags: ["release"] });
    await save(scope, "Chose the database", { workContext: "PostgreSQL versus Redis: postgres won" });
    await save(scope, "Die Größe der Warteschlange begrenzt");
    await save(scope, "再試行キューを直した");
    const { hits } = await searchEntries(scope, { workspace: engine, query, limit: 3 });
    expect(hits[0]?.entry.description).toBe(expected);
    expect(hits[0]?.why.length).toBeGreaterThan(0);
  });

  test("gives nothing rather than the least bad match, and takes search syntax as text", async () => {
    const scope = openScope();
    await save(scope, "Login tests were failing");
    for (const query of ["quarterly marketing budget spreadsheet", '"* OR NEAR(', "% _ '; DROP TABLE x"])
      expect((await searchEntries(scope, { workspace: engine, query, limit: 3 })).hits, query).toEqual([]);
    await expect(searchEntries(scope, { workspace: engine, query: "  ", limit: 3 })).rejects.toMatchObject({ code: "invalid_input", details: { field: "query" } });
  });

  test("since leaves older ones out before the limit is counted", async () => {
    const scope = openScope();
    for (let i = 0; i < 5; i += 1) await save(scope, `zebra zebra ${i}`);
    scope.clock.advance(60_000);
    await save(scope, "a long entry about many other things, and last of all one zebra");
    const { hits } = await searchEntries(scope, { workspace: engine, query: "zebra", limit: 1, fromMs: scope.clock.nowMs() });
    expect(hits.map(({ entry }) => entry.description)).toEqual(["a long entry about many other things, and last of all one zebra"]);
  });
});

describe("what is related to an answer", () => {
  const relatedTo = async (scope: TestScope, query: string, limit = 4): Promise<string[]> => {
    const { hits } = await searchEntries(scope, { workspace: engine, query, limit: 1 });
    return (await relatedToHits(scope, hits, engine, limit)).map(({ entry, why }) => `${entry.description} (${why})`);
  };

  test("is what the same session wrote, then what shares a rare word, then what the same branch saw; nothing else, and nothing twice", async () => {
    const scope = openScope();
    for (let n = 0; n < 12; n += 1) await save(scope, `bumped dependency ${n}`, { sessionId: `bot-${n}` });
    const story = { sessionId: "story", gitBranch: "fix/tax" };
    await save(scope, "post-mortem: Zollrunde lost cents", story);
    await save(scope, "hotfix is out", story);
    await save(scope, "alert for zollrunde", { sessionId: "later" });
    await save(scope, "linter against floats", { sessionId: "last", gitBranch: "fix/tax" });
    await save(scope, "saved by a hook", { ...story, tags: ["pre-compact"] });
    expect(await relatedTo(scope, "post-mortem of lost cents")).toEqual(["hotfix is out (same session)", "alert for zollrunde (zollrunde)", "linter against floats (same branch)"]);
    expect(await relatedTo(scope, "post-mortem of lost cents", 1)).toEqual(["hotfix is out (same session)"]);
    expect(await relatedTo(scope, "nothing of the kind")).toEqual([]);
  });

  test("is not what all agents work on: a common word, the main branch, another workspace", async () => {
    const scope = openScope();
    for (let n = 0; n < 12; n += 1) await save(scope, `release ${n}`, { sessionId: `s-${n}`, gitBranch: "main" });
    await save(scope, "release notes of the parser", { sessionId: "mine", gitBranch: "main" });
    await save(scope, "the parser elsewhere", { workspace: site, sessionId: "mine" });
    expect(await relatedTo(scope, "parser notes")).toEqual([]);
  });
});

describe("limits", () => {
  test.each([
    ["description", { description: " \n" }, "invalid_input"],
    ["description", { description: "x".repeat(10_001) }, "limit_exceeded"],
    ["highlights", { highlights: Array.from({ length: 10_000 }, () => "x") }, "limit_exceeded"],
    ["highlights[1]", { highlights: ["a", "x".repeat(1_001)] }, "limit_exceeded"],
    ["activeFiles", { activeFiles: Array.from({ length: 201 }, () => "x") }, "limit_exceeded"],
    ["tags", { tags: Array.from({ length: 33 }, () => "x") }, "limit_exceeded"],
    ["workContext", { workContext: "x".repeat(20_001) }, "limit_exceeded"],
    ["description", { description: "\ud800" }, "invalid_input"],
    ["sessionId", { sessionId: "" }, "invalid_input"],
    ["sessionId", { sessionId: "x".repeat(257) }, "invalid_input"],
  ])("%s over its limit is an error that names it, and nothing is written", async (field, more, code) => {
    const scope = openScope();
    await expect((async () => save(scope, "fine", more))()).rejects.toMatchObject({ code, details: { field } });
    expect((await scope.store.read({ start: "" })).revision).toBe(0);
  });

  test("an entry with everything at its limit is kept", async () => {
    const scope = openScope();
    const wide = "\u00e9";
    await save(scope, wide.repeat(10_000), {
      workContext: wide.repeat(20_000),
      highlights: Array.from({ length: 100 }, (_, i) => `${i}${wide.repeat(990)}`),
      activeFiles: Array.from({ length: 200 }, (_, i) => `${i}${wide.repeat(1_000)}`),
    });
    expect((await listEntries(scope, { workspace: engine, limit: 1 })).entries[0]?.activeFiles).toHaveLength(200);
  });
});
