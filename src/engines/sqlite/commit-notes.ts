import { readFileSync, statSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";
import type { Revision } from "../../store/store.ts";

/**
 * The highest acknowledged revision of each namespace, noted outside the write-ahead log. SQLite silently drops everything after a damaged frame of
 * its log. A store that is then behind its own notes has lost commits that were acknowledged.
 *
 * A note is written after the commit's fsync and never synced itself: after a crash or a power loss it may be old, but never ahead. It counts only while
 * the store's file is the same, unchanged file that it was written next to: replacing it with a backup, copying it or a checkpoint invalidates the note.
 * The notes come after the first byte of the signal file, so that one write serves both purposes (see docs/decisions/0043).
 */
const firstNote = 64;
const noteBytes = 48;
const summedBytes = 40;

export interface CommitNote {
  readonly namespaceId: number;
  readonly revision: Revision;
}

interface FileStamp {
  readonly dev: number;
  readonly ino: number;
  readonly mtimeMs: number;
  readonly size: number;
}

const buffer = Buffer.alloc(noteBytes);
const summed = buffer.subarray(0, summedBytes);

/** Writes one note; `descriptor` is that of the signal file. */
export function writeCommitNote(descriptor: number, storePath: string, { namespaceId, revision }: CommitNote): void {
  const { dev, ino, mtimeMs, size } = statSync(storePath);
  buffer.writeDoubleLE(revision, 0);
  buffer.writeDoubleLE(dev, 8);
  buffer.writeDoubleLE(ino, 16);
  buffer.writeDoubleLE(mtimeMs, 24);
  buffer.writeDoubleLE(size, 32);
  buffer.writeUInt32LE(crc32(summed, namespaceId), summedBytes);
  writeSync(descriptor, buffer, 0, noteBytes, firstNote + namespaceId * noteBytes);
}

/** For a namespace that starts again from nothing. The caller makes it durable. */
export function eraseCommitNote(descriptor: number, namespaceId: number): void {
  writeSync(descriptor, Buffer.alloc(noteBytes), 0, noteBytes, firstNote + namespaceId * noteBytes);
}

/** The notes that are valid for the current file. Call this before SQLite opens it. */
export function readCommitNotes(signalPath: string, storePath: string): readonly CommitNote[] {
  const store = statSync(storePath, { throwIfNoEntry: false });
  const bytes = store === undefined ? undefined : readSignalFile(signalPath);
  if (store === undefined || bytes === undefined) return [];
  const notes: CommitNote[] = [];
  for (let namespaceId = 1, at = firstNote + noteBytes; at + noteBytes <= bytes.length; namespaceId += 1, at += noteBytes) {
    const note = bytes.subarray(at, at + noteBytes);
    const revision = note.readDoubleLE(0);
    if (revision > 0 && crc32(note.subarray(0, summedBytes), namespaceId) === note.readUInt32LE(summedBytes) && isOf(note, store)) notes.push({ namespaceId, revision });
  }
  return notes;
}

const isOf = (note: Buffer, { dev, ino, mtimeMs, size }: FileStamp): boolean => [dev, ino, mtimeMs, size].every((value, i) => note.readDoubleLE((i + 1) * 8) === value);

function readSignalFile(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    // There is no signal file, or it is not readable, so nothing is known.
    return undefined;
  }
}
