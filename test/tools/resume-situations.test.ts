import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Measured } from "../../bench/resume/measure-situations.ts";
import { budgets, measureSituations, totalOf } from "../../bench/resume/measure-situations.ts";
import { scorePack } from "../../bench/resume/score-pack.ts";
import { readSituations } from "../../bench/resume/situation.ts";

const situations = readSituations(join(import.meta.dirname, "..", "..", "bench", "resume", "situations"));
/** The share of keys that must be there, over all situations and in each of them: one that is lost must not hide behind the others. */
const goals: Record<(typeof budgets)[number], { readonly overAll: number; readonly inEach: number }> = {
  1500: { overAll: 0.95, inEach: 0.9 },
  500: { overAll: 0.85, inEach: 0.75 },
};
const tolerated = 1.05;

let folder: string;
let measured: readonly Measured[];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-test-"));
  measured = await measureSituations(situations, folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("what agents find when they come back", () => {
  test("there are at least twenty situations, each with something that must be found", () => {
    expect(situations.length).toBeGreaterThanOrEqual(20);
    for (const { name, must } of situations) expect([name, must.facts.length + must.open.length + must.done.length > 0]).toEqual([name, true]);
  });

  test.each(budgets)("in %d tokens the goal is kept, without noise", (tokensMax) => {
    const { share, noise } = totalOf(measured, tokensMax);
    expect(share).toBeGreaterThanOrEqual(goals[tokensMax].overAll);
    expect(noise).toEqual([]);
  });

  test.each(situations.flatMap(({ name }) => budgets.map((tokensMax) => [name, tokensMax] as const)))("%s in %d tokens", (name, tokensMax) => {
    const { resume } = measured.find((each) => each.name === name && each.tokensMax === tokensMax) as Measured;
    const { found, keys, missing } = resume;
    expect([missing, found / keys >= goals[tokensMax].inEach]).toEqual([missing, true]);
  });

  test("the budget is kept", () => {
    for (const { name, tokensMax, resume } of measured) expect([name, resume.tokens <= tokensMax * tolerated]).toEqual([name, true]);
  });

  test("a call takes four rounds of reading at most; a hook, which starts again, one more to find its workspace", () => {
    const roundsMax = new Map(situations.map(({ name, ask }) => [name, "hook" in ask ? 5 : 4]));
    for (const { name, rounds } of measured) expect([name, rounds <= (roundsMax.get(name) as number)]).toEqual([name, true]);
  });
});

describe("the score", () => {
  test("the journal alone does not reach the goal", () => {
    for (const tokensMax of budgets) expect(totalOf(measured, tokensMax, "tail").share).toBeLessThan(0.6);
  });

  const wanted = { must: { facts: ["half done"], open: ["/workflow_resume wf-1/"], done: ["/do not repeat[^\\n]*tokenize/"] }, noise: ["cart button"] };
  test.each([
    ["everything", "half\n> done\nworkflow_resume wf-1\n> do not repeat: tokenize", [], []],
    ["a key that is missing", "half done\nworkflow_resume wf-1", ["/do not repeat[^\\n]*tokenize/"], []],
    ["noise", "half done, workflow_resume wf-1, do not repeat: tokenize, cart button", [], ["cart button"]],
    ["a revision on a line", "half done [r3]\nworkflow_resume wf-1, do not repeat: tokenize", [], ["/\\[r\\d+\\]$/m"]],
    ["milliseconds", "half done, workflow_resume wf-1, do not repeat: tokenize at 12:00:00.123Z", [], ["/\\d\\d:\\d\\d:\\d\\d\\.\\d{3}/"]],
    ["a line that is said twice", `half done, workflow_resume wf-1\ndo not repeat: tokenize${"\nthis line is said twice".repeat(2)}`, [], ["said twice: this line is said twice"]],
  ])("sees %s", (_what, text, missing, noise) => {
    expect(scorePack(wanted, text, 500)).toMatchObject({ keys: 3, found: 3 - missing.length, missing, noise });
  });

  test("does not count what stands beyond the budget", () => {
    expect(scorePack(wanted, `${"x".repeat(2_200)}half done`, 500).found).toBe(0);
  });
});
