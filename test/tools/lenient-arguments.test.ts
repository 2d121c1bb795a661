import { describe, expect, test } from "vitest";
import { catalog } from "../../src/tools/catalog.ts";
import { openTools } from "./open-tools.ts";

/** The smallest calls that succeed in an empty store with the run "run" and the session "s", for every tool. */
const smallest: Readonly<Record<string, Record<string, unknown>>> = {
  state_set: { key: "k", value: 1 },
  state_get: { key: "k" },
  state_delete: { key: "k" },
  state_list: {},
  state_commit: { writes: [{ key: "k", value: 1 }] },
  get_state: { key: "k" },
  set_state: { key: "k", value: "1" },
  force_set_state: { key: "k", value: "1" },
  list_state: {},
  delete_state: { key: "k" },
  workflow_create: { name: "w" },
  workflow_discover: {},
  workflow_claim: { agent_id: "ada" },
  workflow_checkpoint: { run_id: "run", step: 1, output: 1 },
  workflow_resume: { run_id: "run" },
  workflow_status: { run_id: "run" },
  workflow_list: {},
  workflow_finish: { run_id: "run", status: "done" },
  lease_acquire: { resource_id: "r", holder_id: "ada", ttl_seconds: 5 },
  lease_release: { resource_id: "r", holder_id: "ada" },
  lease_renew: { resource_id: "r", holder_id: "ada", ttl_seconds: 5 },
  effects: {},
  session_save: { session_id: "s", context: {} },
  session_restore: { session_id: "s" },
  history_log: {},
  checkpoint: {},
  save_checkpoint: { core_question: "Why?", thesis: "Because.", confidence: 0.5 },
  list_checkpoints: {},
  load_checkpoint: { checkpoint_id: "because" },
  save_knowledge: { id: "n", content: "A note." },
  recall_knowledge: { query: "note" },
  resume: {},
  sidecar_health: {},
  sidecar_reset: { confirm: "test" },
};

async function openPrepared() {
  const tools = openTools();
  await tools.call("workflow_create", { name: "w", run_id: "run" });
  await tools.call("save_checkpoint", smallest.save_checkpoint);
  return tools;
}

describe("arguments that were left out in another way", () => {
  test("the table above has every tool", () => {
    expect(Object.keys(smallest).sort()).toEqual(catalog.map(({ name }) => name).sort());
  });

  test.each(catalog)("$name takes null for every optional argument, and answers as if it were not there", async (tool) => {
    const required = smallest[tool.name] as Record<string, unknown>;
    const nulls = Object.fromEntries(Object.keys(tool.input.shape).map((name) => [name, null]));
    const [plain, filled] = [await openPrepared(), await openPrepared()];
    const answer = await plain.outcome(tool.name, required);
    expect(answer).toMatchObject({ ok: true });
    const other = await filled.outcome(tool.name, { ...nulls, request_key: null, ...required });
    expect(other.ok ? Object.keys(other.structured) : other).toEqual(Object.keys((answer as { structured: object }).structured));
  });

  test("null is still a value where any JSON is", async () => {
    const { call } = openTools();
    await call("state_set", { key: "k", value: null });
    expect(await call("state_get", { key: "k" })).toMatchObject({ found: true, value: null, version: 1 });
    expect(await call("state_commit", { writes: [{ key: "k", value: null, ttl_seconds: null, delete: null }], expected: null })).toMatchObject({ ok: true });
    expect(await call("state_commit", { writes: [{ key: "k", value: null, delete: true }] })).toMatchObject({ results: [{ key: "k", deleted: true }] });
  });

  test("a finished run takes null for the half that does not belong to its status", async () => {
    const { call, fails } = await openPrepared();
    expect(await fails("workflow_finish", { run_id: "run", status: "failed", result: 1 })).toMatchObject({ code: "invalid_input" });
    expect(await call("workflow_finish", { run_id: "run", status: "failed", result: null, error: "broke", retry: null })).toMatchObject({ status: "failed" });
  });

  test("a required argument may not be null", async () => {
    const { fails } = openTools();
    expect(await fails("state_get", { key: null })).toMatchObject({ code: "invalid_input", message: "key: must be a string, not null" });
  });

  test.each([
    ["state_set", { key: "k", value: 1, agent_id: "" }],
    ["checkpoint", { description: "Done.", workspace: "", sessionId: "", gitBranch: "", workContext: "", range: "", outputFormat: "", highlights: "", tags: "" }],
    ["recall_knowledge", { query: "note", skill: "" }],
    ["save_knowledge", { id: "n", content: "A note.", skill: "", source: "" }],
    ["save_checkpoint", { core_question: "What?", thesis: "That.", confidence: 1, skill: "", workspace: "", continues: "", action: {} }],
    ["list_checkpoints", { query: "", skill: "" }],
    ["resume", { query: "", agent_id: "" }],
    ["workflow_create", { name: "w", run_id: "" }],
    ["history_log", { kind: "", writer: "" }],
  ])("%s %j: an empty text is as good as none", async (name, args) => {
    const { call } = openTools();
    expect((await call(name, args)).warning).toBeUndefined();
  });

  test.each([
    ["state_set", { key: "k", value: 1, lease: "" }],
    ["state_set", { key: "k", value: 1, lease: {} }],
    ["state_set", { key: "k", value: 1, expected_version: "" }],
    ["state_commit", { writes: [{ key: "k", value: 1 }], leases: "" }],
    ["state_commit", { writes: [{ key: "k", value: 1 }], expected: "" }],
    ["state_list", { cursor: "" }],
  ])("%s %j: an empty guard is refused, and nothing is written without it", async (name, args) => {
    expect(await openTools().fails(name, args)).toMatchObject({ code: "invalid_input" });
  });

  test("an empty run_id never claims whichever run is next, and an empty description saves nothing", async () => {
    const { fails } = await openPrepared();
    expect(await fails("workflow_claim", { agent_id: "ada", run_id: "" })).toMatchObject({ code: "invalid_input" });
    expect(await fails("checkpoint", { description: "" })).toMatchObject({ code: "invalid_input" });
    expect(await fails("checkpoint", { query: "" })).toMatchObject({ code: "invalid_input" });
  });
});

describe("the usual slips of models", () => {
  test.each<readonly [string, Record<string, unknown>, Record<string, unknown>, string]>([
    ["state_list", { limit: "5" }, { limit: 5 }, 'limit: read the string "5" as a number'],
    ["state_list", { values: "true" }, { values: true }, 'values: read the string "true" as true'],
    ["state_set", { key: "k", value: 1, ttl_seconds: " 2.5 " }, { key: "k", value: 1, ttl_seconds: 2.5 }, 'ttl_seconds: read the string " 2.5 " as a number'],
    ["workflow_discover", { status: "Created" }, { status: "created" }, 'status: read "Created" as "created"'],
    ["workflow_create", { name: "w", run_id: "w", tags: '{"team":"a"}' }, { name: "w", run_id: "w", tags: { team: "a" } }, "tags: read the JSON text as an object; send an object"],
    ["session_save", { session_id: "x", context: '{"a":1}' }, { session_id: "x", context: { a: 1 } }, "context: read the JSON text as an object; send an object"],
    [
      "state_commit",
      { writes: '[{"key":"a","value":"5","ttl_seconds":"9"}]' },
      { writes: [{ key: "a", value: "5", ttl_seconds: 9 }] },
      'writes: read the JSON text as a list; send a list\nwrites[0].ttl_seconds: read the string "9" as a number',
    ],
    ["save_knowledge", { id: "k", content: "c", keywords: '["a","b"]' }, { id: "k", content: "c", keywords: ["a", "b"] }, "keywords: read the JSON text as a list; send a list"],
    ["save_knowledge", { id: "k", content: "c", keywords: "vacuum" }, { id: "k", content: "c", keywords: ["vacuum"] }, "keywords: read the string as a list of one; send a list"],
  ])("%s %j does what %j does, and says so", async (name, slip, right, warning) => {
    const [one, other] = [await openPrepared(), await openPrepared()];
    expect(await one.call(name, slip)).toEqual({ ...(await other.call(name, right)), warning });
    expect(await one.call("state_list", { values: true })).toEqual(await other.call("state_list", { values: true }));
  });

  test("a stored value is never read as anything but what it is", async () => {
    const { call } = openTools();
    for (const value of ["5", "true", "[1]", '{"a":1}', ""]) {
      await call("state_set", { key: "k", value, ttl_seconds: "60" });
      expect((await call("state_get", { key: "k" })).value).toBe(value);
    }
  });

  test.each([
    ["state_list", { limit: "many" }, "limit: must be a number, not a string"],
    ["state_list", { limit: "0x10" }, "limit: must be a number, not a string"],
    ["state_list", { limit: "5000" }, "limit: must be at most 1000"],
    ["state_list", { values: "yes" }, "values: must be true or false, not a string"],
    ["state_list", { limit: "5", surprise: 1 }, "unknown argument: surprise; allowed: prefix, limit, cursor, values"],
    ["state_commit", { writes: "a" }, "writes: must be a list, not a string"],
    ["workflow_discover", { status: "paused" }, 'status: must be one of "created", "claimed", "running", "done", "failed", "cancelled"'],
  ])("%s %j stays refused: %s", async (name, args, message) => {
    const { fails } = openTools();
    expect(await fails(name, args)).toMatchObject({ code: "invalid_input", message });
  });

  test("a retry with its key finds the first answer, however it is spelt", async () => {
    const { call } = openTools();
    const first = await call("workflow_create", { name: "w", priority: 5 }, { requestKey: "once" });
    expect(await call("workflow_create", { name: "w", priority: "5", tags: null }, { requestKey: "once" })).toMatchObject(first);
  });

  test("a thousand slips get ten warnings", async () => {
    const { call } = openTools();
    const writes = Array.from({ length: 100 }, (_, i) => ({ key: `k${i}`, value: 1, ttl_seconds: "5" }));
    expect((await call("state_commit", { writes })).warning.split("\n")).toHaveLength(11);
  });
});

describe("words that a memory tool does not know", () => {
  test("in a research checkpoint are kept as text, and the answer says so", async () => {
    const { call } = openTools();
    const saved = await call("save_checkpoint", {
      core_question: "Which queue?",
      thesis: "The small one.",
      confidence: "0.8",
      trigger: "hunch",
      sources: [{ id: "rfc", type: "spec", take: "Says so.", relation: "refines", url: "https://example.org" }],
      unique_contributions: [{ type: "insight", content: "It is enough." }],
      key_evidence: ["It held for a week."],
      reasoning_trace: "First this, then that.",
    });
    expect(saved.warning).toContain('sources[0].type "spec" became "document"');
    expect(saved.warning).toContain("sources[0].url: unknown; kept as text");
    expect(saved.warning).toContain("key_evidence: unknown argument; its text was kept in unique_contributions");
    const { checkpoint } = await call("load_checkpoint", { checkpoint_id: saved.checkpoint_id });
    expect(checkpoint).toMatchObject({
      trigger: "manual",
      sources: [{ id: "rfc", type: "document", take: "Says so. (type: spec; relation: refines; url: https://example.org)", relation: "nuances" }],
      unique_contributions: [
        { type: "discovery", content: "It is enough. (type: insight)" },
        { type: "synthesis", content: "key_evidence: It held for a week." },
        { type: "synthesis", content: "reasoning_trace: First this, then that." },
        { type: "synthesis", content: "trigger: hunch" },
      ],
    });
  });

  test("Sage's own names for the action and the note's id need no warning", async () => {
    const { call } = openTools();
    const saved = await call("save_checkpoint", { core_question: "Q?", thesis: "T.", confidence: 1, action_goal: "Ship it", action_type: "decision" });
    expect(saved.warning).toBeUndefined();
    expect((await call("load_checkpoint", { checkpoint_id: saved.checkpoint_id })).checkpoint.action).toEqual({ goal: "Ship it", type: "decision" });
    const note = await call("save_knowledge", { knowledge_id: "deploys", content: "Deploys need the VPN." });
    expect(note).toMatchObject({ id: "deploys" });
    expect(note.warning).toBeUndefined();
  });

  test("in a note are kept at its end", async () => {
    const { call } = openTools();
    expect((await call("save_knowledge", { id: "n", content: "Tabs, not spaces.", item_type: "preference" })).warning).toBe(
      "item_type: unknown argument; its text was kept in content",
    );
    expect((await call("recall_knowledge", { query: "tabs or spaces" })).items[0].content).toBe("Tabs, not spaces.\n\nitem_type: preference");
  });

  test("in a journal entry are kept in its context; a search has no place for them", async () => {
    const { call, fails } = openTools();
    const saved = await call("checkpoint", { description: "Chose the small queue.", decision: "small queue", symbols: ["Queue", "drain"], workContext: "Week 2." });
    expect(saved.warning).toContain("decision: unknown argument; its text was kept in workContext");
    expect((await call("checkpoint")).data.checkpoints[0].workContext).toBe("Week 2.\ndecision: small queue\nsymbols: Queue; drain");
    expect(await fails("checkpoint", { query: "queue", type: "decision" })).toMatchObject({ code: "invalid_input" });
  });
});
