import { isHoldfastError } from "../../kernel/errors.ts";
import type { Scope } from "../../store/transact.ts";
import { readNote } from "../knowledge/knowledge.ts";
import type { Note } from "../knowledge/note.ts";
import type { ResearchCheckpoint } from "../research/checkpoint.ts";
import { requireCheckpoint } from "../research/checkpoints.ts";

/** Readable copies of checkpoints and notes outside the store, for people and for git. The store is authoritative. */
export interface Mirror {
  /** Each method writes one file and returns its path, or null if no file is wanted. */
  checkpoint(checkpoint: ResearchCheckpoint): Promise<string | null>;
  note(note: Note): Promise<string | null>;
}

/** The path of the copy. A failure to write the copy never undoes the save. */
export type Mirrored = { readonly path: string } | { readonly path: null; readonly warning?: string };

type Reader = Pick<Scope, "store">;

export async function mirrorCheckpoint(scope: Reader, mirror: Mirror | undefined, id: string): Promise<Mirrored> {
  if (mirror === undefined) return { path: null };
  const checkpoint = await requireCheckpoint(scope, id);
  return attempt(() => mirror.checkpoint(checkpoint));
}

const attemptsMax = 5;

/**
 * Writes the current note, and repeats until the note did not change while the file was being written.
 * Otherwise the slower of two writers could leave the older text in the file.
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
    return { path: null, warning: `Saved in the store, but the mirror file could not be written: ${reasonOf(error)}` };
  }
}

/** Holdfast's own errors are safe to show. For system errors only the code is shown, because their messages contain paths. */
function reasonOf(error: unknown): string {
  if (isHoldfastError(error)) return error.message;
  const { code } = error as { readonly code?: unknown };
  return `system error (${typeof code === "string" ? code : "unknown"}).`;
}
