import type { Client } from "@modelcontextprotocol/client";
import { describe, expect, test } from "vitest";
import { adoptEntry } from "../../src/domain/journal/adopt-entry.ts";
import { checkpointId } from "../../src/domain/research/checkpoint-id.ts";
import { instructionsCharactersMax, instructionsFor } from "../../src/surfaces/mcp/instructions.ts";
import { promptsFor } from "../../src/surfaces/mcp/prompts.ts";
import { subscribedUrisMax } from "../../src/surfaces/mcp/subscriptions.ts";
import { catalog } from "../../src/tools/catalog.ts";
import { profiles, selectTools } from "../../src/tools/profiles.ts";
import { toolsets } from "../../src/tools/tool.ts";
import { manualClock } from "../support/manual-clock.ts";
import { connectClient, contextOn, eras } from "../support/mcp-connection.ts";
import { until } from "../support/soon.ts";
import { WatchedEngine } from "../support/watched-engine.ts";

describe.each(eras)("the SDK's own client in the %s era", (era) => {
  test("meets the server by name, version, instructions and capabilities", async () => {
    await using session = await connectClient(era);
    const { client } = session;
    expect(client.getServerVersion()).toMatchObject({ name: "holdfast", version: "9.9.9" });
    expect(client.getInstructions()).toBe(instructionsFor(catalog));
    expect(client.getServerCapabilities()).toMatchObject({ tools: {}, resources: { subscribe: true }, completions: {}, prompts: {} });
  });

  test("lists every tool with both schemas and annotations", async () => {
    await using session = await connectClient(era);
    const { tools } = await session.client.listTools();
    expect(tools.map((tool) => tool.name)).toEqual(catalog.map((tool) => tool.name));
    for (const tool of tools) expect(tool).toMatchObject({ inputSchema: { type: "object" }, outputSchema: { type: "object" }, annotations: { openWorldHint: false } });
  });

  test("gets structured content that fits the declared schema, and the same as text", async () => {
    await using session = await connectClient(era);
    const { client } = session;
    await client.listTools(); // Now the client checks structured content against the declared schemas.
    await client.callTool({ name: "state_set", arguments: { key: "plan", value: { step: 1 } } });
    const result = await client.callTool({ name: "state_get", arguments: { key: "plan" } });
    expect(result.structuredContent).toMatchObject({ found: true, key: "plan", value: { step: 1 }, version: 1 });
    expect(result.content).toEqual([{ type: "text", text: JSON.stringify(result.structuredContent) }]);
    expect(result.isError).toBeUndefined();
  });

  test("sees a refusal as a tool error with a code of the closed table", async () => {
    await using session = await connectClient(era);
    const result = await session.client.callTool({ name: "workflow_status", arguments: { run_id: "wf-none" } });
    expect(result.isError).toBe(true);
    expect(result.structuredContent).toMatchObject({ error: { code: "not_found" } });
    expect(JSON.parse((result.content as { text: string }[])[0]?.text as string)).toEqual(result.structuredContent);
  });

  test("gets an error for a tool that is not offered, whether it does not exist or was left out", async () => {
    await using session = await connectClient(era, { tools: selectTools({ readOnly: true }) });
    const message = async (name: string) =>
      session.client.callTool({ name, arguments: { key: "k", value: 1 } }).then(
        () => "answered",
        (error: Error & { code?: number }) => `${error.code} ${error.message}`,
      );
    expect(await message("state_sett")).toMatch(/^-32602 .*state_sett/);
    expect((await message("state_set")).replaceAll("state_set", "NAME")).toBe((await message("no_such")).replaceAll("no_such", "NAME"));
  });

  test("may repeat a write under a request key without a second effect", async () => {
    await using session = await connectClient(era);
    const { client } = session;
    const write = (value: number) => client.callTool({ name: "state_set", arguments: { key: "k", value }, _meta: { "holdfast/request-key": "first try" } });
    const first = await write(1);
    expect((await write(1)).structuredContent).toEqual(first.structuredContent);
    expect((await write(2)).structuredContent).toMatchObject({ error: { code: "request_key_reused" } });
    expect((await client.callTool({ name: "state_get", arguments: { key: "k" } })).structuredContent).toMatchObject({ value: 1, version: 1 });
  });

  test("stops a long poll by cancelling it, and nothing is left waiting", async () => {
    await using engine = new WatchedEngine();
    await using session = await connectClient(era, { engine });
    const stop = new AbortController();
    const poll = session.client.callTool({ name: "state_get", arguments: { key: "k", wait_for_version_above: 0, wait_seconds: 50 } }, { signal: stop.signal });
    await until(() => engine.watchers === 1);
    stop.abort();
    await expect(poll).rejects.toThrow();
    await until(() => engine.watchers === 0);
  });

  test("reads state, runs, sessions and guides as resources", async () => {
    await using session = await connectClient(era);
    const { client } = session;
    await client.callTool({ name: "state_set", arguments: { key: "team/plan ä%", value: [1] } });
    const { structuredContent: run } = await client.callTool({ name: "workflow_create", arguments: { name: "deploy", run_id: "run-1" } });
    expect(run).toMatchObject({ run_id: "run-1" });
    await client.callTool({ name: "session_save", arguments: { session_id: "s 1", context: { goal: "x" } } });
    const read = async (uri: string) => {
      const { contents } = await client.readResource({ uri });
      expect(contents[0]).toMatchObject({ uri });
      return contents[0] as { mimeType: string; text: string };
    };
    const { resources } = await client.listResources();
    const uris = resources.map((resource) => resource.uri);
    expect(uris).toContain(`holdfast://state/${encodeURIComponent("team/plan ä%")}`);
    expect(uris).toContain("holdfast://workflow/run-1");
    expect(uris.some((uri) => uri.startsWith("holdfast://session/"))).toBe(false);
    for (const uri of uris) expect((await read(uri)).text.length).toBeGreaterThan(0);
    expect(JSON.parse((await read(`holdfast://state/${encodeURIComponent("team/plan ä%")}`)).text)).toMatchObject({ key: "team/plan ä%", value: [1], version: 1 });
    expect(JSON.parse((await read("holdfast://state/team/plan%20%C3%A4%25")).text)).toMatchObject({ value: [1] });
    expect(JSON.parse((await read("holdfast://workflow/run-1")).text)).toMatchObject({ run_id: "run-1", meta: { status: "created" } });
    expect(JSON.parse((await read("holdfast://session/s%201")).text)).toMatchObject({ context: { goal: "x" } });
    expect(await read("holdfast://guide/coordination")).toMatchObject({ mimeType: "text/markdown" });
  });

  test.each([
    "holdfast://state/none",
    "holdfast://workflow/none",
    "holdfast://session/none",
    "holdfast://guide/none",
    "holdfast://lease/x",
    "holdfast://state/%zz",
    "holdfast://state/",
    "file:///etc/passwd",
    "x",
  ])("is told that %s does not exist", async (uri) => {
    await using session = await connectClient(era);
    await expect(session.client.readResource({ uri })).rejects.toMatchObject({ code: -32602, message: expect.stringContaining(uri) });
  });

  test("walks all resources in bounded pages, each exactly once", async () => {
    await using session = await connectClient(era);
    const { client } = session;
    for (let i = 0; i < 130; i += 1) await client.callTool({ name: "state_set", arguments: { key: `key ${i}`, value: i } });
    for (let i = 0; i < 130; i += 1) await client.callTool({ name: "workflow_create", arguments: { name: "n", run_id: `run-${i}` } });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      // Raw pages: the client's own helper walks them by itself.
      const page: { resources: { uri: string }[]; nextCursor?: string } = await client.request({ method: "resources/list", params: cursor === undefined ? {} : { cursor } });
      expect(page.resources.length).toBeLessThanOrEqual(100);
      seen.push(...page.resources.map((resource) => resource.uri));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((uri) => uri.startsWith("holdfast://state/"))).toHaveLength(130);
    expect(seen.filter((uri) => uri.startsWith("holdfast://workflow/"))).toHaveLength(130);
    await expect(client.request({ method: "resources/list", params: { cursor: "made-up" } })).rejects.toMatchObject({ code: -32602 });
  });

  test("loses nothing where a page ends exactly at the last key", async () => {
    await using session = await connectClient(era);
    const { client } = session;
    const { resources: guides } = await client.listResources();
    for (let i = guides.length; i < 100; i += 1) await client.callTool({ name: "state_set", arguments: { key: `key ${i}`, value: i } });
    await client.callTool({ name: "workflow_create", arguments: { name: "n", run_id: "run-1" } });
    const { resources } = await client.listResources();
    expect(resources).toHaveLength(101);
    expect(resources.at(-1)?.uri).toBe("holdfast://workflow/run-1");
  });

  test("offers no resource whose tool was left out", async () => {
    await using session = await connectClient(era, { tools: catalog.filter((tool) => tool.toolset === "state") });
    const { client } = session;
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map((template) => template.uriTemplate)).toEqual(["holdfast://state/{key}"]);
    await expect(client.readResource({ uri: "holdfast://session/x" })).rejects.toMatchObject({ code: -32602 });
    expect(client.getServerCapabilities()?.prompts).toBeUndefined();
  });

  test("completes keys and run ids by prefix, a hundred at most, and no session ids, which only those know who saved it", async () => {
    await using session = await connectClient(era);
    const { client } = session;
    for (let i = 0; i < 105; i += 1) await client.callTool({ name: "state_set", arguments: { key: `many/${i}`, value: i } });
    await client.callTool({ name: "state_set", arguments: { key: "one", value: 1 } });
    await client.callTool({ name: "workflow_create", arguments: { name: "n", run_id: "run-1" } });
    await client.callTool({ name: "session_save", arguments: { session_id: "s1", context: {} } });
    const complete = async (uri: string, name: string, value: string) => (await client.complete({ ref: { type: "ref/resource", uri }, argument: { name, value } })).completion;
    expect(await complete("holdfast://state/{key}", "key", "on")).toMatchObject({ values: ["one"], hasMore: false });
    const many = await complete("holdfast://state/{key}", "key", "many/");
    expect(many.values).toHaveLength(100);
    expect(many.hasMore).toBe(true);
    expect(await complete("holdfast://workflow/{run_id}", "run_id", "r")).toMatchObject({ values: ["run-1"] });
    expect(await complete("holdfast://session/{session_id}", "session_id", "")).toMatchObject({ values: [], hasMore: false });
    expect((await client.complete({ ref: { type: "ref/prompt", name: "handoff" }, argument: { name: "run_id", value: "run" } })).completion.values).toEqual(["run-1"]);
    await expect(complete("holdfast://nothing/{x}", "x", "")).rejects.toMatchObject({ code: -32602 });
  });

  test("reads a journal entry, a research checkpoint and a note as the record alone, by the exact id", async () => {
    await using session = await connectClient(era);
    const { client } = session;
    const { checkpointId, checkpoint_id } = await saveMemories(client);
    const read = async (uri: string) => (await client.readResource({ uri })).contents[0] as { mimeType: string; text: string };
    const entry = await read(`holdfast://journal/${checkpointId}`);
    expect(entry.mimeType).toBe("application/json");
    expect(JSON.parse(entry.text)).toMatchObject({ checkpointId, description: "moved the queue", highlights: ["first"], savedBy: "tester" });
    expect(JSON.parse((await read(`holdfast://research/${checkpoint_id}`)).text)).toMatchObject({ id: checkpoint_id, thesis: "Caching halves the cost", confidence: 0.8 });
    expect(JSON.parse((await read("holdfast://knowledge/deploy")).text)).toMatchObject({ name: "deploy", content: "needs the tunnel", trust: "medium", status: "active" });
    expect(JSON.parse((await read("holdfast://knowledge/%40shipping%2Flimits")).text)).toMatchObject({ id: "limits", scope: "skill:shipping" });
    expect(JSON.parse((await read("holdfast://knowledge/@shipping/limits")).text)).toMatchObject({ id: "limits" });
    for (const uri of [
      `holdfast://journal/${checkpointId.slice(0, -1)}`,
      `holdfast://research/${checkpoint_id.slice(0, -1)}`,
      "holdfast://knowledge/doubtful",
      "holdfast://journal/a%00b",
    ])
      await expect(client.readResource({ uri }), uri).rejects.toMatchObject({ code: -32602 });
  });

  test("sees memories listed by id without what stands in them, and completes those ids", async () => {
    await using session = await connectClient(era);
    const { client } = session;
    const { checkpointId, checkpoint_id } = await saveMemories(client);
    const listed = (await client.listResources()).resources.filter(({ uri }) => /:\/\/(journal|research|knowledge)\//.test(uri));
    expect(listed.map(({ name }) => name)).toEqual([checkpointId, checkpoint_id, "@shipping/limits", "deploy"]);
    expect(JSON.stringify(listed)).not.toMatch(/moved the queue|tunnel|first/);
    for (const { uri } of listed) expect((await client.readResource({ uri })).contents).toHaveLength(1);
    const complete = async (uri: string, name: string, value: string) =>
      (await client.complete({ ref: { type: "ref/resource", uri }, argument: { name, value } })).completion.values;
    expect(await complete("holdfast://journal/{checkpointId}", "checkpointId", "cp-")).toEqual([checkpointId]);
    expect(await complete("holdfast://research/{checkpoint_id}", "checkpoint_id", checkpoint_id.slice(0, 10))).toEqual([checkpoint_id]);
    expect(await complete("holdfast://knowledge/{id}", "id", "d")).toEqual(["deploy"]);
    expect(await complete("holdfast://knowledge/{id}", "id", "@ship")).toEqual(["@shipping/limits"]);
  });

  test("walks many memories in bounded pages, each exactly once, journal and research newest first", async () => {
    await using session = await connectClient(era);
    const { client } = session;
    const call = (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args });
    for (let i = 0; i < 70; i += 1) {
      await call("checkpoint", { description: `entry ${i}` });
      await call("save_checkpoint", { core_question: `question ${i}`, thesis: `thesis ${i}`, confidence: 0.5 });
      await call("save_knowledge", { id: `note-${String(i).padStart(2, "0")}`, content: `fact ${i}`, trust: i % 2 === 0 ? "medium" : "quarantined" });
    }
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page: { resources: { uri: string }[]; nextCursor?: string } = await client.request({ method: "resources/list", params: cursor === undefined ? {} : { cursor } });
      expect(page.resources.length).toBeLessThanOrEqual(100);
      seen.push(...page.resources.map((resource) => resource.uri));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(new Set(seen).size).toBe(seen.length);
    const of = (kind: string) => seen.filter((uri) => uri.startsWith(`holdfast://${kind}/`));
    expect(of("journal")).toHaveLength(70);
    expect(of("research")).toHaveLength(70);
    expect(of("research")[0]).toMatch(/thesis-69$/);
    expect(of("knowledge")).toHaveLength(35);
    const { contents } = await client.readResource({ uri: of("journal")[0] as string });
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ description: "entry 69" });
  });

  test.each([
    ["goldfish", ["holdfast://journal/{checkpointId}"], ["checkpoint", "handoff"]],
    ["sage", ["holdfast://research/{checkpoint_id}", "holdfast://knowledge/{id}"], []],
    [
      "coding",
      ["holdfast://state/{key}", "holdfast://workflow/{run_id}", "holdfast://session/{session_id}", "holdfast://journal/{checkpointId}"],
      ["checkpoint", "resume", "handoff"],
    ],
  ])("with the profile %s is offered just the resources and prompts of its tools", async (profile, templates, prompts) => {
    await using session = await connectClient(era, { tools: selectTools({ profile }) });
    const { client } = session;
    expect((await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(templates);
    if (prompts.length === 0) expect(client.getServerCapabilities()?.prompts).toBeUndefined();
    else expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(prompts);
  });

  test("hears of a note that changes, and of an entry and a research checkpoint that come to be", async () => {
    const clock = manualClock();
    await using engine = new WatchedEngine(clock);
    await using listener = await connectClient(era, { engine, clock });
    await using writer = await connectClient(era, { engine, clock });
    const told: string[] = [];
    listener.client.setNotificationHandler("notifications/resources/updated", ({ params }) => void told.push(params.uri));
    const thesis = "Caching halves the cost";
    const [note, entry, research] = [
      "holdfast://knowledge/%40shipping%2Flimits",
      "holdfast://journal/moved-in",
      `holdfast://research/${checkpointId(clock.nowMs(), thesis, 1)}`,
    ] as const;
    if (era === "stateless") await listener.client.listen({ resourceSubscriptions: [note, entry, research] });
    else for (const uri of [note, entry, research]) await listener.client.subscribeResource({ uri });
    const call = (name: string, args: Record<string, unknown>) => writer.client.callTool({ name, arguments: args });
    await call("save_knowledge", { id: "limits", content: "of everybody" });
    for (const content of ["of shipping", "of shipping, newer"]) {
      await call("save_knowledge", { id: "limits", content, skill: "shipping" });
      await until(() => told.length >= 1);
      expect(told.splice(0)).toEqual([note]);
    }
    await call("save_checkpoint", { core_question: "What does it cost?", thesis, confidence: 0.8 });
    await until(() => told.length >= 1);
    expect(told.splice(0)).toEqual([research]);
    const { store, writer: principal } = contextOn(engine, { clock });
    const foreign = { id: "moved-in", createdAtMs: 1, sessionId: "s", global: false, description: "before", highlights: [], activeFiles: [], tags: [] };
    await adoptEntry({ store, clock, writer: principal }, foreign, { id: "ws-0123456789abcdef", name: "engine" }, { dryRun: false });
    await until(() => told.length >= 1);
    expect(told).toEqual([entry]);
  });

  test("gets prompts that hold nothing stored, with their arguments quoted", async () => {
    await using session = await connectClient(era);
    const { client } = session;
    await saveMemories(client);
    const textOf = async (name: string, args: Record<string, string> = {}) => {
      const { messages } = await client.getPrompt({ name, arguments: args });
      return messages.map(({ content }) => (content as { text: string }).text).join("\n");
    };
    const { prompts } = await client.listPrompts();
    for (const { name } of prompts) expect(await textOf(name), name).not.toMatch(/moved the queue|tunnel|halves/);
    expect(await textOf("resume", { query: 'ignore "this"\nand that' })).toContain(String.raw`resume with query "ignore \"this\"\nand that".`);
    expect(await textOf("checkpoint", { focus: "a\n2. b" })).toContain(String.raw`"a\n2. b"`);
    await expect(client.getPrompt({ name: "resume", arguments: { focus: "x" } })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining("workspace, agent_id, query"),
    });
  });

  test("gets the enrich prompt with the ids of some notes that have no questions, and can do what it asks", async () => {
    await using session = await connectClient(era);
    const { client } = session;
    const call = async (name: string, args: Record<string, unknown>) => (await client.callTool({ name, arguments: args })).structuredContent as Record<string, unknown>;
    const text = async () => {
      const { messages } = await client.getPrompt({ name: "enrich" });
      return messages.map(({ content }) => (content as { text: string }).text).join("\n");
    };
    expect(await text()).toContain("Every active note has questions.");
    await call("save_knowledge", { id: "asked", content: "Has some.", questions: ["Has it any?"] });
    await call("save_knowledge", { id: "old", content: "Nobody needs it.", status: "deprecated" });
    await call("save_knowledge", { id: "bad", content: "Nobody trusts it.", trust: "quarantined" });
    for (let i = 1; i <= 11; i += 1)
      await call("save_knowledge", {
        id: `note-${i}`,
        content: `Machine ${i} has a note on its door.`,
        keywords: [`m${i}`],
        source: "a walk",
        ...(i === 2 ? { skill: "ops" } : {}),
      });
    const first = await text();
    const named = [...(/have no questions: (.*?)\. In @/.exec(first)?.[1] ?? "").matchAll(/"([^"]+)"/g)].map(([, name]) => name as string);
    expect(named).toEqual(["@ops/note-2", "note-1", "note-10", "note-11", "note-3", "note-4", "note-5", "note-6", "note-7", "note-8"]);
    expect(first).toContain("sending this prompt again");
    expect(first).not.toContain("Machine");
    for (const name of named) {
      const [, skill, id = name] = /^@([^/]+)\/(.+)$/.exec(name) ?? [];
      const { items } = (await call("recall_knowledge", { query: id, skill })) as { items: { id: string; content: string }[] };
      const content = items.find((item) => item.id === id)?.content;
      expect(content, name).toMatch(/^Machine/);
      await call("save_knowledge", { id, skill, content, questions: [`What hangs on machine ${id}?`] });
    }
    const { text: kept } = (await client.readResource({ uri: "holdfast://knowledge/note-3" })).contents[0] as { text: string };
    expect(JSON.parse(kept)).toMatchObject({ keywords: ["m3"], source: "a walk", questions: ["What hangs on machine note-3?"], version: 2 });
    const last = await text();
    expect(last).toContain('have no questions: "note-9". In @');
    expect(last).not.toContain("sending this prompt again");
  });

  test("gets the handoff prompt with its arguments quoted", async () => {
    await using session = await connectClient(era);
    const { client } = session;
    expect((await client.listPrompts()).prompts.map((prompt) => prompt.name)).toEqual(["checkpoint", "resume", "handoff", "enrich"]);
    const { messages } = await client.getPrompt({ name: "handoff", arguments: { session_id: 'a"b\nc' } });
    expect(JSON.stringify(messages)).toContain(JSON.stringify('"a\\"b\\nc"').slice(1, -1));
    await expect(client.getPrompt({ name: "handoff", arguments: { who: "x" } })).rejects.toMatchObject({ code: -32602 });
    await expect(client.getPrompt({ name: "other" })).rejects.toMatchObject({ code: -32602 });
  });

  test("hears of changes that another connection makes to what it subscribed to, and of nothing else", async () => {
    await using engine = new WatchedEngine();
    await using listener = await connectClient(era, { engine });
    await using writer = await connectClient(era, { engine });
    const told: string[] = [];
    listener.client.setNotificationHandler("notifications/resources/updated", ({ params }) => void told.push(params.uri));
    const uris = ["holdfast://state/a%2Fb", "holdfast://state/a/b", "holdfast://workflow/run-1", "holdfast://session/s"];
    const subscription = era === "stateless" ? await listener.client.listen({ resourceSubscriptions: uris }) : undefined;
    if (era === "handshake") for (const uri of uris) await listener.client.subscribeResource({ uri });
    expect(engine.watchers).toBe(1);
    const call = (name: string, args: Record<string, unknown>) => writer.client.callTool({ name, arguments: args });
    await call("state_set", { key: "other", value: 1 });
    await call("state_set", { key: "a/b", value: 1 });
    await until(() => told.length >= 2);
    expect(told.splice(0).sort()).toEqual(["holdfast://state/a%2Fb", "holdfast://state/a/b"]);
    await call("session_save", { session_id: "s", context: {} });
    await until(() => told.length >= 1);
    expect(told.splice(0)).toEqual(["holdfast://session/s"]);
    for (const [name, args] of [
      ["workflow_create", { name: "n", run_id: "run-1" }],
      ["workflow_claim", { run_id: "run-1", agent_id: "x" }],
      ["workflow_checkpoint", { run_id: "run-1", step: 1, output: {}, agent_id: "x" }],
      ["lease_renew", { resource_id: "workflow/run-1", holder_id: "x", ttl_seconds: 60 }],
    ] as const) {
      await call(name, args);
      await until(() => told.length >= 1);
      expect(told.splice(0)).toEqual(["holdfast://workflow/run-1"]);
    }
    if (subscription === undefined) for (const uri of uris) await listener.client.unsubscribeResource({ uri });
    else await subscription.close();
    await until(() => engine.watchers === 0);
    await call("state_set", { key: "a/b", value: 2 });
    await listener.client.callTool({ name: "state_get", arguments: { key: "a/b" } });
    expect(told).toEqual([]);
  });

  test("may subscribe to many resources, and gets the limit when it exceeds it", async () => {
    await using session = await connectClient(era);
    const { client } = session;
    const uris = Array.from({ length: subscribedUrisMax }, (_, i) => `holdfast://state/${i}`);
    const subscribe = async (some: readonly string[]) => {
      if (era === "stateless") await client.listen({ resourceSubscriptions: [...some] });
      else for (const uri of some) await client.subscribeResource({ uri });
    };
    await subscribe(uris);
    await expect(subscribe(["holdfast://state/more"])).rejects.toThrow(String(subscribedUrisMax));
    expect((await client.callTool({ name: "state_get", arguments: { key: "k" } })).isError).toBeUndefined();
  });

  test("leaves no watcher behind when it goes away", async () => {
    await using engine = new WatchedEngine();
    const session = await connectClient(era, { engine });
    if (era === "stateless") await session.client.listen({ resourceSubscriptions: ["holdfast://state/k"] });
    else await session.client.subscribeResource({ uri: "holdfast://state/k" });
    expect(engine.watchers).toBe(1);
    await session[Symbol.asyncDispose]();
    expect(engine.watchers).toBe(0);
  });
});

test.each(["all", "coding", "coordination", "agentcheckpoint", "sidecar", "sage"])("the instructions for the profile %s stay below what clients cut off", (profile) => {
  expect(instructionsFor(selectTools({ profile })).length).toBeLessThan(instructionsCharactersMax);
  expect(instructionsFor(selectTools({ profile, readOnly: true })).length).toBeLessThan(instructionsCharactersMax);
});

test("the instructions of a read-only server ask for nothing that it refuses", () => {
  const said = instructionsFor(selectTools({ readOnly: true }));
  expect(said).toContain("read-only");
  expect(said).not.toMatch(/\bclaim\b|expected_version|lease_acquire/);
  expect(instructionsFor(selectTools({}))).toMatch(/\bclaim\b/);
});

test("instructions name only tools that are offered", () => {
  for (const tool of catalog) {
    const rest = catalog.filter((other) => other !== tool);
    const said = instructionsFor(rest).match(/\b[a-z]+_[a-z]+\b/g) ?? [];
    expect(said, tool.name).not.toContain(tool.name);
  }
});

test("prompts name only tools that are offered", () => {
  for (const tool of catalog) {
    const rest = catalog.filter((other) => other !== tool);
    const prompts = promptsFor(rest);
    for (const prompt of prompts) expect(prompt.text({}).match(/\b[a-z]+_[a-z]+\b/g) ?? [], `${prompt.name} without ${tool.name}`).not.toContain(tool.name);
    if (tool.name === "checkpoint" || tool.name === "resume") expect(prompts.map(({ name }) => name)).not.toContain(tool.name);
  }
  const [handoff] = promptsFor(selectTools({ profile: "goldfish" })).slice(-1);
  expect(handoff?.text({})).not.toMatch(/session_|workflow_|lease_/);
  expect(() => handoff?.text({ run_id: "x" })).toThrow(/allowed: none/);
});

test.each([...profiles.map((profile) => ({ profile })), ...toolsets.map((toolset) => ({ toolsets: [toolset] })), { profile: "coding", readOnly: true }])(
  "with %j, prompts name only tools that are offered, whatever they are given",
  (choice) => {
    const offered = new Set(selectTools(choice).map(({ name }) => name));
    for (const prompt of promptsFor(selectTools(choice)))
      for (const args of [{}, Object.fromEntries(prompt.arguments.map(({ name }) => [name, "x"]))]) {
        const said = prompt.text(args).match(/\b[a-z]+_[a-z]+\b/g) ?? [];
        const missing = said.filter((word) => catalog.some(({ name }) => name === word) && !offered.has(word));
        expect(missing, prompt.name).toEqual([]);
      }
  },
);

async function saveMemories(client: Client): Promise<{ readonly checkpointId: string; readonly checkpoint_id: string }> {
  const call = async (name: string, args: Record<string, unknown>) => (await client.callTool({ name, arguments: args })).structuredContent as Record<string, unknown>;
  const { data } = await call("checkpoint", { description: "moved the queue", highlights: ["first"] });
  const { checkpoint_id } = await call("save_checkpoint", { core_question: "What does it cost?", thesis: "Caching halves the cost", confidence: 0.8 });
  await call("save_knowledge", { id: "deploy", content: "needs the tunnel" });
  await call("save_knowledge", { id: "limits", content: "ten at once", skill: "shipping" });
  await call("save_knowledge", { id: "doubtful", content: "who knows", trust: "quarantined" });
  return { checkpointId: (data as { checkpointId: string }).checkpointId, checkpoint_id: checkpoint_id as string };
}
