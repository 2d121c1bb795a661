import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { loadSqliteDriver } from "../../src/engines/sqlite/driver.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { TestTools } from "../tools/open-tools.ts";
import { openTools, revisionOf } from "../tools/open-tools.ts";
import { agentCheckpointStore, bringIn, goldfishMemory, imprint, sageStore, sidecarStore, writeFiles } from "./original-stores.ts";

let folder: string;
let tools: TestTools;
beforeEach(async () => {
  folder = await temporaryFolder();
  tools = openTools();
});

describe("AgentCheckpoint's store, as AgentCheckpoint wrote it", () => {
  test("gives every key with its value, and deleted ones stay deleted", async () => {
    const database = await agentCheckpointStore(join(folder, "checkpoints.db"));
    database.close();
    expect((await bringIn(tools, join(folder, "checkpoints.db"))).kinds).toEqual({ state: { new: 3, same: 0, different: 0, lapsed: 0 } });
    expect(await tools.call("get_state", { key: "workflow:plan" })).toMatchObject({ status: "ok", value: '{"step":2,"done":false}', version: 1 });
    expect(await tools.call("state_get", { key: "größe" })).toMatchObject({ value: { größe: 1.5, liste: [null, true, "x"] } });
    expect(await tools.call("state_get", { key: "100%_sure/../?*[x]" })).toMatchObject({ value: "path and pattern characters" });
    expect(await tools.call("get_state", { key: "gone" })).toMatchObject({ status: "not_found" });
  });

  test("is read while its server has it open, and neither it nor its folder changes", async () => {
    const path = join(folder, "checkpoints.db");
    const database = await agentCheckpointStore(path);
    try {
      const before = await imprint(folder);
      expect(before.map((line) => line.split(" ")[0])).toContain("checkpoints.db-wal");
      expect((await bringIn(tools, path)).kinds.state).toMatchObject({ new: 3 });
      expect(await imprint(folder)).toEqual(before);
    } finally {
      database.close();
    }
  });
});

describe("the sidecar's store, as the sidecar wrote it", () => {
  let path: string;
  beforeEach(async () => {
    path = join(folder, "sidecar.db");
    (await sidecarStore(path)).close();
  });

  test("gives keys with what is left of their time; those whose time is over stay away", async () => {
    const report = await bringIn(tools, path);
    expect(report.kinds.state).toEqual({ new: 2, same: 0, different: 0, lapsed: 1 });
    expect(await tools.call("state_get", { key: "config/limit" })).toMatchObject({ value: { rps: 25 }, expires_at: null });
    expect(await tools.call("state_get", { key: "long" })).toMatchObject({ value: "lived", expires_at: 2_109_737_841 });
    expect(await tools.call("state_get", { key: "short" })).toMatchObject({ found: false });
  });

  test("gives runs with steps, tags and times, and the next worker can continue", async () => {
    expect((await bringIn(tools, path)).kinds.run).toMatchObject({ new: 4 });
    const resumed = await tools.call("workflow_resume", { run_id: "wf-40d045ac5239" });
    expect(resumed).toMatchObject({
      last_step: 3,
      step_outputs: { "1": { moved: 100 }, "2": { moved: 200 }, "3": { moved: 300 } },
      meta: { name: "migrate users", status: "running" },
    });
    expect(resumed.meta.created_at).toBeCloseTo(1_794_737_841.939, 2);
    expect(await tools.call("workflow_status", { run_id: "wf-27fdaafbe3bb" })).toMatchObject({ status: "done", last_step: 1 });
    expect(await tools.call("workflow_discover", { tags: { team: "data" } })).toMatchObject({ runs: [{ run_id: "wf-890e16a83e55", status: "created" }] });
    expect(await tools.call("workflow_claim", { run_id: "wf-40d045ac5239", agent_id: "new" })).toMatchObject({ claimed: true });
    expect(await tools.call("workflow_checkpoint", { run_id: "wf-40d045ac5239", step: 4, output: 1, agent_id: "new" })).toMatchObject({ last_step: 4 });
    expect((await tools.call("workflow_discover", { claimable: true })).runs.map(({ run_id }: { run_id: string }) => run_id)).toEqual(["wf-0955f06a6645", "wf-890e16a83e55"]);
  });

  test("gives sessions; leases and history stay behind, and the report says why", async () => {
    const report = await bringIn(tools, path);
    expect(await tools.call("session_restore", { session_id: "s-1" })).toMatchObject({ found: true, context: { task: "migrate", notes: ["a", "b"] } });
    expect(report.leftBehind.map(({ what, count }) => [what, count])).toEqual([
      ["leases", 1],
      ["history records", 4],
    ]);
    expect(await tools.call("lease_acquire", { resource_id: "deploy", holder_id: "other", ttl_seconds: 5 })).toMatchObject({ acquired: true });
  });

  test("leaves exactly one history record of each thing", async () => {
    await bringIn(tools, path);
    const { entries } = await tools.call("history_log", { n: 100 });
    expect(entries.map(({ kind, op, key }: Record<string, string>) => `${kind} ${op} ${key}`).sort()).toEqual([
      "session save s-1",
      "state set config/limit",
      "state set long",
      "workflow checkpoint wf-27fdaafbe3bb",
      ...Array(3).fill("workflow checkpoint wf-40d045ac5239"),
      "workflow create wf-0955f06a6645",
      "workflow create wf-27fdaafbe3bb",
      "workflow create wf-40d045ac5239",
      "workflow create wf-890e16a83e55",
    ]);
  });
});

describe("Goldfish's folders, with the fields its source writes", () => {
  const later = goldfishMemory(
    { id: "20250820-090000-000-1A2B-0001", timestamp: "2025-08-20T09:00:00.000Z" },
    { description: "Added the dead letter queue", highlights: ["Poison messages are parked", "Retries are idempotent now"] },
  );

  test("give journal entries with their time, branch, files and the session's highlights in order", async () => {
    await writeFiles(folder, {
      "payments-api/checkpoints/2025-08-20/20250820-090000-000-1A2B-0001.json": later,
      "payments-api/checkpoints/2025-08-19/20250819-143005-123-1A2B-C3D4.json": goldfishMemory(),
    });
    expect((await bringIn(tools, folder)).kinds).toEqual({ "journal entry": { new: 2, same: 0, different: 0, lapsed: 0 } });
    const restored = await tools.call("checkpoint", { workspace: "payments-api", outputFormat: "json" });
    expect(restored.data.checkpoints[0]).toMatchObject({ description: "Added the dead letter queue", gitBranch: "feature/retries" });
    expect(restored.formattedOutput).toMatch(/Retries are idempotent now[\s\S]*Poison messages are parked/);
    const one = await tools.call("checkpoint", { checkpointId: "20250819-143005", workspace: "payments-api" });
    expect(one.formattedOutput).toContain("Moved the retry loop out of the handler");
    const found = await tools.call("checkpoint", { query: "where did the retry loop go", workspace: "payments-api" });
    expect(found.formattedOutput).toContain("Moved the retry loop");
  });

  test("of the earlier layout are read too, and a checkpoint without an id has its file's name", async () => {
    const { id: _, ...anonymous } = goldfishMemory();
    await writeFiles(folder, { "memories/payments-api/sessions/2025-08-19/s1/checkpoint-143005.json": anonymous });
    await bringIn(tools, folder);
    expect((await tools.call("checkpoint", { checkpointId: "checkpoint-143005", workspace: "payments-api" })).formattedOutput).toContain("Moved the retry loop");
  });

  test("give global entries to every workspace; to-do lists, plans and a later database are named and left", async () => {
    await writeFiles(folder, {
      "global/checkpoints/2025-08-19/a.json": goldfishMemory({ workspace: "global" }),
      "payments-api/todos/list.json": { id: "list", title: "x", workspace: "payments-api", items: [], createdAt: "2025-08-19T00:00:00Z", updatedAt: "2025-08-19T00:00:00Z" },
      "payments-api/plans/plan.json": { ...goldfishMemory({ id: "plan" }), type: "plan" },
      "goldfish.db": "SQLite format 3\0",
    });
    const report = await bringIn(tools, folder);
    expect(report.leftBehind.map(({ what, count }) => [what, count]).sort()).toEqual([
      ["memories of type plan", 1],
      ["to-do lists", 1],
    ]);
    expect(report.problems).toEqual([{ where: "goldfish.db", reason: expect.stringContaining("later Goldfish") }]);
    expect((await tools.call("checkpoint", { workspace: "anything", action: "timeline", range: "10000d" })).formattedOutput).toContain("Moved the retry loop");
  });

  test("go to the repository of their workspace's name when its folder is given, however it is written", async () => {
    const repository = { rootCommit: "abc", commonFolder: "/repo/.git", name: "Payments.API" };
    const reader = { realFolder: async (path: string) => path, repositoryAt: async (path: string) => (path === "/repo" ? repository : undefined) };
    const placed = openTools({ server: { surroundings: { folder: "/elsewhere", home: "/h", reader } } });
    await writeFiles(folder, { "payments-api/checkpoints/2025-08-19/a.json": goldfishMemory() });
    await bringIn(placed, folder, { folders: ["/repo"] });
    expect((await placed.call("checkpoint", { workspace: "/repo", outputFormat: "json" })).data).toMatchObject({ checkpointsLoaded: 1, workspace: "Payments.API" });
  });
});

describe("Sage's folders, as Sage wrote them", () => {
  test("give research checkpoints under their own id and time, and nothing that was in them is lost", async () => {
    await sageStore(join(folder, "sage"));
    const report = await bringIn(tools, join(folder, "sage"));
    expect(report.kinds).toEqual({ "research checkpoint": { new: 1, same: 0, different: 0, lapsed: 0 }, note: { new: 3, same: 0, different: 0, lapsed: 0 } });
    const { checkpoint, formatted_context } = await tools.call("load_checkpoint", { checkpoint_id: "a-table-with-a-claim" });
    expect(checkpoint).toMatchObject({
      core_question: "Which queue should the importer use?",
      thesis: "A table with a claim column is enough: 200 jobs a minute leave it idle.",
      confidence: 0.8,
      trigger: "synthesis",
      open_questions: ["What happens at ten times the load?"],
      sources: [
        { id: "load test", type: "observation", take: "p95 of 4 ms at 200 jobs a minute", relation: "supports" },
        { id: "blog post", type: "document", take: "tables do not scale (2015) (source type: article; relation: disagrees)", relation: "nuances" },
      ],
      tensions: [{ between: ["load test", "blog post"], nature: "scale of ten years ago", resolution: "unresolved" }],
      unique_contributions: [
        { type: "discovery", content: "The nightly batch is the peak (contribution type: internal_knowledge)" },
        { type: "synthesis", content: "Key evidence: 4 ms at the 95th percentile" },
        { type: "synthesis", content: "Reasoning: Measured first.\nThen read." },
      ],
      action: { goal: "choose the queue", type: "decision" },
    });
    expect(checkpoint.id).toBe("2026-11-15T10-17-38_a-table-with-a-claim-column-is-enough-20");
    expect(formatted_context).toContain("2026-11-15");
    expect(report.adjusted.map(({ what }) => what)).toEqual(expect.arrayContaining(['relation "disagrees" became "nuances"', "key evidence became a contribution"]));
  });

  test("give notes with their scope, status and text to the character", async () => {
    await sageStore(join(folder, "sage"));
    await bringIn(tools, join(folder, "sage"));
    const recalled = await tools.call("recall_knowledge", { query: "carrier weight" });
    expect(recalled.items).toMatchObject([
      { id: "carrier-limits", source: "contract of 2025", content: "# Limits\n\nThe carrier refuses parcels above 31.5 kg.\n\n---\n\nAsk for freight instead." },
    ]);
    expect((await tools.call("recall_knowledge", { query: "label size", skill: "shipping" })).items).toMatchObject([{ content: "Labels are A6." }]);
    expect((await tools.call("recall_knowledge", { query: "label size" })).items).toEqual([]);
    expect((await tools.call("recall_knowledge", { query: "old rule" })).items).toEqual([]);
  });

  test("of the earlier versions, in YAML, are read with their chain; a missing parent is reported", async () => {
    const yaml = (id: string, parent: string | null) =>
      `checkpoint:\n  id: ${id}\n  ts: '${id.slice(0, 10)}T08:00:00+00:00'\n  trigger: branch_point\n  core_question: 'Is it: safe?'\n  thesis: "yes # no"\n  confidence: 0.5\n  open_questions: []\n  sources: []\n  tensions: []\n  unique_contributions: []\n  action:\n    goal: ''\n    type: ''\n  metadata:\n    skill: review\n    project: shop\n    parent_checkpoint: ${parent ?? "null"}\n    message_count: 3\n    token_estimate: 9\n`;
    await writeFiles(folder, {
      ".sage/checkpoints/2026-01-10T08-00-00_one.yaml": yaml("2026-01-10T08-00-00_one", "2025-01-01T00-00-00_gone"),
      ".sage/checkpoints/2026-01-11T08-00-00_two.yaml": yaml("2026-01-11T08-00-00_two", "2026-01-10T08-00-00_one"),
      "docs/knowledge/readme.md": "---\ntype: page\n---\n\nNot Sage's.",
    });
    const report = await bringIn(tools, folder, { from: "sage" });
    expect(report.kinds).toEqual({ "research checkpoint": { new: 2, same: 0, different: 0, lapsed: 0 } });
    expect((await tools.call("load_checkpoint", { checkpoint_id: "_two" })).checkpoint).toMatchObject({
      continues: "2026-01-10T08-00-00_one",
      skill: "review",
      workspace: "shop",
      thesis: "yes # no",
    });
    expect((await tools.call("list_checkpoints", { skill: "review" })).checkpoints.map(({ saved }: { saved: string }) => saved)).toEqual([
      "2026-01-11T08:00:00.000Z",
      "2026-01-10T08:00:00.000Z",
    ]);
    expect(report.adjusted).toEqual([{ kind: "research checkpoint", id: "2026-01-10T08-00-00_one", what: "it continues 2025-01-01T00-00-00_gone, which does not exist" }]);
  });
});

describe.each(["agentcheckpoint", "sidecar", "goldfish", "sage"] as const)("importing %s again", (source) => {
  async function storeOf(): Promise<string> {
    if (source === "goldfish") await writeFiles(join(folder, "store"), { "payments-api/checkpoints/2025-08-19/a.json": goldfishMemory() });
    else if (source === "sage") await sageStore(join(folder, "store"));
    else (await (source === "sidecar" ? sidecarStore : agentCheckpointStore)(join(folder, "store"))).close();
    return join(folder, "store");
  }

  test("is found out without being told, changes nothing, and a dry run before it says the same and writes nothing", async () => {
    const path = await storeOf();
    const plan = await bringIn(tools, path, { dryRun: true });
    expect(plan.source).toBe(source);
    expect(await revisionOf(tools.base)).toBe(0);
    const first = await bringIn(tools, path);
    expect({ ...first, dryRun: true }).toEqual(plan);
    const revision = await revisionOf(tools.base);
    const second = await bringIn(tools, path);
    expect(Object.values(second.kinds).every(({ new: added, different }) => added === 0 && different === 0)).toBe(true);
    expect(Object.values(second.kinds).reduce((sum, { same }) => sum + same, 0)).toBe(Object.values(first.kinds).reduce((sum, { new: added }) => sum + added, 0));
    expect(await revisionOf(tools.base)).toBe(revision);
  });

  test("leaves the original as it was to the byte", async () => {
    const path = await storeOf();
    const before = await imprint(folder);
    expect(before.length).toBeGreaterThan(0);
    await bringIn(tools, path);
    expect(await imprint(folder)).toEqual(before);
  });
});

test("the imprint notices a database that was opened in place", async () => {
  const path = join(folder, "checkpoints.db");
  const server = await agentCheckpointStore(path);
  try {
    const before = await imprint(folder);
    const other = (await loadSqliteDriver()).open(path);
    other.exec("PRAGMA wal_checkpoint(PASSIVE)");
    other.close();
    expect(await imprint(folder)).not.toEqual(before);
  } finally {
    server.close();
  }
});
