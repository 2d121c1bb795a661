import { isHoldfastError } from "../../kernel/errors.ts";
import type { Scope } from "../../store/transact.ts";
import { readNote } from "../knowledge/knowledge.ts";
import type { Note } from "../knowledge/note.ts";
import type { ResearchCheckpoint } from "../research/checkpoint.ts";
import { requireCheckpoint } from "../research/checkpoints.ts";

/** Readable copies of checkpoints and notes outside the store, for people and for git. The store is the truth. */
export interface Mirror {
  /** Each writes one file and returns its path; null where none is wanted. */
  checkpoint(checkpoint: ResearchCheckpoint): Promise<string | null>;
  note(note: Note): Promise<string | null>;
}

/** Where the copy lies; a copy that could not be written never undoes what was saved. */
export type Mirrored = { readonly path: string } | { readonly path: null; readonly warning?: string };

type Reader = Pick<Scope, "store">;

export async function mirrorCheckpoint(scope: Reader, mirror: Mirror | undefined, id: string): Promise<Mirrored> {
  if (mirror === undefined) return { path: null };
  const checkpoint = await requireCheckpoint(scope, id);
  return attempt(() => mirror.checkpoint(checkpoint));
}

const attemptsMax = 5;

/**
 * Writes the note as it is now, and again until it did not change while the file was written: of two writers
 * the slower one would else leave the older text behind.
 */
export async function mirrorNote(scope: Reader, mirror: Mirror | undefined, name: string): Promise<Mirrored> {
  if (mirror === undefined) return { path: null };
  let note = await readNote(scope, name);
  let mirrored: Mirrored = { path: null };
  for (let i = 0; i < attemptsMax && note !== undefined; i += 1) {
    const written: Note = note;
    mirrored = await attempt(() => mirror.note(written));
    note = await readNote(scope, name);
    if (mirrored.path === null || note?.version === written.version) break;
  }
  return mirrored;
}

async function attempt(write: () => Promise<string | null>): Promise<Mirrored> {
  try {
    return { path: await write() };
  } catch (error) {
    return { path: null, warning: `Saved in the store, but not as a file: ${reasonOf(error)}` };
  }
}

/** Our own refusals say what is wrong; of the system's errors only the code is told, because their texts name paths. */
function reasonOf(error: unknown): string {
  if (isHoldfastError(error)) return error.message;
  const { code } = error as { readonly code?: unknown };
  return `the system refused it (${typeof code === "string" ? code : "unknown"}).`;
}
