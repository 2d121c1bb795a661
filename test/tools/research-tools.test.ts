import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { checkpointFromYaml } from "../../src/transfer/mirror/checkpoint-file.ts";
import { openMirror } from "../../src/transfer/mirror/open-mirror.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { Answer } from "./open-tools.ts";
import { openTools } from "./open-tools.ts";

const research = { core_question: "Why is the build slow?", thesis: "The cache is cold.", confidence: 0.7 };
const whole = {
  ...research,
  trigger: "transition",
  open_questions: ["Since when?"],
  sources: [{ id: "ci-log", type: "observation", take: "only misses", relation: "supports" }],
  tensions: [{ between: ["ci-log", "docs"], nature: "docs promise hits", resolution: "unresolved" }],
  unique_contributions: [{ type: "experiment", content: "ran it twice" }],
  action: { goal: "warm the cache", type: "implementation" },
  skill: "ci",
  workspace: "web",
};

describe("research checkpoints", () => {
  test("what is saved is listed and loaded, by its id or a part", async () => {
    const { call } = openTools();
    const saved = await call("save_checkpoint", whole);
    expect(saved).toEqual({ checkpoint_id: "2027-01-15T08-00-00_the-cache-is-cold", path: null });
    expect(await call("list_checkpoints")).toEqual({
      checkpoints: [
        { id: saved.checkpoint_id, thesis: "The cache is cold.", confidence: 0.7, trigger: "transition", saved: "2027-01-15T08:00:00.000Z", skill: "ci", workspace: "web" },
      ],
      cursor: null,
    });
    const loaded = await call("load_checkpoint", { checkpoint_id: "cache-is" });
    expect(loaded.checkpoint).toEqual({ id: saved.checkpoint_id, saved: "2027-01-15T08:00:00.000Z", author: "tester", agent_id: null, continues: null, ...whole });
    expect(loaded.formatted_context).toContain("# Research Context (Restored)\n\nCheckpoint: 2027-01-15T08-00-00_the-cache-is-cold\n");
    expect(loaded.formatted_context).toContain("Confidence: 70%");
    expect(loaded.formatted_context).toContain("> - [+] ci-log (observation): only misses");
  });

  test("only question, thesis and confidence are needed; the trigger is synthesis", async () => {
    const { call } = openTools();
    const { checkpoint_id } = await call("save_checkpoint", research);
    expect((await call("load_checkpoint", { checkpoint_id })).checkpoint).toMatchObject({ trigger: "synthesis", open_questions: [], sources: [], tensions: [], action: null });
  });

  test("saving it again names the first and changes nothing; a retry under its request key gives the first answer", async () => {
    const { call, base } = openTools();
    const first = await call("save_checkpoint", research, { requestKey: "k" });
    const { revision } = await base.store.read({ start: "", end: "" });
    expect(await call("save_checkpoint", research, { requestKey: "k" })).toEqual(first);
    expect(await call("save_checkpoint", research)).toEqual({ ...first, duplicate_of: first.checkpoint_id });
    expect((await call("history_log", { kind: "checkpoint" })).total).toBe(1);
    expect((await base.store.read({ start: "", end: "" })).revision).toBe(revision);
  });

  test("a list is paged by cursor; another list's cursor is refused", async () => {
    const { call, fails, clock } = openTools();
    for (let i = 0; i < 7; i += 1) {
      await call("save_checkpoint", { ...research, thesis: `Answer number ${i} about caches` });
      clock.advance(1_000);
    }
    for (const filter of [{}, { query: "caches" }]) {
      const first = await call("list_checkpoints", { ...filter, limit: 5 });
      const second = await call("list_checkpoints", { ...filter, limit: 5, cursor: first.cursor });
      expect(new Set([...first.checkpoints, ...second.checkpoints].map(({ id }: Answer) => id)).size).toBe(7);
      expect(second.cursor).toBeNull();
      expect(await fails("list_checkpoints", { ...filter, skill: "x", cursor: first.cursor })).toMatchObject({
        code: "invalid_input",
        message: expect.stringMatching(/^cursor: /),
      });
    }
  });

  test("several matches are an error with the candidates; none is not_found", async () => {
    const { call, fails, clock } = openTools();
    const first = await call("save_checkpoint", research);
    clock.advance(5_000);
    const second = await call("save_checkpoint", { ...research, thesis: "The cache is too small." });
    expect(await fails("load_checkpoint", { checkpoint_id: "the-cache" })).toMatchObject({
      code: "ambiguous",
      details: { candidates: [second.checkpoint_id, first.checkpoint_id] },
    });
    expect(await fails("load_checkpoint", { checkpoint_id: "zebra" })).toMatchObject({ code: "not_found" });
  });

  test.each([
    [{ confidence: 1.5 }, "confidence: must be at most 1"],
    [{ confidence: -0.1 }, "confidence: must be at least 0"],
    [{ confidence: "high" }, "confidence: must be a number, not a string"],
    [{ tensions: [{ ...whole.tensions[0], between: ["a", "b", "c"] }] }, "tensions[0].between: must have at most 2"],
    [{ thesis: "" }, "thesis: must be a non-empty string"],
  ])("%j is refused: %s", async (change, message) => {
    const { fails } = openTools();
    expect(await fails("save_checkpoint", { ...research, ...change })).toMatchObject({ code: "invalid_input", message });
  });

  test("a text too long is refused by name", async () => {
    const { fails } = openTools();
    expect(await fails("save_checkpoint", { ...research, thesis: "x".repeat(65_537) })).toMatchObject({ code: "limit_exceeded", message: expect.stringMatching(/^thesis: /) });
    expect(await fails("save_checkpoint", { ...research, open_questions: Array.from({ length: 201 }, () => "?") })).toMatchObject({
      code: "limit_exceeded",
      message: expect.stringMatching(/^open_questions: /),
    });
  });

  test("path names a YAML file from which the checkpoint can be read back", async () => {
    const folder = await temporaryFolder();
    const { call } = openTools({ server: { mirror: openMirror({ checkpointDir: join(folder, "c"), knowledgeDir: join(folder, "k"), namespace: "default" }) } });
    const { path, checkpoint_id } = await call("save_checkpoint", whole);
    expect(path).toBe(join(folder, "c", `${checkpoint_id}.yaml`));
    expect(checkpointFromYaml(await readFile(path, "utf8"))).toMatchObject({ id: checkpoint_id, thesis: whole.thesis, uniqueContributions: whole.unique_contributions });
  });

  test("a file that cannot be written is a warning, and the checkpoint is saved", async () => {
    const failing = { checkpoint: () => Promise.reject(Object.assign(new Error("no space"), { code: "ENOSPC" })), note: () => Promise.reject(new Error("x")) };
    const { call } = openTools({ server: { mirror: failing } });
    const saved = await call("save_checkpoint", research);
    expect(saved).toMatchObject({ path: null, warning: expect.stringContaining("ENOSPC") });
    expect((await call("load_checkpoint", { checkpoint_id: saved.checkpoint_id })).checkpoint.thesis).toBe(research.thesis);
  });
});
