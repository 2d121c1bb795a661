import { describe, expect, test } from "vitest";
import * as z from "zod";
import { HoldfastError } from "../../src/kernel/errors.ts";
import type { Log } from "../../src/kernel/log.ts";
import { catalog } from "../../src/tools/catalog.ts";
import { runTool } from "../../src/tools/run-tool.ts";
import type { Tool, ToolContext } from "../../src/tools/tool.ts";
import { defineTool } from "../../src/tools/tool.ts";
import { openTools } from "./open-tools.ts";

/** A tool of the test's own, to see what runTool does with a handler that goes wrong. */
const toolWith = (handle: (context: ToolContext) => Promise<{ n: number }>): Tool =>
  defineTool({
    name: "probe",
    title: "Probe",
    description: "For tests.",
    toolset: "admin",
    effect: "write",
    input: z.strictObject({ agent_id: z.string().optional(), holder_id: z.string().optional() }),
    output: z.strictObject({ n: z.int() }),
    positional: [],
    handle: (context) => handle(context),
  });

describe("a defect in a handler", () => {
  const secret = "SELECT secret FROM /home/user/store.db";

  test.each([
    ["throws an error", () => Promise.reject(new TypeError(secret))],
    ["throws something that is no error", () => Promise.reject(secret)],
    [
      "throws at once",
      () => {
        throw new Error(secret);
      },
    ],
  ])("that %s becomes internal: the caller gets one fixed sentence, the log everything", async (_, handle) => {
    const { base } = openTools();
    const lines: unknown[] = [];
    const log: Log = (...line) => void lines.push(line);
    const outcome = await runTool(toolWith(handle), {}, base, {}, log);
    expect(outcome).toMatchObject({ ok: false, error: { code: "internal" } });
    expect(JSON.stringify(outcome)).not.toMatch(/SELECT|home|store\.db|\.ts/);
    expect(JSON.stringify(lines)).toContain("SELECT secret");
  });

  test.each([{ n: "1" }, { n: 1, extra: true }, {}, null])("that answers %j against its own schema becomes internal, and the log says where", async (answer) => {
    const { base } = openTools();
    const lines: unknown[] = [];
    const outcome = await runTool(
      toolWith(async () => answer as unknown as { n: number }),
      {},
      base,
      {},
      (...line) => void lines.push(line),
    );
    expect(outcome).toMatchObject({ ok: false, error: { code: "internal" } });
    expect(JSON.stringify(lines)).toContain("does not match its schema");
  });

  test("named by its code keeps code, message, hint and details", async () => {
    const { base, logged } = openTools();
    const thrown = new HoldfastError("storage_full", "The disk is full.", { hint: "Free space.", details: { bytes: 1 }, cause: new Error("ENOSPC /secret") });
    const outcome = await runTool(
      toolWith(() => Promise.reject(thrown)),
      {},
      base,
      {},
      () => {},
    );
    expect(outcome).toEqual({ ok: false, error: { code: "storage_full", message: "The disk is full.", hint: "Free space.", details: { bytes: 1 } } });
    expect(logged).toEqual([]);
  });
});

describe("the context of a call", () => {
  const contextOf = async (args: object, call = {}): Promise<ToolContext> => {
    let seen: ToolContext | undefined;
    const { base } = openTools({ writer: "os-user" });
    const tool = toolWith(async (context) => {
      seen = context;
      return { n: 1 };
    });
    expect((await runTool(tool, args, base, call, () => {})).ok).toBe(true);
    return seen as ToolContext;
  };

  test("names the agent by agent_id or holder_id, and never replaces the writer by it", async () => {
    expect(await contextOf({ agent_id: "ada" })).toMatchObject({ agent: "ada", writer: "os-user" });
    expect(await contextOf({ holder_id: "bob" })).toMatchObject({ agent: "bob", writer: "os-user" });
    expect((await contextOf({})).agent).toBeUndefined();
  });

  test("asks for the signal only when a handler does: most calls need none", async () => {
    let asked = 0;
    const call = {
      get signal() {
        asked += 1;
        return undefined;
      },
    };
    const context = await contextOf({}, call);
    expect(asked).toBe(0);
    expect(context.signal).toBeUndefined();
    expect(asked).toBe(1);
  });
});

describe("request keys", () => {
  const calls: readonly (readonly [name: string, args: object])[] = [
    ["state_set", { key: "k", value: 1 }],
    ["state_set", { key: "seen", value: 1, expected_version: 0 }],
    ["state_delete", { key: "seen" }],
    ["state_delete", { key: "never" }],
    [
      "state_commit",
      {
        writes: [
          { key: "a", value: 1 },
          { key: "seen", delete: true },
        ],
      },
    ],
    ["set_state", { key: "k", value: "1" }],
    ["set_state", { key: "seen", value: "1", expected_version: 9 }],
    ["force_set_state", { key: "k", value: "1" }],
    ["delete_state", { key: "seen" }],
    ["workflow_create", { name: "w" }],
    ["workflow_claim", { agent_id: "bob" }],
    ["workflow_checkpoint", { run_id: "run", step: 1, output: 1 }],
    ["workflow_finish", { run_id: "run", status: "failed", error: "x", retry: true }],
    ["lease_acquire", { resource_id: "r", holder_id: "ada", ttl_seconds: 5 }],
    ["lease_renew", { resource_id: "held", holder_id: "ada", ttl_seconds: 5 }],
    ["lease_release", { resource_id: "held", holder_id: "ada" }],
    ["session_save", { session_id: "s", context: {} }],
  ];

  async function openPrepared() {
    const tools = openTools();
    await tools.call("state_set", { key: "seen", value: "x" });
    await tools.call("workflow_create", { name: "w", run_id: "run" });
    await tools.call("lease_acquire", { resource_id: "held", holder_id: "ada", ttl_seconds: 500 });
    return tools;
  }

  test.each(calls)("%s %j again with its key gives the first answer and no second effect", async (name, args) => {
    const { call, clock, base } = await openPrepared();
    const first = await call(name, args, { requestKey: "once" });
    const { revision } = await base.store.read({ start: "", end: "" });
    clock.advance(1_000);
    expect(await call(name, args, { requestKey: "once" })).toEqual(first);
    expect((await base.store.read({ start: "", end: "" })).revision).toBe(revision);
  });

  test.each(calls)("%s: the key with other arguments is refused", async (name, args) => {
    const { call, fails } = await openPrepared();
    await call("state_set", { key: "another", value: 1 }, { requestKey: "once" });
    expect(await fails(name, args, { requestKey: "once" })).toMatchObject({ code: "request_key_reused" });
  });

  test.each(calls)("%s %j: the key of another caller is refused, and never answered with what that one was given", async (name, args) => {
    const { call, base } = await openPrepared();
    await call(name, args, { requestKey: "once" });
    const tool = catalog.find((each) => each.name === name) as Tool;
    expect(await runTool(tool, args, { ...base, writer: "somebody else" }, { requestKey: "once" }, () => {})).toMatchObject({ ok: false, error: { code: "request_key_reused" } });
  });

  test.each(calls)("%s %j takes its key as an argument too, and it is the same key", async (name, args) => {
    const { call, fails } = await openPrepared();
    const first = await call(name, { ...args, request_key: "once" });
    expect(await call(name, args, { requestKey: "once" })).toEqual(first);
    expect(await call(name, { request_key: "once", ...args }, { requestKey: "once" })).toEqual(first);
    expect(await fails(name, { ...args, request_key: "twice" }, { requestKey: "once" })).toMatchObject({ code: "invalid_input", details: { field: "request_key" } });
  });

  test.each([5, "x".repeat(257), "a\0b", {}])("%j is no request_key", async (key) => {
    const { fails } = openTools();
    expect(await fails("state_set", { key: "k", value: 1, request_key: key })).toMatchObject({ code: "invalid_input", details: { field: "request key" } });
  });

  test("the same call in flight twice has one effect", async () => {
    const { call } = openTools();
    const answers = await Promise.all(Array.from({ length: 8 }, () => call("workflow_create", { name: "w" }, { requestKey: "once" })));
    expect(new Set(answers.map(({ run_id }) => run_id)).size).toBe(1);
    expect((await call("workflow_list")).runs).toHaveLength(1);
  });

  test.each(["", "x".repeat(257), "a\0b", "\ud800"])("%j is no request key", async (requestKey) => {
    const { fails } = openTools();
    expect(await fails("state_set", { key: "k", value: 1 }, { requestKey })).toMatchObject({ code: "invalid_input", details: { field: "request key" } });
  });

  test("reads need none and ignore it", async () => {
    const { call } = openTools();
    expect((await call("state_get", { key: "k" }, { requestKey: "once" })).found).toBe(false);
    await call("state_set", { key: "k", value: 1 });
    expect((await call("state_get", { key: "k" }, { requestKey: "once" })).found).toBe(true);
    expect((await call("state_get", { key: "k" }, { requestKey: "" })).found).toBe(true);
    expect((await call("state_get", { key: "k", request_key: "once" })).found).toBe(true);
  });
});

describe("a refusal of a store that cannot be asked", () => {
  const refusing = (code: "unavailable" | "storage_full" | "moved") =>
    toolWith(() => Promise.reject(new HoldfastError(code, "The store is away; nothing was changed.", { hint: "Try again." })));

  test.each(["unavailable", "storage_full", "moved"] as const)("speaks of this call alone when it has a request key: %s", async (code) => {
    const { base } = openTools();
    const outcome = await runTool(refusing(code), { request_key: "k" }, base, {}, () => {});
    expect(outcome).toMatchObject({
      ok: false,
      error: {
        code,
        message: "The store is away; this call changed nothing.",
        hint: "Try again. An earlier call with this request key may have taken effect: retry with the same key.",
      },
    });
    expect(await runTool(refusing(code), {}, base, { requestKey: "k" }, () => {})).toEqual(outcome);
  });

  test("says that nothing was changed when there is no request key", async () => {
    const { base } = openTools();
    const outcome = await runTool(refusing("unavailable"), {}, base, {}, () => {});
    expect(outcome).toMatchObject({ error: { message: "The store is away; nothing was changed.", hint: "Try again." } });
  });
});
