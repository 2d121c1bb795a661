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

/** Whose journal. */
export interface WorkspaceOptions {
  /** A folder (absolute, or beginning with `.` or `~`), a name or an id; found from the process's folder when left out. */
  readonly workspace?: string;
}

export interface EntryInput extends Pick<EntryText, "description">, Partial<Omit<EntryText, "description">> {
  /** Seen from every workspace. */
  readonly global?: boolean;
}

/** The journal of work, by workspace. Entries are written once. */
export interface Journal {
  save(
    entry: EntryInput,
    options?: WriteOptions &
      WorkspaceOptions & {
        /** Highlights add up over a session; one is begun with every opening. */
        readonly sessionId?: string;
        /** Kept this long; as configured, else for ever, when left out. */
        readonly ttlMs?: number;
      },
  ): Promise<SavedEntry>;
  /** By the full id or a part that only one entry has; seen from one workspace when it is given. */
  get(idOrPart: string, options?: WorkspaceOptions): Promise<JournalEntry>;
  /** Newest first; give `next` back as `before` for the next page. */
  list(options?: WorkspaceOptions & { readonly limit?: number; readonly fromMs?: number; readonly untilMs?: number; readonly before?: string }): Promise<EntryPage>;
  /** Best first. */
  search(
    query: string,
    options?: WorkspaceOptions & { readonly limit?: number; readonly fromMs?: number },
  ): Promise<{ readonly hits: readonly EntryHit[]; readonly revision: Revision }>;
  /** Everything the entry's session has found worth keeping, oldest first. */
  highlights(entry: JournalEntry, options?: WorkspaceOptions): Promise<{ readonly highlights: readonly string[]; readonly revision: Revision }>;
}

type Needed = "coreQuestion" | "thesis" | "confidence";
export type ResearchInput = Pick<ResearchContent, Needed> & Partial<Omit<ResearchContent, Needed>>;

/** Where lines of research stand. Checkpoints are written once; a later one continues an earlier. */
export interface Research {
  /** `path`: the readable copy beside a store that is a file. */
  save(checkpoint: ResearchInput, options?: WriteOptions): Promise<SaveCheckpointResult & Mirrored>;
  /** Newest first, or with `query` best first; give `next` back as `after` for the next page. */
  list(options?: Partial<ListQuery>): Promise<CheckpointPage>;
  /** By the full id or a part that only one checkpoint has. `context`: the same as a text to continue from, with stored text marked as such. */
  load(idOrPart: string): Promise<{ readonly checkpoint: ResearchCheckpoint; readonly context: string }>;
}

/** Notes that stay true after the task. */
export interface Knowledge {
  /** The same id and skill replace; history keeps the old. */
  save(note: SaveNoteInput, options?: WriteOptions): Promise<SaveNoteResult & Mirrored>;
  /** A note by its full name, `id` or `@skill/id`, whatever its status and trust. */
  get(name: string): Promise<Note | undefined>;
  /** Notes that answer a question, best first; none when none does. `context`: the same as a text, stored words marked as such. */
  recall(
    query: string,
    options?: { readonly also?: readonly string[]; readonly skill?: string; readonly limit?: number; readonly maxTokens?: number },
  ): Promise<Recall & { readonly context: string }>;
}

export interface ResumeOptions extends WorkspaceOptions, Pick<CallOptions, "agent"> {
  /** Changes after this revision are included; by default those after the last journal entry. */
  readonly sinceRevision?: Revision;
  /** What the work is about, to recall notes by; the last journal entry when left out. */
  readonly query?: string;
  readonly skill?: string;
  readonly tokensMax?: number;
}

export interface ResumeText extends Resume {
  readonly workspace: { readonly id: string; readonly name: string; readonly hint?: string };
}
