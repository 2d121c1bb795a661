import { HoldfastError } from "../kernel/errors.ts";

/** Our part in one file of a client: how it is put in and taken out, leaving everything else as it was. */
export interface Edit {
  readonly path: string;
  /** For people: what this part is. */
  readonly what: string;
  /** The text with our part in it; the same text when it is there already. Undefined: there need be no such file. */
  add(text: string | undefined): string | undefined;
  /**
   * The text without our part; undefined when nothing else is in the file, so that it can go.
   * `before` is the file as it was before the first installation, known from a backup: what existed then is kept, even if it is empty.
   */
  remove(text: string, before: string | undefined): string | undefined;
}

/** What an entry gets where the user has nothing in its place; "none": an existing reference to a variable is removed. */
export type Offered<Members> = Members | "none";

/** An edit that always puts something in. */
export interface Insertion extends Edit {
  add(text: string | undefined): string;
}

/** Takes out what an earlier installation put in and this one does not. */
export const withdrawn = (edit: Insertion): Edit => ({
  ...edit,
  what: `${edit.what}, no longer used`,
  add: (text) => (text === undefined ? undefined : edit.remove(text, undefined)),
});

/** A client's file that cannot be edited safely; nothing was changed. */
export const unusable = (path: string, problem: string, hint?: string): HoldfastError =>
  new HoldfastError("invalid_input", `${path}: ${problem}; nothing was changed`, { details: { field: "file", file: path }, ...(hint === undefined ? {} : { hint }) });

export const byteOrderMark = "\uFEFF";

/** Line ends as the file has them; the system's habit does not matter. */
export const lineEndOf = (text: string): "\r\n" | "\n" => (/\r\n/.test(text) ? "\r\n" : "\n");

export const lineOf = (text: string, offset: number): number => text.slice(0, offset).split("\n").length;
