import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import type {
  ActivityAnswer,
  FoldersView,
  HealthAnswer,
  JournalPage,
  JournalRow,
  KeysPage,
  KeyView,
  LeasesAnswer,
  Me,
  NotesPage,
  NoteView,
  ResearchAnswer,
  ResearchPage,
  RunDetail,
  RunsPage,
  SearchResults,
  ToolsView,
} from "../../../src/surfaces/dashboard/api.ts";
import { namespacesListed } from "../../../src/surfaces/dashboard/me-route.ts";
import { catalog } from "../../../src/tools/catalog.ts";
import { engineNamed } from "../../support/engines.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { sessionId, workAsTeam, writeJournal } from "./busy-team.ts";
import { openApi, openMemoryApi, refusalOf } from "./open-api.ts";

const ns = "/api/ns/team";

async function openBusy(name: "memory" | "SQLite") {
  const clock = manualClock();
  const engine = await engineNamed(name).openOnClock(await engineNamed(name).freshUrl(), clock);
  const api = openApi({ engine, clock });
  await workAsTeam(api, clock);
  return { ...api, clock, [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}

describe.each(["memory", "SQLite"] as const)("each view of a busy team on %s", (name) => {
  test("who I am and where I may look", async () => {
    await using api = await openBusy(name);
    expect(await api.get<Me>("/api/me")).toEqual({
      principal: "someone",
      kind: "operator",
      role: "admin",
      namespaces: ["team"],
      defaultNamespace: "team",
      readOnly: false,
      version: "1.2.3",
      engine: name.toLowerCase(),
    });
  });

  test("keys with the beginning of their values, by prefix and by page, without what has expired", async () => {
    await using api = await openBusy(name);
    const first = await api.get<KeysPage>(`${ns}/keys`, { limit: "1" });
    expect(first).toMatchObject({ total: 2, keys: [{ key: "config/flags", version: 2, preview: '{"beta":true}', updatedAtMs: 1_800_000_000_000 }] });
    const second = await api.get<KeysPage>(`${ns}/keys`, { limit: "1", cursor: first.next as string });
    expect(second).toMatchObject({ total: 2, keys: [{ key: "config/limits", preview: "10" }] });
    expect(second.next).toBeUndefined();
    expect((await api.get<KeysPage>(`${ns}/keys`, { prefix: "config/l" })).keys.map(({ key }) => key)).toEqual(["config/limits"]);
  });

  test("folders one level at a time, passing over keys that lie in none", async () => {
    await using api = await openBusy(name);
    for (const key of ["a", "b/c/d", "b/e", "z/1"]) await api.agent("state_set", { key, value: 1 });
    expect(await api.get<FoldersView>(`${ns}/folders`)).toEqual({ folders: ["b/", "config/", "z/"], more: false });
    expect(await api.get<FoldersView>(`${ns}/folders`, { prefix: "b/" })).toEqual({ folders: ["b/c/"], more: false });
    expect(await api.get<FoldersView>(`${ns}/folders`, { prefix: "none/" })).toEqual({ folders: [], more: false });
  });

  test("a key with every version and who wrote it, also after it is gone", async () => {
    await using api = await openBusy(name);
    const view = await api.get<KeyView>(`${ns}/key`, { key: "config/flags" });
    expect(view).toMatchObject({ found: true, value: { beta: true }, version: 2, writer: "fleet", agent: "worker-2", more: false });
    expect(view.versions.map(({ version, operation, value, writer, agent }) => ({ version, operation, value, writer, agent }))).toEqual([
      { version: 2, operation: "set", value: { beta: true }, writer: "fleet", agent: "worker-2" },
      { version: 1, operation: "set", value: { beta: false }, writer: "fleet", agent: "worker-1" },
    ]);
    await api.agent("state_delete", { key: "config/flags" });
    const gone = await api.get<KeyView>(`${ns}/key`, { key: "config/flags", limit: "1" });
    expect(gone).toMatchObject({ found: false, value: null, version: 0, more: true, versions: [{ version: 2, operation: "deleted" }] });
    const older = await api.get<KeyView>(`${ns}/key`, { key: "config/flags", before: String(gone.versions[0]?.revision) });
    expect(older.versions.map(({ version }) => version)).toEqual([2, 1]);
  });

  test("runs by status and tag; a run with its input, steps, result and take-over", async () => {
    await using api = await openBusy(name);
    expect((await api.get<RunsPage>(`${ns}/runs`)).runs.map(({ runId, status }) => [runId, status])).toEqual([
      ["links", "created"],
      ["import", "done"],
    ]);
    expect((await api.get<RunsPage>(`${ns}/runs`, { status: "done", tag: ["team=shop"] })).runs.map(({ runId }) => runId)).toEqual(["import"]);
    expect((await api.get<RunsPage>(`${ns}/runs`, { tag: "team=other" })).runs).toEqual([]);
    const found = async (query: Readonly<Record<string, string>>) => (await api.get<RunsPage>(`${ns}/runs`, query)).runs.map(({ runId }) => runId);
    expect(await Promise.all([found({ q: "NIGHTLY" }), found({ q: "impor" }), found({ q: "elsewhere" }), found({ agent: "nobody" })])).toEqual([["import"], ["import"], [], []]);
    const detail = await api.get<RunDetail>(`${ns}/run`, { id: "import" });
    expect(detail).toMatchObject({
      run: { name: "nightly import", status: "done", tags: { team: "shop" }, agent: "worker-2", lastStep: 2, attempts: 2, priority: 3, startedAtMs: 1_800_000_060_000 },
      input: { from: "feed" },
      result: "imported",
      steps: [
        { step: 1, output: { rows: 10 }, agent: "worker-1" },
        { step: 2, output: { rows: 20 }, agent: "worker-2" },
      ],
      moreSteps: false,
      timelineComplete: true,
    });
    expect(detail.timeline.map(({ what, agent, step }) => [what, agent ?? null, step ?? null])).toEqual([
      ["created", null, null],
      ["claimed", "worker-1", null],
      ["step", "worker-1", 1],
      ["lapsed", null, null],
      ["taken over", "worker-2", null],
      ["step", "worker-2", 2],
      ["done", "worker-2", null],
    ]);
    expect((await api.get<RunDetail>(`${ns}/run`, { id: "import", stepsBefore: "2" })).steps.map(({ step }) => step)).toEqual([1]);
  });

  test("leases with their holder, token, age and run", async () => {
    await using api = await openBusy(name);
    await api.agent("workflow_claim", { run_id: "links", agent_id: "worker-3", ttl_seconds: 60 });
    const first = await api.get<LeasesAnswer>(`${ns}/leases`, { limit: "1" });
    expect(first).toMatchObject({ more: true, leases: [{ resource: "deploy", holder: "worker-2", heldSinceMs: 1_800_000_105_000, waiting: 0 }] });
    const second = await api.get<LeasesAnswer>(`${ns}/leases`, { cursor: first.next as string });
    expect(second).toMatchObject({
      more: false,
      leases: [{ resource: "workflow/links", holder: "worker-3", runId: "links", runName: "link check", expiresAtMs: 1_800_000_165_000 }],
    });
  });

  test("the journal is filtered by who wrote, by tag and by text, and its pages together have every match", async () => {
    const api = openMemoryApi();
    for (let i = 0; i < 40; i += 1)
      await api.agent("checkpoint", {
        action: "save",
        workspace: "shop",
        description: `entry ${i}${i % 4 === 0 ? " about Refunds" : ""}`,
        ...(i % 10 === 0 ? { tags: ["bug"] } : {}),
        ...(i === 7 ? { activeFiles: ["src/refunds/round.ts"] } : {}),
      });
    const read = async (query: Record<string, string>) => {
      const found: string[] = [];
      for (let before: string | undefined; ; ) {
        const page = await api.get<JournalPage>(`${ns}/journal`, { ...query, limit: "3", ...(before === undefined ? {} : { before }) });
        expect(page.entries.length).toBeLessThanOrEqual(3);
        found.push(...page.entries.map(({ text }) => text));
        before = page.next;
        if (before === undefined) return found;
      }
    };
    expect(await read({ tag: "bug" })).toEqual([30, 20, 10, 0].map((i) => expect.stringMatching(new RegExp(`^entry ${i}\\b`))));
    expect(await read({ q: "refunds" })).toHaveLength(11);
    expect(await read({ q: "refunds", tag: "bug" })).toEqual(["entry 20 about Refunds", "entry 0 about Refunds"]);
    const { writer } = (await api.get<JournalPage>(`${ns}/journal`)).entries[0] as JournalRow;
    expect(await read({ who: writer })).toHaveLength(40);
    expect(await read({ who: "somebody else" })).toEqual([]);
  });

  test("a research checkpoint is read whole, and what it does not have is absent, never null", async () => {
    const api = openMemoryApi();
    const { checkpoint_id: id } = await api.agent("save_checkpoint", { core_question: "Which?", thesis: "This one.", confidence: 0.5 });
    const checkpoint = await api.get<ResearchAnswer>(`${ns}/checkpoint`, { id: String(id) });
    expect(checkpoint).toMatchObject({ id, question: "Which?", thesis: "This one.", confidence: 0.5, trigger: "synthesis", sources: [], openQuestions: [], contributions: [] });
    expect(Object.values(checkpoint)).not.toContain(null);
    expect(checkpoint).not.toHaveProperty("action");
    expect(await refusalOf(api.get(`${ns}/checkpoint`, { id: "none" }))).toMatchObject({ code: "not_found" });
  });

  test("the journal of all workspaces and of one, newest first, by page and by id", async () => {
    await using api = await openBusy(name);
    for (const [text, workspace] of [
      ["first", "shop"],
      ["second", "docs"],
      ["third", "shop"],
    ] as const) {
      api.clock.advance(1_000);
      await writeJournal(api, text, workspace);
    }
    const page = await api.get<JournalPage>(`${ns}/journal`, { limit: "2" });
    expect(page.entries.map(({ text, workspace, writer }) => [text, workspace, writer])).toEqual([
      ["third", "shop", "fleet"],
      ["second", "docs", "fleet"],
    ]);
    expect(page.entries[0]).toMatchObject({ highlights: ["one thing"], files: ["a.ts"], tags: ["t"], branch: "main" });
    expect((await api.get<JournalPage>(`${ns}/journal`, { before: page.next as string })).entries.map(({ text }) => text)).toEqual(["first"]);
    const shop = page.workspaces.find((workspace) => workspace.name === "shop");
    expect((await api.get<JournalPage>(`${ns}/journal`, { workspace: shop?.id as string })).entries.map(({ text }) => text)).toEqual(["third", "first"]);
    const id = page.entries[1]?.id as string;
    const texts = async (query: Record<string, string>) => (await api.get<JournalPage>(`${ns}/journal`, query)).entries.map(({ text }) => text);
    expect(await texts({ q: "SECOND" })).toEqual(["second"]);
    expect(await texts({ who: "nobody" })).toEqual([]);
    expect(await texts({ tag: "none" })).toEqual([]);
    expect((await api.get<JournalPage>(`${ns}/journal`, { id })).entries).toMatchObject([{ id, text: "second" }]);
    expect(await refusalOf(api.get(`${ns}/journal`, { id: "cp-none" }))).toMatchObject({ code: "not_found" });
  });

  test("notes of every status with what they are about, and one with its versions", async () => {
    await using api = await openBusy(name);
    const { notes } = await api.get<NotesPage>(`${ns}/notes`);
    expect(notes).toMatchObject([
      { name: "@deploy/window", id: "window", skill: "deploy", status: "archived", title: "Deploy between nine and three." },
      { name: "ports", id: "ports", status: "active", trust: "medium", title: "Which port", keywords: ["listen"], source: "run book", version: 1 },
    ]);
    expect((await api.get<NotesPage>(`${ns}/notes`, { status: "archived" })).notes.map((note) => note.name)).toEqual(["@deploy/window"]);
    const first = await api.get<NotesPage>(`${ns}/notes`, { limit: "1" });
    expect((await api.get<NotesPage>(`${ns}/notes`, { limit: "1", cursor: first.next as string })).notes.map((note) => note.name)).toEqual(["ports"]);
    await api.agent("save_knowledge", { id: "ports", content: "The server listens on 8080." });
    const view = await api.get<NoteView>(`${ns}/note`, { name: "ports" });
    expect(view).toMatchObject({ note: { version: 2, content: "The server listens on 8080." }, more: false });
    expect(view.versions.map(({ version, value }) => [version, (value as { content: string }).content])).toEqual([
      [2, "The server listens on 8080."],
      [1, "# Which port\n\nThe server listens on 8000."],
    ]);
    expect(await refusalOf(api.get(`${ns}/note`, { name: "none" }))).toMatchObject({ code: "not_found" });
  });

  test("research with its question, and everything by searching for it", async () => {
    await using api = await openBusy(name);
    await writeJournal(api, "Raised the limit of the importer", "shop");
    const { checkpoints } = await api.get<ResearchPage>(`${ns}/research`);
    expect(checkpoints).toMatchObject([{ question: "Why is it slow?", thesis: "The cache expires everywhere at once.", confidence: 0.6 }]);
    const search = async (q: string) =>
      (await api.get<SearchResults>(`${ns}/search`, { q })).hits.map(({ kind, id }) => (kind === "journal" || kind === "research" ? kind : `${kind} ${id}`));
    expect(await search("FLAGS")).toEqual(["key config/flags"]);
    expect(await search("import")).toEqual(["run import", "journal"]);
    expect(await search("deploy")).toEqual(["lease deploy"]);
    expect(await search("which port does it listen on")).toEqual(["note ports"]);
    expect(await search("cache expires")).toEqual(["research"]);
    expect(await search("team=shop")).toEqual(expect.arrayContaining(["run import"]));
    expect(await search("zebra")).toEqual([]);
  });

  test("health in words, and the tools with the forms of their arguments", async () => {
    await using api = await openBusy(name);
    expect(await api.get<HealthAnswer>(`${ns}/health`)).toMatchObject({ status: "ok", engine: name.toLowerCase() });
    const { tools } = await api.get<ToolsView>("/api/tools");
    expect(tools.map((tool) => tool.name)).toEqual(catalog.map((tool) => tool.name));
    expect(tools.find((tool) => tool.name === "lease_acquire")).toMatchObject({
      effect: "write-idempotent",
      toolset: "lease",
      input: { type: "object", required: ["resource_id", "holder_id", "ttl_seconds"] },
    });
  });

  test("a saved session's id is nowhere to be read, and its beginning finds nothing", async () => {
    await using api = await openBusy(name);
    const paths = ["overview", "activity", "keys", "folders", "runs", "leases", "journal", "notes", "research", "health"];
    const answers = await Promise.all([
      ...paths.map((path) => api.get(`${ns}/${path}`)),
      api.get(`${ns}/activity`, { kind: "session" }),
      api.get(`${ns}/activity`, { heartbeats: "true", limit: "200" }),
      api.get(`${ns}/search`, { q: sessionId }),
    ]);
    expect(JSON.stringify(answers)).not.toContain(sessionId);
    expect((await api.get<ActivityAnswer>(`${ns}/activity`, { kind: "session" })).items).toMatchObject([{ kind: "session", operation: "saved", subject: "a session" }]);
    expect((await api.get<ActivityAnswer>(`${ns}/activity`, { subject: sessionId.slice(0, 8) })).items).toEqual([]);
    expect((await api.get<ActivityAnswer>(`${ns}/activity`, { subject: sessionId.slice(0, 8), kind: "session" })).items).toEqual([]);
  });
});

describe("searching where there is much", () => {
  test("shows the first ten of a kind and says that there are more, or how many it looked through", async () => {
    const { get, agent, base } = openMemoryApi();
    for (let i = 0; i < 11; i += 1) await agent("state_set", { key: `log/${i}`, value: i });
    const search = (q: string) => get<SearchResults>(`${ns}/search`, { q });
    const found = await search("log/");
    expect([found.hits.length, found.more, found.looked]).toEqual([10, ["key"], {}]);
    await agent("state_delete", { key: "log/10" });
    expect(await search("og/")).toMatchObject({ hits: { length: 10 }, more: [], looked: {} });
    for (let from = 0; from < 2_100; from += 100) {
      const writes = Array.from({ length: 100 }, (_, i) => ({ op: "put" as const, key: `state/bulk/${from + i}`, value: 1 }));
      await base.store.commit({ writes, writer: "fleet" });
    }
    for (let i = 0; i < 201; i += 1) await agent("workflow_create", { name: `job ${i}` });
    for (let i = 0; i < 301; i += 1) await agent("lease_acquire", { resource_id: `gpu/${i}`, holder_id: "worker-1", ttl_seconds: 600 });
    expect(await search("zebra")).toEqual({ hits: [], more: [], looked: { key: 2_000, run: 200, lease: 300 } });
    expect(await search("job")).toMatchObject({ more: ["run"], looked: { key: 2_000, lease: 300 } });
  });

  test("names the claim of a run by the run's name", async () => {
    const { get, agent } = openMemoryApi();
    await agent("workflow_create", { name: "nightly import", run_id: "wf-1" });
    await agent("workflow_claim", { run_id: "wf-1", agent_id: "worker-7" });
    const { hits } = await get<SearchResults>(`${ns}/search`, { q: "worker-7" });
    expect(hits.filter(({ kind }) => kind === "lease")).toMatchObject([{ id: "workflow/wf-1", title: "nightly import", excerpt: "held by worker-7" }]);
  });
});

describe("the list of routes", () => {
  test("has every route that the contract names, and the contract names every one", () => {
    const source = readFileSync(new URL("../../../src/surfaces/dashboard/api.ts", import.meta.url), "utf8");
    const named = [...source.matchAll(/(GET|POST|DELETE) (\/api\/[\w/:]+|…\/[\w/]+)/g)].map(
      ([, method, path]) => `${method} ${(path as string).replace("…", "/api/ns/:namespace")}`,
    );
    const { routes } = openMemoryApi();
    expect([...new Set(named)].sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort());
    expect(named.length).toBeGreaterThan(20);
  });

  test("asks for the role that each deserves: looking for read, changing for write, tokens for admin", () => {
    const { routes } = openMemoryApi();
    const needing = (role: string) => routes.filter(({ needs }) => needs === role).map(({ method, path }) => `${method} ${path.replace("/api/ns/:namespace/", "")}`);
    expect(needing("write").sort()).toEqual(["POST effects/resolve", "POST leases/release", "POST notes/change", "POST runs/cancel", "POST runs/return"]);
    expect(needing("admin").sort()).toEqual(["DELETE /api/tokens/:id", "GET /api/tokens", "POST /api/tokens"]);
    // Which tools may be called is said by the caller's own list of them.
    expect(needing("read").filter((route) => !route.startsWith("GET"))).toEqual(["POST tools/:tool"]);
  });

  test("has nothing that changes on a server that takes no change", async () => {
    const { routes, get } = openMemoryApi({ readOnly: true });
    expect(routes.filter(({ method }) => method !== "GET").map(({ path }) => path)).toEqual(["/api/ns/:namespace/tools/:tool"]);
    expect(await get<Me>("/api/me")).toMatchObject({ readOnly: true });
  });

  test("names so many namespaces and says how many more there are, the caller's default one always among them", async () => {
    const { get, engine, clock } = openMemoryApi();
    for (let i = 0; i < namespacesListed + 4; i += 1)
      await openNamespaceStore(engine, `n${i}`, clock).commit({ writes: [{ op: "put", key: "state/k", value: 1 }], writer: "tester" });
    const { namespaces, namespacesOmitted } = await get<Me>("/api/me");
    expect([namespaces.length, namespaces.includes("team"), namespacesOmitted]).toEqual([namespacesListed, true, 5]);
    const few = await get<Me>("/api/me", {}, { name: "few", role: "read", namespaces: ["n2", "n1003", "team", "not yet"], kind: "token" });
    expect(few).toMatchObject({ namespaces: ["n1003", "n2", "team"] });
    expect(few).not.toHaveProperty("namespacesOmitted");
  });
});
