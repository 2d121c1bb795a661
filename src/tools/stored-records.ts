import { listEntryIds, readEntry } from "../domain/journal/find-entries.ts";
import { journalKeys, researchKeys } from "../domain/keyspace.ts";
import { listNoteNames, readNote } from "../domain/knowledge/knowledge.ts";
import type { Note } from "../domain/knowledge/note.ts";
import { fullName } from "../domain/knowledge/note.ts";
import type { NotesWithoutQuestions } from "../domain/knowledge/notes-without-questions.ts";
import { findNotesWithoutQuestions } from "../domain/knowledge/notes-without-questions.ts";
import { readCheckpoint } from "../domain/research/checkpoints.ts";
import { listCheckpoints } from "../domain/research/list-checkpoints.ts";
import { locateWorkspace } from "../domain/workspace/workspace.ts";
import { isHoldfastError } from "../kernel/errors.ts";
import { requireKey } from "../store/prepare-commit.ts";
import type { Range } from "../store/store.ts";
import { entryAnswer } from "./journal-answer.ts";
import { checkpointAnswer } from "./research-tools.ts";
import type { ToolBase } from "./run-tool.ts";

export interface RecordIds {
  readonly ids: readonly string[];
  /** Pass this as `after` to get the next page; undefined at the end. */
  readonly next?: string;
}

/** Access to one kind of record by its exact id, for surfaces that offer records outside of tool calls. */
export interface StoredRecords {
  /** Undefined if there is no record with this id. */
  read(base: ToolBase, id: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** The records that the kind's tools would show this caller, in the same order. */
  list(base: ToolBase, page: { readonly limit: number; readonly after?: string }): Promise<RecordIds>;
  /** Ids with this prefix. */
  beginning(base: ToolBase, text: string, limit: number): Promise<{ readonly ids: readonly string[]; readonly more: boolean }>;
}

export const journalRecords: StoredRecords = {
  read: (base, id) => unlessImpossible(id, async () => present(await readEntry(base, id), entryAnswer)),
  // Like the journal: the entries of the caller's workspace and the global ones.
  async list(base, { limit, after }) {
    return listEntryIds(base, { workspace: await locateWorkspace(base.store, base.server.surroundings), limit, before: after });
  },
  beginning: (base, text, limit) => newestBeginning(base, journalKeys.beginning(text), journalKeys.idOf, limit),
};

export const researchRecords: StoredRecords = {
  read: (base, id) => unlessImpossible(id, async () => present(await readCheckpoint(base, id), checkpointAnswer)),
  async list(base, page) {
    const { checkpoints, next } = await listCheckpoints(base, page);
    return { ids: checkpoints.map(({ id }) => id), next };
  },
  beginning: (base, text, limit) => newestBeginning(base, researchKeys.checkpoints(text), researchKeys.idOf, limit),
};

export const noteRecords: StoredRecords = {
  // Quarantined notes are kept for people to review and are never passed to a model.
  read: (base, name) => unlessImpossible(name, async () => present(await readNote(base, name), (note) => (note.trust === "quarantined" ? undefined : noteAnswer(note)))),
  async list(base, page) {
    const { names, next } = await listNoteNames(base, page);
    return { ids: names, next };
  },
  async beginning(base, prefix, limit) {
    const { names, next } = await listNoteNames(base, { prefix, limit });
    return { ids: names, more: next !== undefined };
  },
};

/** Full names of the first notes without questions, and the total number of such notes. */
export const notesWithoutQuestions = (base: ToolBase, namesMax: number): Promise<NotesWithoutQuestions> => findNotesWithoutQuestions(base, { namesMax });

/** A note in its output form. */
export const noteAnswer = (note: Note) => ({
  id: note.id,
  name: fullName(note.id, note.skill),
  scope: note.skill === undefined ? "global" : `skill:${note.skill}`,
  content: note.content,
  keywords: note.keywords,
  questions: note.questions ?? [],
  source: note.source ?? null,
  status: note.status,
  trust: note.trust,
  supersedes: note.supersedes ?? null,
  superseded_by: note.supersededBy ?? null,
  saved: new Date(note.savedAtMs).toISOString(),
  author: note.writer,
  agent_id: note.agent ?? null,
  version: note.version,
});

const present = <Stored, Answer>(stored: Stored | undefined, answer: (stored: Stored) => Answer): Answer | undefined => (stored === undefined ? undefined : answer(stored));

/** These ids sort by age, and the caller most likely means a recent one. */
async function newestBeginning(
  { store }: ToolBase,
  range: Range,
  idOf: (key: string) => string,
  limit: number,
): Promise<{ readonly ids: readonly string[]; readonly more: boolean }> {
  const { entries, more } = await store.read(range, { limit, values: false, reverse: true });
  return { ids: entries.map(({ key }) => idOf(key)), more };
}

/** An invalid id is treated as unknown. */
async function unlessImpossible<Answer>(id: string, read: () => Promise<Answer | undefined>): Promise<Answer | undefined> {
  try {
    requireKey(id, "id");
    return await read();
  } catch (error) {
    if (isHoldfastError(error, "invalid_input") || isHoldfastError(error, "limit_exceeded")) return undefined;
    throw error;
  }
}
