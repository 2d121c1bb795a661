import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { readSource } from "../../src/transfer/read-source.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { TestTools } from "../tools/open-tools.ts";
import { openTools, revisionOf } from "../tools/open-tools.ts";
import { bringIn, imprint, sageStore, writeFiles } from "./original-stores.ts";

/** As Goldfish 7.2 writes it: fields in this order, those without a value left out, one empty line, the description, a line end. */
const decision = `---
id: checkpoint_a1b2c3d4
timestamp: 2026-06-14T14:30:22.123Z
tags:
  - db
  - no
git:
  branch: feature/queue
  commit: "1e45678"
  files:
    - src/queue.ts
    - 'src/größe: neu.ts'
summary: Queue in one table
briefId: importer-redesign
type: decision
context: The importer needs a queue
decision: Keep the queue in one table
alternatives:
  - Redis streams
  - a broker
impact: One service less
evidence:
  - p95 of 4 ms
symbols:
  - claimNext
next: Index the claim column
confidence: 4
unknowns:
  - load at ten times the rate
---

## Queue in one table

A claim column is enough.

---

Measured at 200 jobs a minute.
`;
const plain = "---\nid: checkpoint_00ff00ff\ntimestamp: 2026-06-15T09:00:00.000Z\n---\n\nRenamed the worker.\n";

let project: string;
let tools: TestTools;
beforeEach(async () => {
  project = join(await temporaryFolder(), "payments-api");
  tools = openTools();
});

const entryOf = async (id: string) => (await tools.call("checkpoint", { checkpointId: id, workspace: "payments-api" })).data.checkpoints[0];

describe("a .memories folder of Goldfish 7", () => {
  test("gives journal entries with their id, time, tags, branch, commit, files and every field", async () => {
    await writeFiles(project, { ".memories/2026-06-14/143022_a1b2.md": decision, ".memories/2026-06-15/090000_00ff.md": plain });
    const report = await bringIn(tools, join(project, ".memories"));
    expect(report).toMatchObject({ source: "goldfish", kinds: { "journal entry": { new: 2 } }, problems: [], leftBehind: [] });
    expect(await entryOf("checkpoint_a1b2c3d4")).toMatchObject({
      timestamp: "2026-06-14T14:30:22.123Z",
      description: "## Queue in one table\n\nA claim column is enough.\n\n---\n\nMeasured at 200 jobs a minute.",
      tags: ["db", "no"],
      gitBranch: "feature/queue",
      gitCommit: "1e45678",
      activeFiles: ["src/queue.ts", "src/größe: neu.ts"],
      workspace: "payments-api",
      workContext: [
        "Type: decision",
        "Context: The importer needs a queue",
        "Decision: Keep the queue in one table",
        "Alternatives: Redis streams; a broker",
        "Impact: One service less",
        "Evidence: p95 of 4 ms",
        "Symbols: claimNext",
        "Next: Index the claim column",
        "Confidence: 4",
        "Unknowns: load at ten times the rate",
        "Brief: importer-redesign",
      ].join("\n"),
    });
    expect(await entryOf("checkpoint_00ff00ff")).toMatchObject({ description: "Renamed the worker.", tags: [], activeFiles: [], workContext: null });
    const { formattedOutput } = await tools.call("checkpoint", { query: "which alternatives to the broker", workspace: "payments-api" });
    expect(formattedOutput).toContain("checkpoint_a1b2c3d4");
  });

  test("is left as it was, and importing it again changes nothing", async () => {
    await writeFiles(project, { ".memories/2026-06-14/143022_a1b2.md": decision });
    const before = await imprint(project);
    await bringIn(tools, join(project, ".memories"));
    const revision = await revisionOf(tools.base);
    expect((await bringIn(tools, join(project, ".memories"))).kinds).toMatchObject({ "journal entry": { new: 0, same: 1, different: 0 } });
    expect(await revisionOf(tools.base)).toBe(revision);
    expect(await imprint(project)).toEqual(before);
  });

  test("names what has no counterpart and what cannot be read", async () => {
    await writeFiles(project, {
      ".memories/2026-06-14/143022_a1b2.md": decision,
      ".memories/2026-06-14/150000_0001.md": "---\nid: checkpoint_00000001\ntimestamp: someday\n---\n\nText\n",
      ".memories/2026-06-14/150000_0002.md": "---\nid: checkpoint_00000002\ntimestamp: 2026-06-14T15:00:00.000Z\n---\n\n",
      ".memories/2026-06-14/150000_0003.md": "---\nid: [\n---\n\nText\n",
      ".memories/2026-06-14/150000_0004.md": "---\ntimestamp: 2026-06-14T15:00:00.000Z\n---\n\nText\n",
      ".memories/briefs/importer-redesign.md":
        "---\nid: importer-redesign\ntitle: Importer\nstatus: active\ncreated: 2026-06-01T00:00:00.000Z\nupdated: 2026-06-01T00:00:00.000Z\ntags: []\n---\n\n## Goal\n",
      ".memories/.active-brief": "importer-redesign",
      ".memories/MEMORY.md": "# Notes\n",
    });
    const report = await bringIn(tools, join(project, ".memories"));
    expect(report.kinds).toMatchObject({ "journal entry": { new: 1 } });
    expect(report.leftBehind.map(({ what, count }) => [what, count])).toEqual([
      ["Markdown files without front matter", 1],
      ["briefs and plans", 1],
    ]);
    expect(report.problems).toEqual([
      { where: "2026-06-14/150000_0001.md", reason: "has no time" },
      { where: "2026-06-14/150000_0002.md", reason: "has no description" },
      { where: "2026-06-14/150000_0003.md", reason: expect.stringContaining("is not plain YAML") },
      { where: "2026-06-14/150000_0004.md", reason: "is not a checkpoint: id or timestamp is missing" },
    ]);
  });

  test("keeps Windows line ends, legacy times and files, and lists of files that are too long", async () => {
    const files = Array.from({ length: 250 }, (_, i) => `  - src/f${i}.ts`).join("\n");
    await writeFiles(project, {
      ".memories/2025-12-01/100000_abcd.md": `\uFEFF${plain.replaceAll("\n", "\r\n")}`,
      ".memories/2025-12-01/100000_dcba.md": `---\nid: checkpoint_abc_def\ntype: checkpoint\ntimestamp: 1764583200\ntags: [x]\ngit:\n  commit: abc1234\n  files_changed:\n${files}\n---\n\nOld text\n`,
      ".memories/2025-12-01/100000_beef.json": { id: "checkpoint_beef", timestamp: 1764583200, description: "From JSON", git: { branch: "main", dirty: true } },
    });
    const report = await bringIn(tools, join(project, ".memories"));
    expect(report.kinds).toMatchObject({ "journal entry": { new: 3 } });
    expect(report.adjusted).toEqual([{ kind: "journal entry", id: "checkpoint_abc_def", what: "the first 200 of 250 files were kept" }]);
    const old = await entryOf("checkpoint_abc_def");
    expect(old).toMatchObject({ timestamp: "2025-12-01T10:00:00.000Z", gitCommit: "abc1234", workContext: null });
    expect(old.activeFiles).toHaveLength(200);
    expect(await entryOf("checkpoint_beef")).toMatchObject({ description: "From JSON", gitBranch: "main" });
  });

  test("belongs to the repository it lies in, wherever the command is run", async () => {
    const repository = { rootCommit: "abc", commonFolder: join(project, ".git"), name: "api-main" };
    await writeFiles(project, { ".memories/2026-06-15/090000_00ff.md": plain });
    const { project: found } = await readSource(join(project, ".memories"), undefined);
    const reader = { realFolder: async (path: string) => path, repositoryAt: async (path: string) => (path === found?.folder ? repository : undefined) };
    tools = openTools({ server: { surroundings: { folder: "/elsewhere", home: "/h", reader } } });
    await bringIn(tools, join(project, ".memories"));
    expect((await tools.call("checkpoint", { workspace: found?.folder })).data).toMatchObject({ checkpointsLoaded: 1, workspace: "api-main" });
  });

  test("beside a Sage folder is not guessed at", async () => {
    await writeFiles(project, { ".memories/2026-06-15/090000_00ff.md": plain });
    await sageStore(join(project, ".sage"));
    await expect(readSource(project, undefined)).rejects.toMatchObject({ code: "invalid_input", message: expect.stringContaining("goldfish and sage") });
  });
});
