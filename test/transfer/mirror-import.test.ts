import { appendFile, cp, mkdir, readdir, rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { readNote } from "../../src/domain/knowledge/knowledge.ts";
import { requireCheckpoint } from "../../src/domain/research/checkpoints.ts";
import { openMirror } from "../../src/transfer/mirror/open-mirror.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { TestTools } from "../tools/open-tools.ts";
import { openTools, revisionOf } from "../tools/open-tools.ts";
import { bringIn, imprint, sageStore, writeFiles } from "./original-stores.ts";

let folder: string;
let there: TestTools;
let here: TestTools;
beforeEach(async () => {
  folder = await temporaryFolder();
  there = openTools({
    writer: "elsewhere",
    server: { mirror: openMirror({ checkpointDir: join(folder, "checkpoints"), knowledgeDir: join(folder, "knowledge"), namespace: "default" }) },
  });
  here = openTools();
});

const thesis = "---\n# yes: 'no'\n  {a: *b} \t\u0007 日本語\n---";

async function fill(): Promise<string> {
  const first = await there.call("save_checkpoint", {
    core_question: "What: survives?",
    thesis,
    confidence: 0.25,
    skill: "review",
    workspace: "shop",
    sources: [{ id: "s", type: "code", take: "- **x**: y", relation: "nuances" }],
  });
  there.clock.advance(5_000);
  await there.call("save_checkpoint", { core_question: "And then?", thesis: "It goes on.", confidence: 1, continues: first.checkpoint_id });
  await there.call("save_knowledge", {
    id: "team/API.limits",
    content: "---\nNot front matter.\n---\n\nText without a last line break",
    keywords: ["limits"],
    source: "a: b",
    trust: "high",
  });
  await there.call("save_knowledge", { id: "labels", content: "A6", keywords: [], skill: "shipping", supersedes: "team/API.limits" });
  return first.checkpoint_id;
}

test("mirror files brought into another store are equal to what they were made from, with the author as a label", async () => {
  const id = await fill();
  expect((await bringIn(here, folder)).kinds).toEqual({ "research checkpoint": { new: 2, same: 0, different: 0, lapsed: 0 }, note: { new: 2, same: 0, different: 0, lapsed: 0 } });
  for (const each of [id, "it-goes-on"]) {
    const { writer, ...original } = await requireCheckpoint(there.base, each);
    expect(await requireCheckpoint(here.base, each)).toEqual({ ...original, writer: "tester", agent: writer });
  }
  for (const name of ["team/API.limits", "@shipping/labels"]) {
    const { writer, version: _, savedAtMs: __, ...original } = (await readNote(there.base, name)) ?? { writer: "" };
    expect(await readNote(here.base, name)).toMatchObject({ ...original, writer: "tester", agent: writer });
  }
  expect((await here.call("list_checkpoints", { query: "what survives" })).checkpoints.map(({ id: found }: { id: string }) => found)).toContain(id);
});

test("brought in again, or into the store they came from, they change nothing and stay as they are", async () => {
  await fill();
  const before = await imprint(folder);
  await bringIn(here, folder);
  const revisions = [await revisionOf(here.base), await revisionOf(there.base)];
  for (const tools of [here, there])
    expect((await bringIn(tools, folder)).kinds).toEqual({
      "research checkpoint": { new: 0, same: 2, different: 0, lapsed: 0 },
      note: { new: 0, same: 2, different: 0, lapsed: 0 },
    });
  expect([await revisionOf(here.base), await revisionOf(there.base)]).toEqual(revisions);
  expect(await imprint(folder)).toEqual(before);
});

test("a file that was spoiled, renamed to nonsense or linked is reported; the others come in", async () => {
  await fill();
  const [first] = await readdir(join(folder, "checkpoints"));
  await appendFile(join(folder, "checkpoints", first as string), "\nunknown_field: [\n");
  await symlink(join(folder, "knowledge", "@shipping", "labels.md"), join(folder, "knowledge", "link.md"));
  await writeFiles(folder, { "knowledge/README.md": "# About this folder\n" });
  const report = await bringIn(here, folder, { from: "mirror" });
  expect(report.kinds).toEqual({ "research checkpoint": { new: 1, same: 0, different: 0, lapsed: 0 }, note: { new: 2, same: 0, different: 0, lapsed: 0 } });
  expect(report.problems.map(({ where }) => where).sort()).toEqual([`checkpoints/${first}`, "knowledge/README.md", "knowledge/link.md"]);
});

test("the same file in two places comes in once, and the dry run knows it", async () => {
  await fill();
  await cp(join(folder, "checkpoints"), join(folder, "copy"), { recursive: true });
  const plan = await bringIn(here, folder, { dryRun: true });
  expect(plan.kinds["research checkpoint"]).toMatchObject({ new: 2, same: 2 });
  expect({ ...(await bringIn(here, folder)), dryRun: true }).toEqual(plan);
});

test("files of another namespace wait for their own import", async () => {
  await fill();
  await mkdir(join(folder, "team"));
  await rename(join(folder, "checkpoints"), join(folder, "team", "@@team"));
  const report = await bringIn(here, folder);
  expect(report.kinds).toEqual({ note: { new: 2, same: 0, different: 0, lapsed: 0 } });
  expect(report.leftBehind).toEqual([{ what: "files of other namespaces", count: 2, reason: expect.stringContaining("--namespace") }]);
  expect((await bringIn(here, join(folder, "team", "@@team"))).kinds).toMatchObject({ "research checkpoint": { new: 2 } });
});

test("what is brought in from elsewhere gets its mirror files too", async () => {
  const source = await temporaryFolder();
  await sageStore(join(source, "sage"));
  await bringIn(there, join(source, "sage"));
  expect(await readdir(join(folder, "checkpoints"))).toEqual(["2026-11-15T10-17-38_a-table-with-a-claim-column-is-enough-20.yaml"]);
  expect((await readdir(join(folder, "knowledge"))).sort()).toEqual(["@shipping", "carrier-limits.md", "old-rule.md"]);
});
