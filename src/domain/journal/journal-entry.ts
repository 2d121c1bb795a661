import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { randomHex } from "../../kernel/ids.ts";
import type { Json } from "../../kernel/json.ts";
import { indexText } from "../../search/index-text.ts";
import type { Entry, IndexedText } from "../../store/store.ts";
import { journalKeys } from "../keyspace.ts";
import { arrayOf, flag, number, object, optional, storedAs, string, toStored } from "../stored-record.ts";

/** An agent's record of its work. Entries are never changed. */
export interface JournalEntry {
  readonly id: string;
  readonly description: string;
  readonly highlights: readonly string[];
  readonly activeFiles: readonly string[];
  readonly tags: readonly string[];
  readonly gitBranch?: string;
  readonly gitCommit?: string;
  readonly workContext?: string;
  /** Questions that someone would ask to find the entry later. */
  readonly questions?: readonly string[];
  readonly sessionId: string;
  /** The workspace in which it was written. */
  readonly workspace: { readonly id: string; readonly name: string };
  /** Visible from every workspace. */
  readonly global: boolean;
  readonly createdAtMs: number;
  readonly expiresAtMs?: number;
  readonly revision: number;
  readonly writer: string;
  readonly agent?: string;
}

/** The part of an entry that its writer provides; Holdfast adds the rest. */
export interface EntryText {
  readonly description: string;
  readonly highlights: readonly string[];
  readonly activeFiles: readonly string[];
  readonly tags: readonly string[];
  readonly gitBranch?: string;
  readonly workContext?: string;
  readonly questions?: readonly string[];
}

export const entryLimits = {
  descriptionCharactersMax: 10_000,
  contextCharactersMax: 20_000,
  highlightsMax: 100,
  highlightCharactersMax: 1_000,
  filesMax: 200,
  fileCharactersMax: 1_024,
  tagsMax: 32,
  tagCharactersMax: 64,
  questionsMax: 5,
  questionCharactersMax: 256,
  branchCharactersMax: 256,
  sessionIdBytesMax: 256,
} as const;

/** Rejects fields that are too long or have too many items, because a journal is for notes, not for bulk data. */
export function requireEntryText({ description, highlights, activeFiles, tags, gitBranch, workContext, questions = [] }: EntryText): void {
  requireLength("description", description, entryLimits.descriptionCharactersMax);
  if (description.trim() === "") throw invalidInput("description", "must say what was done; it is empty");
  requireLength("workContext", workContext ?? "", entryLimits.contextCharactersMax);
  requireLength("gitBranch", gitBranch ?? "", entryLimits.branchCharactersMax);
  requireList("highlights", highlights, entryLimits.highlightsMax, entryLimits.highlightCharactersMax);
  requireList("activeFiles", activeFiles, entryLimits.filesMax, entryLimits.fileCharactersMax);
  requireList("tags", tags, entryLimits.tagsMax, entryLimits.tagCharactersMax);
  requireList("questions", questions, entryLimits.questionsMax, entryLimits.questionCharactersMax);
}

export function requireSessionId(sessionId: string): void {
  if (typeof sessionId !== "string" || sessionId === "" || Buffer.byteLength(sessionId) > entryLimits.sessionIdBytesMax || sessionId.includes("\0") || !sessionId.isWellFormed())
    throw invalidInput("sessionId", `must be 1 to ${entryLimits.sessionIdBytesMax} bytes of well-formed text without NUL`);
}

function requireList(field: string, texts: readonly string[], countMax: number, charactersMax: number): void {
  if (!Array.isArray(texts)) throw invalidInput(field, "must be a list of strings");
  if (texts.length > countMax) throw tooMuch(field, `may have at most ${countMax} items; ${texts.length} were given`);
  for (const [i, text] of texts.entries()) requireLength(`${field}[${i}]`, text, charactersMax);
}

function requireLength(field: string, text: string, charactersMax: number): void {
  if (typeof text !== "string") throw invalidInput(field, "must be a string");
  if (text.length > charactersMax) throw tooMuch(field, `may have at most ${charactersMax} characters; ${text.length} were given`);
  if (!text.isWellFormed() || text.includes("\0")) throw invalidInput(field, "must be well-formed text without NUL");
}

const tooMuch = (field: string, allowed: string): HoldfastError =>
  new HoldfastError("limit_exceeded", `${field}: ${allowed}`, { hint: "Nothing was saved. Save the essence; put bulk into files or state_set.", details: { field } });

/** Short fields get a higher weight, because each of their words says more. */
export const entryIndex = (journalId: string, { description, highlights, activeFiles, tags, workContext, questions = [] }: EntryText): IndexedText =>
  indexText(journalKeys.area(journalId), [
    { text: description, weight: 1.5 },
    { text: tags.join("\n"), weight: 1.5 },
    { text: highlights.join("\n"), weight: 1.2 },
    { text: workContext ?? "", weight: 1 },
    { text: activeFiles.join("\n"), weight: 1 },
    { text: questions.join("\n"), weight: 1 },
  ]);

type StoredEntry = Omit<JournalEntry, "id" | "expiresAtMs" | "revision" | "writer" | "agent">;

export const fromStoredEntry = storedAs(
  object<StoredEntry>({
    description: string,
    highlights: arrayOf(string),
    activeFiles: arrayOf(string),
    tags: arrayOf(string),
    questions: optional(arrayOf(string)),
    gitBranch: optional(string),
    gitCommit: optional(string),
    workContext: optional(string),
    sessionId: string,
    workspace: object({ id: string, name: string }),
    global: flag,
    createdAtMs: number,
  }),
);

export const toStoredEntry = (entry: StoredEntry): Json => toStored(entry);

export const toJournalEntry = (stored: Entry): JournalEntry => ({
  ...fromStoredEntry(stored),
  id: journalKeys.idOf(stored.key),
  expiresAtMs: stored.expiresAtMs,
  revision: stored.revision,
  writer: stored.writer,
  agent: stored.agent,
});

/**
 * `cp-20261115-100238-0000002a7f3c`: the time (UTC), the revision that its writer had seen, and four random digits. Ids sort by age, and the random
 * digits keep writers that saw the same revision from colliding.
 */
export function entryId(createdAtMs: number, seenRevision: number): string {
  const [day, time] = new Date(createdAtMs).toISOString().replaceAll(/[-:]/g, "").split(/[T.]/) as [string, string];
  return `cp-${day}-${time}-${seenRevision.toString(16).padStart(8, "0")}${randomHex(4)}`;
}
