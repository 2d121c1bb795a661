import { mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import type { Engine } from "../../src/store/store.ts";
import { manualClock } from "../support/manual-clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { TestTools } from "../tools/open-tools.ts";
import { openTools, revisionOf } from "../tools/open-tools.ts";
import { agentCheckpointStore, bringIn, goldfishMemory, imprint, openDatabase, sageStore, sidecarStore, writeFiles } from "./original-stores.ts";

let folder: string;
let tools: TestTools;
beforeEach(async () => {
  folder = await temporaryFolder();
  tools = openTools();
});

describe("what is here already", () => {
  test("stays when it differs there, and the report names it", async () => {
    (await sidecarStore(join(folder, "s.db"))).close();
    await tools.call("state_set", { key: "config/limit", value: { rps: 99 } });
    await tools.call("session_save", { session_id: "s-1", context: { mine: true } });
    await tools.call("workflow_create", { name: "mine", run_id: "wf-0955f06a6645" });
    const report = await bringIn(tools, join(folder, "s.db"));
    expect(report.different).toEqual([
      { kind: "state", id: "config/limit" },
      { kind: "session", id: "s-1" },
      { kind: "run", id: "wf-0955f06a6645" },
    ]);
    expect(await tools.call("state_get", { key: "config/limit" })).toMatchObject({ value: { rps: 99 }, version: 1 });
    expect(await tools.call("session_restore", { session_id: "s-1" })).toMatchObject({ context: { mine: true } });
  });

  test("is the same run when work on it continued here", async () => {
    (await sidecarStore(join(folder, "s.db"))).close();
    await bringIn(tools, join(folder, "s.db"));
    await tools.call("workflow_checkpoint", { run_id: "wf-40d045ac5239", step: 9, output: "on" });
    const again = await bringIn(tools, join(folder, "s.db"));
    expect(again.kinds.run).toMatchObject({ new: 0, same: 4, different: 0 });
    expect(await tools.call("workflow_status", { run_id: "wf-40d045ac5239" })).toMatchObject({ last_step: 9 });
  });

  test("is another run when the original continued there", async () => {
    const database = await sidecarStore(join(folder, "s.db"));
    await bringIn(tools, join(folder, "s.db"));
    database.exec("UPDATE step_outputs SET output_json = '{\"moved\": 7}' WHERE run_id = 'wf-40d045ac5239' AND step = 3");
    database.close();
    expect((await bringIn(tools, join(folder, "s.db"))).different).toEqual([{ kind: "run", id: "wf-40d045ac5239" }]);
  });

  test("a note and a checkpoint of the same id keep their text", async () => {
    await sageStore(join(folder, "sage"));
    await tools.call("save_knowledge", { id: "carrier-limits", content: "Mine.", keywords: ["carrier"] });
    expect((await bringIn(tools, join(folder, "sage"))).different).toEqual([{ kind: "note", id: "carrier-limits" }]);
    expect((await tools.call("recall_knowledge", { query: "carrier" })).items[0]).toMatchObject({ content: "Mine." });
  });
});

describe("a run with more steps than one commit carries", () => {
  async function longRun(): Promise<string> {
    const path = join(folder, "s.db");
    const database = await sidecarStore(path);
    const insert = database.prepare("INSERT INTO step_outputs VALUES ('wf-0955f06a6645', ?, ?)");
    for (let step = 1; step <= 350; step += 1) insert.run(step, JSON.stringify({ step }));
    database.close();
    return path;
  }

  test("arrives whole", async () => {
    await bringIn(tools, await longRun());
    const { last_step, step_outputs } = await tools.call("workflow_resume", { run_id: "wf-0955f06a6645", steps_after: 340 });
    expect(last_step).toBe(350);
    expect(Object.keys(step_outputs)).toHaveLength(10);
  });

  test("cannot be seen half, and an import that was cut short continues where it stopped", async () => {
    const path = await longRun();
    const clock = manualClock();
    const engine = new MemoryEngine(clock);
    // The third commit of steps fails, as it would on a full disk.
    let commits = 0;
    const failing: Engine = Object.assign(Object.create(engine), {
      commit: (...args: Parameters<Engine["commit"]>) => {
        if (args[1].some(({ writes }) => writes.some(({ key }) => key.startsWith("workflow/step/wf-0955f06a6645/")))) commits += 1;
        if (commits === 3) throw new Error("disk");
        return engine.commit(...args);
      },
    });
    await expect(bringIn(openTools({ engine: failing, clock }), path)).rejects.toThrow();
    const after = openTools({ engine, clock });
    expect(await after.fails("workflow_status", { run_id: "wf-0955f06a6645" })).toMatchObject({ code: "not_found" });
    expect((await bringIn(after, path)).kinds.run).toMatchObject({ new: 4 });
    const { entries, total } = await after.call("history_log", { key: "wf-0955f06a6645", n: 100 });
    expect(total ?? entries.length).toBeGreaterThanOrEqual(100);
    expect((await after.call("workflow_resume", { run_id: "wf-0955f06a6645", steps_after: 0, limit: 100 })).last_step).toBe(350);
  });
});

describe("a damaged or strange database", () => {
  test("that is none, is cut off, or is another program's is refused with the reason and nothing is written", async () => {
    await writeFile(join(folder, "text.db"), "hello, this is no database at all");
    await expect(bringIn(tools, join(folder, "text.db"), { from: "sidecar" })).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("not a SQLite database"),
    });
    (await agentCheckpointStore(join(folder, "cut.db"))).close();
    await truncate(join(folder, "cut.db"), 700);
    await expect(bringIn(tools, join(folder, "cut.db"))).rejects.toMatchObject({ code: "invalid_input" });
    (await openDatabase(join(folder, "other.db"), "CREATE TABLE bookmarks (url TEXT);")).close();
    await expect(bringIn(tools, join(folder, "other.db"))).rejects.toMatchObject({ message: expect.stringContaining("neither AgentCheckpoint") });
    await expect(bringIn(tools, join(folder, "missing.db"))).rejects.toMatchObject({ code: "not_found" });
    expect(await revisionOf(tools.base)).toBe(0);
  });

  test("gives what can be read of it: a missing table and bad rows are reported one by one", async () => {
    const database = await sidecarStore(join(folder, "s.db"));
    database.exec(`
      DROP TABLE sessions;
      INSERT INTO kv_store VALUES ('nan', '{"x": NaN}', NULL), ('big', '12345678901234567890', NULL), (x'6b6579', '1', NULL), ('${"k".repeat(600)}', '1', NULL);
      INSERT INTO workflows VALUES ('wf-odd', 'odd', 'sleeping', '{}', NULL, 0, 1, 1), ('../../etc/passwd', 'path', 'created', '{}', NULL, 0, 1, 1), ('wf-tags', 't', 'created', '[1]', NULL, 0, 1, 1);
      INSERT INTO step_outputs VALUES ('wf-0955f06a6645', 1, 'not json');`);
    database.close();
    const report = await bringIn(tools, join(folder, "s.db"));
    expect(report.kinds.state).toMatchObject({ new: 2 });
    expect(report.kinds.run).toMatchObject({ new: 4 });
    const reasons = Object.fromEntries(report.problems.map(({ where, reason }) => [where.slice(0, 30), reason]));
    expect(reasons).toMatchObject({
      "table sessions": expect.stringContaining("no such table"),
      "key nan": "its value is not JSON",
      "key big": expect.stringContaining("lose digits"),
      "workflow wf-odd": expect.stringContaining('"sleeping"'),
      "workflow ../../etc/passwd": expect.stringContaining("run_id"),
      "workflow wf-tags": expect.stringContaining("tags"),
      "workflow wf-0955f06a6645 step ": "its value is not JSON",
    });
    expect(report.problems).toHaveLength(9);
  });
});

describe("folders with traps in them", () => {
  test("a link to a file or folder outside is reported and not followed", async () => {
    const outside = await temporaryFolder();
    await writeFiles(outside, { "secret.json": goldfishMemory({ id: "secret" }), "deep/secret2.json": goldfishMemory({ id: "secret2" }) });
    await writeFiles(folder, { "payments-api/checkpoints/d/a.json": goldfishMemory() });
    await symlink(join(outside, "secret.json"), join(folder, "payments-api/checkpoints/d/link.json"));
    await symlink(join(outside, "deep"), join(folder, "payments-api/checkpoints/linked"));
    const report = await bringIn(tools, folder);
    expect(report.kinds["journal entry"]).toMatchObject({ new: 1 });
    expect(report.problems.map(({ where }) => where).sort()).toEqual(["payments-api/checkpoints/d/link.json", "payments-api/checkpoints/linked"]);
  });

  test("an index that points outside its folder reads nothing there", async () => {
    await sageStore(join(folder, "sage"));
    await writeFiles(folder, { "outside.md": "---\nid: outside\n---\n\nSecret.", "sage/knowledge/index.yaml": "version: 1\nitems:\n- id: outside\n  file: ../../outside.md\n" });
    const report = await bringIn(tools, join(folder, "sage"));
    expect(report.problems).toContainEqual({ where: "../../outside.md", reason: expect.stringContaining("does not exist") });
    expect((await tools.call("recall_knowledge", { query: "secret outside" })).items).toEqual([]);
    // Without the index the notes speak for themselves.
    expect(report.kinds.note).toMatchObject({ new: 3 });
  });

  test("ids with path and pattern characters are refused by name, and no file is made of them", async () => {
    const before = await imprint(folder);
    await writeFiles(folder, {
      "g/w/checkpoints/d/a.json": goldfishMemory({ id: "../../../escape" }),
      "g/w/checkpoints/d/b.json": goldfishMemory({ id: "*?[a]" }),
      "s/checkpoints/x.md": "---\nid: ../../../escape\ntype: checkpoint\nts: '2026-01-01T00:00:00+00:00'\nconfidence: 0.5\n---\n\n# Q\n\n## Thesis\nT\n",
      "s/knowledge/global/x.md": "---\nid: '*?'\nkeywords: []\n---\n\nText",
    });
    expect((await bringIn(tools, join(folder, "g"))).problems.map(({ where }) => where)).toEqual(["w/checkpoints/d/a.json", "w/checkpoints/d/b.json"]);
    expect((await bringIn(tools, join(folder, "s"), { from: "sage" })).problems.map(({ where }) => where)).toEqual(["checkpoints/x.md", "knowledge/global/x.md"]);
    expect(before).toEqual([]);
    expect(await revisionOf(tools.base)).toBe(0);
  });

  test("files that are no text, no JSON, no YAML, too deep in aliases or not whole are reported one by one", async () => {
    await writeFiles(folder, {
      "g/w/checkpoints/d/bytes.json": new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]),
      "g/w/checkpoints/d/half.json": '{"type":"checkpoint","content":{"descr',
      "g/w/checkpoints/d/list.json": "[1]",
      "g/w/checkpoints/d/untimed.json": goldfishMemory({ timestamp: "yesterday" }),
      "g/w/checkpoints/d/silent.json": goldfishMemory({}, { description: "  " }),
      "g/w/checkpoints/d/good.json": goldfishMemory(),
      "s/checkpoints/bad.md": "---\nid: [unclosed\n---\n\n# Q",
      "s/checkpoints/bomb.yaml": `checkpoint:\n  a: &a [1,1]\n${"bcdefghij"
        .split("")
        .map((name, i) => `  ${name}: &${name} [${Array(9).fill(`*${"abcdefghij"[i]}`).join(",")}]`)
        .join("\n")}\n`,
      "s/checkpoints/tag.yaml": "checkpoint: !!python/object:os.system {id: x}\n",
      "s/checkpoints/unsure.md": "---\nid: unsure\nts: '2026-01-01T00:00:00+00:00'\nconfidence: 85\n---\n\n# Q\n\n## Thesis\nT\n",
    });
    const goldfish = await bringIn(tools, join(folder, "g"));
    expect(goldfish.kinds["journal entry"]).toMatchObject({ new: 1 });
    expect(Object.fromEntries(goldfish.problems.map(({ where, reason }) => [where.split("/").at(-1), reason]))).toEqual({
      "bytes.json": "is not UTF-8 text",
      "half.json": "is not JSON",
      "list.json": "is not an object",
      "untimed.json": "has no time",
      "silent.json": "has no description",
    });
    const sage = await bringIn(tools, join(folder, "s"), { from: "sage" });
    expect(Object.fromEntries(sage.problems.map(({ where, reason }) => [where.split("/").at(-1), reason]))).toEqual({
      "bad.md": expect.stringContaining("not plain YAML"),
      "bomb.yaml": expect.stringContaining("aliases"),
      "tag.yaml": expect.stringContaining("not plain YAML"),
      "unsure.md": expect.stringContaining("confidence"),
    });
  });

  test("a folder of nothing known, or of two systems at once, asks which is meant", async () => {
    await mkdir(join(folder, "empty"));
    await expect(bringIn(tools, join(folder, "empty"))).rejects.toMatchObject({ message: expect.stringContaining("contains nothing that can be imported") });
    await writeFiles(folder, { "both/w/checkpoints/d/a.json": goldfishMemory() });
    await sageStore(join(folder, "both/.sage"));
    await expect(bringIn(tools, join(folder, "both"))).rejects.toMatchObject({ message: expect.stringContaining("goldfish"), hint: expect.stringContaining("--from") });
    expect((await bringIn(tools, join(folder, "both"), { from: "goldfish" })).kinds["journal entry"]).toMatchObject({ new: 1 });
  });
});
