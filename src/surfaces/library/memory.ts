import type { EntryHit, EntryPage } from "../../domain/journal/find-entries.ts";
import type { SavedEntry } from "../../domain/journal/journal.ts";
import type { EntryText, JournalEntry } from "../../domain/journal/journal-entry.ts";
import type { SaveNoteInput, SaveNoteResult } from "../../domain/knowledge/knowledge.ts";
import type { Note } from "../../domain/knowledge/note.ts";
import type { Recall } from "../../domain/knowledge/recall.ts";
import type { Mirrored } from "../../domain/mirror/mirror.ts";
import type { ResearchCheckpoint, ResearchContent } from "../../domain/research/checkpoint.ts";
import type { SaveCheckpointResult } from "../../domain/research/checkpoints.ts";
import type { CheckpointPage, ListQuery } from "../../domain/research/list-checkpoints.ts";
import type { Resume } from "../../domain/resume/resume.ts";
import type { Revision } from "../../store/store.ts";
import type { CallOptions, WriteOptions } from "./call-options.ts";

/** Selects the workspace whose journal is used. */
export interface WorkspaceOptions {
  /** A folder (absolute, or beginning with `.` or `~`), a name or an id; by default found from the process's folder. */
  readonly workspace?: string;
}

export interface EntryInput extends Pick<EntryText, "description">, Partial<Omit<EntryText, "description">> {
  /** Makes the entry visible from every workspace. */
  readonly global?: boolean;
}

/** The journal of work, by workspace. Entries are written once. */
export interface Journal {
  save(
    entry: EntryInput,
    options?: WriteOptions &
      WorkspaceOptions & {
        /** Highlights accumulate over a session; by default, each opened Holdfast is one session. */
        readonly sessionId?: string;
        /** How long the entry is kept; by default as configured, else forever. */
        readonly ttlMs?: number;
      },
  ): Promise<SavedEntry>;
  /** Finds an entry by its full id or a unique part of it; with `workspace`, only among entries visible from there. */
  get(idOrPart: string, options?: WorkspaceOptions): Promise<JournalEntry>;
  /** Lists entries, newest first. Pass `next` as `before` for the next page. */
  list(options?: WorkspaceOptions & { readonly limit?: number; readonly fromMs?: number; readonly untilMs?: number; readonly before?: string }): Promise<EntryPage>;
  /** Returns the best matches first. */
  search(
    query: string,
    options?: WorkspaceOptions & { readonly limit?: number; readonly fromMs?: number },
  ): Promise<{ readonly hits: readonly EntryHit[]; readonly revision: Revision }>;
  /** Returns all highlights of the entry's session, oldest first. */
  highlights(entry: JournalEntry, options?: WorkspaceOptions): Promise<{ readonly highlights: readonly string[]; readonly revision: Revision }>;
}

type Needed = "coreQuestion" | "thesis" | "confidence";
export type ResearchInput = Pick<ResearchContent, Needed> & Partial<Omit<ResearchContent, Needed>>;

/** The state of lines of research. Checkpoints never change; a later one continues an earlier one. */
export interface Research {
  /** The result's `path` is the readable copy next to a file store. */
  save(checkpoint: ResearchInput, options?: WriteOptions): Promise<SaveCheckpointResult & Mirrored>;
  /** Lists checkpoints, newest first, or best match first with `query`. Pass `next` as `after` for the next page. */
  list(options?: Partial<ListQuery>): Promise<CheckpointPage>;
  /** Loads a checkpoint by its full id or a unique part of it. `context` is the same content as a text to continue from, with stored text marked as such. */
  load(idOrPart: string): Promise<{ readonly checkpoint: ResearchCheckpoint; readonly context: string }>;
}

/** Notes that remain true after the task ends. */
export interface Knowledge {
  /** Replaces the note with the same id and skill; history keeps the old one. */
  save(note: SaveNoteInput, options?: WriteOptions): Promise<SaveNoteResult & Mirrored>;
  /** Returns a note by its full name, `id` or `@skill/id`, regardless of its status and trust. */
  get(name: string): Promise<Note | undefined>;
  /** Returns the notes that answer a question, best first, or none. `context` is the same content as a text, with stored text marked as such. */
  recall(
    query: string,
    options?: { readonly also?: readonly string[]; readonly skill?: string; readonly limit?: number; readonly maxTokens?: number },
  ): Promise<Recall & { readonly context: string }>;
}

export interface ResumeOptions extends WorkspaceOptions, Pick<CallOptions, "agent"> {
  /** Includes changes after this revision; by default those after the last journal entry. */
  readonly sinceRevision?: Revision;
  /** Describes the work, to recall matching notes; the last journal entry by default. */
  readonly query?: string;
  readonly skill?: string;
  readonly tokensMax?: number;
}

export interface ResumeText extends Resume {
  readonly workspace: { readonly id: string; readonly name: string; readonly hint?: string };
}
