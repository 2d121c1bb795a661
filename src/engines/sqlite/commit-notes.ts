import { readFileSync, statSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";
import type { Revision } from "../../store/store.ts";

/**
 * The highest acknowledged revision of each namespace, noted outside the write-ahead log. SQLite silently drops everything behind a damaged frame of
 * its log; a store that is then behind its own notes has lost commits that somebody relies on.
 *
 * A note is written after the commit's fsync and never synced itself: after a crash or a loss of power it may be old, never ahead. It counts only while
 * the store's file is the very one, unchanged, that it was written beside: a backup put in its place, a copy or a checkpoint makes it void.
 * The notes lie behind the first byte of the signal file, so that one write does for both (see docs/decisions/0043).
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

/** Writes one note; `descriptor` is the signal file's. */
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

/** For a namespace that begins anew. The caller makes it durable. */
export function eraseCommitNote(descriptor: number, namespaceId: number): void {
  writeSync(descriptor, Buffer.alloc(noteBytes), 0, noteBytes, firstNote + namespaceId * noteBytes);
}

/** The notes that count for the file as it is now. To be called before SQLite opens it. */
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
    // No signal file, or not ours to read: then nothing is known.
    return undefined;
  }
}
