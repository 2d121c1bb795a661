import { HoldfastError } from "../kernel/errors.ts";

/** Our part of one client file: how it is added and removed, leaving everything else unchanged. */
export interface Edit {
  readonly path: string;
  /** A description of this part, for people. */
  readonly what: string;
  /** The text with our part; the same text if it is already there. Undefined: the file need not exist. */
  add(text: string | undefined): string | undefined;
  /**
   * The text without our part; undefined if the file contains nothing else and can be deleted.
   * `before` is the file before the first installation, known from a backup: what existed then is kept, even if it is empty.
   */
  remove(text: string, before: string | undefined): string | undefined;
}

/** Members for an entry if the user has not set them; "none": an existing reference to a variable is removed. */
export type Offered<Members> = Members | "none";

/** An edit that always adds something. */
export interface Insertion extends Edit {
  add(text: string | undefined): string;
}

/** An entry found in a file: its value, and the position of its text. */
export interface FoundEntry {
  readonly value: Readonly<Record<string, unknown>>;
  readonly start: number;
  readonly end: number;
}

/** Edits the entry of one server, and finds it. */
export interface EntryEdit extends Insertion {
  find(text: string): FoundEntry | undefined;
}

/** Removes what an earlier installation added and this one does not. */
export const withdrawn = (edit: Insertion): Edit => ({
  ...edit,
  what: `${edit.what}, no longer used`,
  add: (text) => (text === undefined ? undefined : edit.remove(text, undefined)),
});

/** A client's file that cannot be edited safely; nothing was changed. */
export const unusable = (path: string, problem: string, hint?: string): HoldfastError =>
  new HoldfastError("invalid_input", `${path}: ${problem}; nothing was changed`, { details: { field: "file", file: path }, ...(hint === undefined ? {} : { hint }) });

export const byteOrderMark = "\uFEFF";

/** The line ending of the file, whatever the system's default. */
export const lineEndOf = (text: string): "\r\n" | "\n" => (/\r\n/.test(text) ? "\r\n" : "\n");

export const lineOf = (text: string, offset: number): number => text.slice(0, offset).split("\n").length;
