import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { importRecords } from "../../src/transfer/import-records.ts";
import type { FoundRecord } from "../../src/transfer/originals/reading.ts";
import { placeWorkspaces } from "../../src/transfer/place-workspaces.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { TestTools } from "../tools/open-tools.ts";
import { openTools } from "../tools/open-tools.ts";
import { agentCheckpointStore, bringIn, sidecarStore, writeFiles } from "./original-stores.ts";

/** Short and long, empty, of any script, with what no name may have. */
const word = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: "grapheme", maxLength: 12 }) },
  fc.constantFrom("", " ", "__proto__", "a\0b", "\ud800", "x".repeat(65), "y".repeat(129), "z".repeat(600), "ä".repeat(300)),
  fc.stringMatching(/^[a-z][a-z0-9.-]{0,20}$/),
);
const words = fc.array(word, { maxLength: 4 });
const time = fc.oneof(fc.integer({ min: 0, max: 4_000_000_000_000 }), fc.constantFrom(-1, 0.5, Number.NaN, 8_640_000_000_000_000, 8_640_000_000_000_001, Number.MAX_SAFE_INTEGER));
const json = fc.oneof(fc.jsonValue() as fc.Arbitrary<never>, fc.constantFrom(null as never, "x" as never));
const step = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.constantFrom(-1, 1.5, Number.MAX_SAFE_INTEGER));

const id = fc.oneof({ weight: 3, arbitrary: fc.stringMatching(/^[a-z][a-z0-9.-]{0,20}$/) }, word);
const found: fc.Arbitrary<FoundRecord> = fc.oneof(
  fc.record({ key: id, value: json, expiresAtMs: fc.option(time, { nil: undefined }) }).map((state): FoundRecord => ({ kind: "state", where: "w", state })),
  fc.record({ sessionId: id, context: fc.dictionary(word, json) as fc.Arbitrary<never> }).map((session): FoundRecord => ({ kind: "session", where: "w", session })),
  fc
    .record({
      runId: id,
      name: word,
      tags: fc.oneof(fc.dictionary(word, word), fc.constant(Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`t${i}`, "v"])))),
      status: fc.constantFrom("created", "running", "done", "failed", "cancelled"),
      createdAtMs: time,
      formerAgent: fc.option(word, { nil: undefined }),
      steps: fc.uniqueArray(fc.record({ step, output: json }), { selector: ({ step: number }) => number, maxLength: 3 }).map((steps) => steps.sort((a, b) => a.step - b.step)),
      lastStep: step,
    })
    .map((run): FoundRecord => ({ kind: "run", where: "w", run })),
  fc
    .record({
      id,
      createdAtMs: time,
      sessionId: word,
      global: fc.boolean(),
      description: word,
      highlights: words,
      activeFiles: words,
      tags: words,
      gitBranch: fc.option(word, { nil: undefined }),
      workContext: fc.option(word, { nil: undefined }),
    })
    .map((entry): FoundRecord => ({ kind: "journal entry", where: "w", entry, workspaceName: "here" })),
  fc
    .record({
      id,
      savedAtMs: time,
      coreQuestion: word,
      thesis: word,
      confidence: fc.double({ min: -0.5, max: 1.5 }),
      trigger: fc.constantFrom("synthesis", "manual"),
      openQuestions: words,
      sources: fc.array(fc.record({ id: word, type: fc.constantFrom("person", "code"), take: word, relation: fc.constantFrom("supports", "nuances") }), { maxLength: 2 }),
      tensions: fc.constant([]),
      uniqueContributions: fc.constant([]),
      skill: fc.option(word, { nil: undefined }),
      workspace: fc.option(word, { nil: undefined }),
    })
    .map((checkpoint): FoundRecord => ({ kind: "research checkpoint", where: "w", checkpoint: checkpoint as never })),
  fc
    .record({
      id,
      content: word,
      keywords: words,
      status: fc.constantFrom("active", "archived"),
      trust: fc.constantFrom("low", "medium"),
      skill: fc.option(word, { nil: undefined }),
    })
    .map((note): FoundRecord => ({ kind: "note", where: "w", note: note as never })),
);

/** Everything there is, by every tool that reads; the listings to their end. */
async function readEverything({ outcome }: TestTools, records: readonly FoundRecord[]): Promise<void> {
  const read = async (tool: string, args: object = {}): Promise<void> => {
    const result = await outcome(tool, args);
    if (!result.ok) expect.soft([tool, args, result.error]).not.toEqual([tool, args, expect.objectContaining({ code: "internal" })]);
  };
  for (const [tool, args] of [
    ["state_list", { values: true }],
    ["list_state", {}],
    ["workflow_list", {}],
    ["workflow_discover", {}],
    ["workflow_discover", { claimable: true }],
    ["history_log", { n: 200 }],
    ["checkpoint", { workspace: "here" }],
    ["checkpoint", { workspace: "here", depth: "full" }],
    ["checkpoint", { workspace: "here", range: "30d", limit: 100 }],
    ["checkpoint", { workspace: "here", query: "a b x" }],
    ["list_checkpoints", { limit: 100 }],
    ["list_checkpoints", { query: "a b x" }],
    ["recall_knowledge", { query: "a b x" }],
    ["resume", { workspace: "here" }],
    ["sidecar_health", {}],
  ] as const)
    await read(tool, args);
  for (const record of records) {
    if (record.kind === "state") for (const tool of ["state_get", "get_state"]) await read(tool, { key: record.state.key });
    if (record.kind === "session") await read("session_restore", { session_id: record.session.sessionId });
    if (record.kind === "run") for (const tool of ["workflow_resume", "workflow_status"]) await read(tool, { run_id: record.run.runId });
    if (record.kind === "journal entry") await read("checkpoint", { checkpointId: record.entry.id });
    if (record.kind === "research checkpoint") await read("load_checkpoint", { checkpoint_id: record.checkpoint.id });
  }
}

describe("whatever an import brings in", () => {
  test("every tool can read it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(found, { minLength: 1, maxLength: 8 }), async (records) => {
        const tools = openTools();
        const { of } = await placeWorkspaces(tools.base.store, undefined, []);
        const report = await importRecords(tools.base, { source: "sidecar", records, problems: [], leftBehind: [] }, { dryRun: false, workspaceOf: of });
        const landed = Object.values(report.kinds).reduce((sum, { new: fresh, same, different, lapsed }) => sum + fresh + same + different + lapsed, 0);
        expect(landed + report.problems.length).toBe(records.length);
        await readEverything(tools, records);
        expect(tools.logged.filter(({ event }) => event === "tool_failed")).toEqual([]);
      }),
      { numRuns: 150, seed: 7 },
    );
  });

  const runsSql = (tags: string): string => `INSERT INTO workflows (run_id, name, status, tags_json, agent_id, last_step, created_at, updated_at)
    SELECT 'odd', name, 'created', '${tags}', NULL, 0, created_at, updated_at FROM workflows LIMIT 1`;

  test.each([
    ["a tag that is too long", JSON.stringify({ team: "x".repeat(129) })],
    ["too many tags", JSON.stringify(Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`t${i}`, "v"])))],
    ["a tag without a name", JSON.stringify({ "": "v" })],
    ["a tag name that is too long", JSON.stringify({ ["n".repeat(65)]: "v" })],
  ])("a run of a sidecar with %s is listed as not allowed, and the others are found", async (_, tags) => {
    const path = join(await temporaryFolder(), "sidecar.db");
    (await sidecarStore(path)).exec(runsSql(tags));
    const tools = openTools();
    const report = await bringIn(tools, path);
    expect(report.problems).toContainEqual({ where: "workflow odd", reason: expect.stringContaining("tags") });
    expect((await tools.call("workflow_list")).runs.length).toBeGreaterThan(0);
    expect((await tools.fails("workflow_status", { run_id: "odd" })).code).toBe("not_found");
  });

  test("a run that is stored with tags that are not allowed today can still be found, read, claimed and finished", async () => {
    const tools = openTools();
    await tools.call("workflow_create", { name: "job", run_id: "r" });
    const { store } = tools.base;
    const [entry] = (await store.read({ start: "workflow/run/", end: "workflow/run0" })).entries;
    await store.commit({
      writer: "old",
      writes: [{ op: "put", key: entry?.key as string, value: { ...(entry?.value as object), tags: { team: "x".repeat(500), "": "" } } as never }],
    });
    expect((await tools.call("workflow_list")).runs).toMatchObject([{ run_id: "r", tags: { team: "x".repeat(500), "": "" } }]);
    expect((await tools.call("workflow_discover", { claimable: true })).runs).toHaveLength(1);
    expect(await tools.call("workflow_resume", { run_id: "r" })).toMatchObject({ meta: { run_id: "r" } });
    await tools.call("workflow_claim", { agent_id: "a" });
    await tools.call("workflow_finish", { run_id: "r", status: "done", agent_id: "a" });
  });
});

describe("nothing is passed over in silence", () => {
  test("a key with a NUL in it is not taken for the part before it", async () => {
    const folder = await temporaryFolder();
    const [sidecar, agentcheckpoint] = [join(folder, "sidecar.db"), join(folder, "agentcheckpoint.db")];
    const odd = "CAST(x'6e756c0078' AS TEXT)";
    (await sidecarStore(sidecar)).exec(
      `CREATE TEMP TABLE odd AS SELECT * FROM kv_store LIMIT 1; UPDATE odd SET key = ${odd}, expires_at = NULL; INSERT INTO kv_store SELECT * FROM odd`,
    );
    (await agentCheckpointStore(agentcheckpoint)).exec(
      `CREATE TEMP TABLE odd AS SELECT * FROM checkpoints LIMIT 1; UPDATE odd SET key = ${odd}; INSERT INTO checkpoints SELECT * FROM odd`,
    );
    for (const path of [sidecar, agentcheckpoint]) {
      const tools = openTools();
      const { problems } = await bringIn(tools, path);
      expect(problems).toContainEqual({ where: "key nul\0x", reason: expect.stringContaining("NUL") });
      expect(await tools.call("state_get", { key: "nul" })).toMatchObject({ found: false });
    }
  });

  test("two items of a Sage index that name one file are two notes; an item that names none is listed", async () => {
    const root = join(await temporaryFolder(), ".sage");
    await writeFiles(root, {
      "knowledge/index.yaml": "version: 1\nitems:\n- id: first\n  file: shared.md\n- id: second\n  file: shared.md\n- id: third\n",
      "knowledge/shared.md": "Retry with jitter.\n",
    });
    const tools = openTools();
    const { problems, kinds } = await bringIn(tools, root, { from: "sage" });
    expect(kinds.note).toMatchObject({ new: 2 });
    expect(problems).toContainEqual({ where: "knowledge/index.yaml item 3", reason: "names no file" });
  });
});
