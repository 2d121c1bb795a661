import { readFileSync } from "node:fs";
import { join } from "node:path";
import { noteWrite, saveNote } from "../../src/domain/knowledge/knowledge.ts";
import { prepareCommit } from "../../src/store/prepare-commit.ts";
import type { Engine } from "../../src/store/store.ts";
import type { Scope } from "../../src/store/transact.ts";
import { naturalNotes } from "./natural-notes.ts";

/**
 * Sets with the words of both sides.
 * blind: notes, questions, note-side words and question-side words by four parties that did not see each other's work (the questions and the
 * note-side words were written from the notes alone, the other wordings from the questions alone). It was never used for tuning. tune: notes and questions of the
 * labelled set's tune half, with words of both sides by one author. Cut-offs may be chosen on it.
 */
export const worded = ["blind", "tune"] as const;
export type Worded = (typeof worded)[number];

export interface WordedNote {
  readonly id: string;
  readonly content: string;
  readonly keywords?: readonly string[];
  readonly questions?: readonly string[];
}
interface SavedWords {
  readonly id: string;
  readonly keywords: readonly string[];
  readonly questions: readonly string[];
}
export interface WordedQuestion {
  readonly id: string;
  readonly kind: (typeof kinds)[number];
  readonly text: string;
  readonly note?: string;
}
export const kinds = ["near", "other words", "other language", "unrelated", "near-miss"] as const;

const lines = <Line>(set: Worded, file: string): readonly Line[] =>
  readFileSync(join("bench", "recall", set, file), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);

export const savedWays = ["plain", "with words"] as const;
export type SavedWay = (typeof savedWays)[number];

/** The notes, with or without the note-side words. */
export function readWordedNotes(set: Worded, saved: SavedWay): readonly WordedNote[] {
  const words = new Map(lines<SavedWords>(set, "saved.jsonl").map((each) => [each.id, each]));
  return lines<WordedNote>(set, "notes.jsonl").map(({ id, content }) => ({
    id,
    content,
    ...(saved === "plain" ? {} : { keywords: words.get(id)?.keywords, questions: words.get(id)?.questions }),
  }));
}

const commitsPerBatch = 500;

/** The questions, and the other wordings by the questions' ids. */
export function readQuestions(set: Worded): { readonly questions: readonly WordedQuestion[]; readonly also: ReadonlyMap<string, readonly string[]> } {
  const also = lines<{ readonly id: string; readonly also: readonly string[] }>(set, "also.jsonl");
  return { questions: lines<WordedQuestion>(set, "questions.jsonl"), also: new Map(also.map((each) => [each.id, each.also])) };
}

/** Saves the set's notes, then natural text up to the wanted number. Returns the actual number, because the installed packages have a limited amount of text. */
export async function fillWorded(engine: Engine, scope: Scope, saved: SavedWay, size: number, set: Worded): Promise<number> {
  const notes = readWordedNotes(set, saved);
  for (const note of notes) await saveNote(scope, note);
  const batch: ReturnType<typeof prepareCommit>[] = [];
  const flush = async (): Promise<void> => void (await engine.commit("bench", batch.splice(0)));
  let added = notes.length;
  for (const content of naturalNotes()) {
    if (added >= size) break;
    batch.push(prepareCommit({ writes: [noteWrite(`text-${added}`, { content, keywords: [], status: "active", trust: "medium" }, "save")], writer: "bench" }));
    added += 1;
    if (batch.length === commitsPerBatch) await flush();
  }
  if (batch.length > 0) await flush();
  return added;
}
