import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { product } from "../../bench/recall/ablations.ts";
import { readLabelledSet } from "../../bench/recall/labelled-set.ts";
import { openNoteStore } from "../../bench/recall/note-store.ts";
import { renderKinds, renderSilence, replaceScores } from "../../bench/recall/render-recall.ts";
import { score } from "../../bench/recall/score.ts";

const set = readLabelledSet(join("bench", "recall", "set"));

test("the labelled set is as large as it says: notes, questions of each kind, unrelated ones, both halves", () => {
  expect(set.notes.length).toBeGreaterThanOrEqual(2_000);
  const kinds = new Map<string, number>();
  for (const { kind } of set.questions) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  expect(kinds.get("unrelated")).toBeGreaterThanOrEqual(100);
  for (const kind of ["unseen paraphrase", "unseen unrelated"]) expect(kinds.get(kind)).toBeGreaterThanOrEqual(60);
  for (const kind of ["exact", "inflected", "identifier", "paraphrase", "fresh paraphrase", "rephrased", "mistyped"]) expect(kinds.get(kind)).toBeGreaterThanOrEqual(30);
  for (const language of ["German", "Spanish", "French", "Russian", "Chinese", "Japanese", "Thai", "Arabic"]) expect(kinds.get(language)).toBeGreaterThanOrEqual(8);
  expect(set.questions.length).toBeGreaterThanOrEqual(400);
  expect(set.questions.filter(({ kind, half }) => /^(?:fresh|unseen) /.test(kind) && half === "tune")).toEqual([]);
  for (const half of ["tune", "test"]) expect(set.questions.filter((question) => question.half === half).length).toBeGreaterThan(200);
});

test("every label names a note, no note and no question stands twice, and the set is the same each time", () => {
  const ids = new Set(set.notes.map(({ id }) => id));
  expect(ids.size).toBe(set.notes.length);
  expect(new Set(set.notes.map(({ text }) => text)).size).toBe(set.notes.length);
  expect(new Set(set.questions.map(({ id }) => id)).size).toBe(set.questions.length);
  expect(set.questions.filter(({ note, kind }) => kind.endsWith("unrelated") !== (note === undefined) || (note !== undefined && !ids.has(note)))).toEqual([]);
  expect(readLabelledSet(join("bench", "recall", "set"))).toEqual(set);
  expect(set.notes.filter(({ text }) => /[{}]/.test(text))).toEqual([]);
});

test("scores count what came back at which place, and what came back for a question without an answer", async () => {
  const answers: Readonly<Record<string, readonly string[]>> = { first: ["a", "b"], third: ["x", "y", "a"], fourth: ["x", "y", "z", "a"], none: [], noise: ["a"], quiet: [] };
  const half = "test";
  const scores = await score(
    [
      ...["first", "third", "fourth", "none"].map((text) => ({ id: text, text, kind: "exact", note: "a", half }) as const),
      ...["noise", "quiet"].map((text) => ({ id: text, text, kind: "unrelated", half }) as const),
      { id: "calm", text: "calm", kind: "unseen unrelated", half },
    ],
    async (question) => (answers[question] ?? []).map((id) => ({ key: `note/${id}` })),
  );
  expect(scores.all).toMatchObject({ questions: 4, hit1: 1 / 4, hit3: 2 / 4, meanReciprocalRank: (1 + 1 / 3) / 4 });
  expect([scores.falseRecalls, scores.unrelated]).toEqual([1, 3]);
  expect(scores.silence).toEqual([
    { kind: "unrelated", questions: 2, answered: 1 },
    { kind: "unseen unrelated", questions: 1, answered: 0 },
  ]);
});

test("the scores in docs/search.md are those of this code and this set; after a change: npm run bench:recall -- --write", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-scores-"));
  try {
    await using notes = await openNoteStore(join(folder, "notes.db"));
    await notes.fill(set.notes);
    const questions = set.questions.filter(({ half }) => half === "test");
    const scores = await score(questions, (question) => product.ask(notes, question));
    const page = readFileSync(join("docs", "search.md"), "utf8");
    expect(page).toContain(renderKinds(scores));
    expect(page).toContain(renderSilence(scores));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("scores are put between their marks, and a page without marks is refused", () => {
  const page = "before\n<!-- scores: written by npm run bench:recall -- --write -->\nold\n<!-- /scores -->\nafter\n";
  const replaced = replaceScores(page, "new\n");
  expect(replaced).toContain("new");
  expect(replaced).not.toContain("old");
  expect(replaced).toMatch(/^before[\s\S]*after\n$/);
  expect(() => replaceScores("nothing here", "new")).toThrow(/no place/);
});
