import { rangeAfter } from "../../store/ranges.ts";
import { readTogether } from "../../store/read-together.ts";
import type { Scope } from "../../store/transact.ts";
import { knowledgeKeys } from "../keyspace.ts";
import { isRecallable, toNoteContent } from "./note.ts";

export interface NotesWithoutQuestions {
  /** The number of recallable notes, and how many of them have no questions. */
  readonly recallable: number;
  readonly without: number;
  /** Full names of the first notes without questions, in order. */
  readonly names: readonly string[];
  /** True if not all notes were examined. */
  readonly more: boolean;
}

/** Few notes per read, because contents may be long. */
const readAtOnce = 50;
const lookedAtMax = 10_000;

/**
 * Finds recallable notes without questions, in order of name. Such notes are hard to find with a differently worded query.
 * With `namesMax` it lists at most that many names and stops when it finds one more; otherwise it only counts.
 */
export const findNotesWithoutQuestions = (scope: Pick<Scope, "store">, { namesMax }: { readonly namesMax?: number } = {}): Promise<NotesWithoutQuestions> =>
  readTogether(scope.store, async (store) => {
    const names: string[] = [];
    let [recallable, without, looked, range] = [0, 0, 0, knowledgeKeys.all];
    for (;;) {
      const { entries, more } = await store.read(range, { limit: readAtOnce });
      for (const entry of entries) {
        const note = toNoteContent(entry);
        if (!isRecallable(note)) continue;
        recallable += 1;
        if (note.questions !== undefined && note.questions.length > 0) continue;
        without += 1;
        if (namesMax === undefined) continue;
        if (names.length === namesMax) return { recallable, without, names, more: true };
        names.push(knowledgeKeys.nameOf(entry.key));
      }
      looked += entries.length;
      const last = entries.at(-1);
      if (!more || last === undefined || looked >= lookedAtMax) return { recallable, without, names, more };
      range = rangeAfter(knowledgeKeys.all, last.key);
    }
  });
