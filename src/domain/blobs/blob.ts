import { createHash } from "node:crypto";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { limits } from "../../store/limits.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Entry, Store } from "../../store/store.ts";
import { blobKeys, hashDigits } from "../keyspace.ts";
import { arrayOf, number, object, storedAs, string } from "../stored-record.ts";

/** Binary content that entries name by its hash: the SHA-256 of the whole content, in lower-case hexadecimal digits. */
export interface BlobRef {
  readonly hash: string;
  readonly bytes: number;
}

export interface FoundBlob extends BlobRef {
  /** The hashes of the chunks in order. Each has `limits.chunkBytesMax` bytes, the last one the rest. */
  readonly chunks: readonly string[];
}

/** What nothing names is kept this long after it was last put or named. */
export const blobGraceMs = 3_600_000;
/** Putting something again renews its time at most this often. It is collected that much later, so that nobody gets less than the grace time. */
export const renewalMs = 60_000;

export const toManifest = storedAs(object<Omit<FoundBlob, "hash">>({ bytes: number, chunks: arrayOf(string) }));
/** How many blobs contain a chunk. */
const toUse = storedAs(object<{ readonly blobs: number }>({ blobs: number }));
const toChunkText = storedAs(string);

export const hashOf = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex");

export function requireHash(hash: unknown, field: string): string {
  if (typeof hash === "string" && hash.length === hashDigits && /^[0-9a-f]+$/.test(hash)) return hash;
  throw invalidInput(field, `must be a SHA-256 in ${hashDigits} lower-case hexadecimal digits`);
}

/** A chunk as callers send it and as it is stored: base64 with padding, in its only spelling. */
export interface SentChunk {
  readonly hash: string;
  readonly text: string;
  readonly content: Uint8Array;
}

export function readSentChunks(texts: unknown, field: string): readonly SentChunk[] {
  if (!Array.isArray(texts)) throw invalidInput(field, "must be a list of base64 texts");
  if (texts.length > limits.callChunksMax)
    throw new HoldfastError("limit_exceeded", `${field}: must have at most ${limits.callChunksMax} items (got ${texts.length})`, { details: { field } });
  return texts.map((text, i) => readSentChunk(text, `${field}[${i}]`));
}

const chunkTextMax = (limits.chunkBytesMax / 3) * 4;

function readSentChunk(text: unknown, field: string): SentChunk {
  if (typeof text !== "string" || text === "") throw invalidInput(field, "must be a base64 text");
  if (text.length > chunkTextMax) throw new HoldfastError("limit_exceeded", `${field}: must be the base64 text of at most ${limits.chunkBytesMax} bytes`, { details: { field } });
  const content = Buffer.from(text, "base64");
  // Node skips what is not base64.
  if (content.toString("base64") !== text) throw invalidInput(field, "must be base64 with padding and without line breaks");
  return { hash: hashOf(content), text, content };
}

export interface ChunkUse {
  /** The version of the use's entry, to check at the commit that changes it. A chunk and its use exist together. */
  readonly version: number;
  readonly blobs: number;
  readonly ageMs: number;
}

export async function readUses(store: Store, hashes: readonly string[]): Promise<ReadonlyMap<string, ChunkUse>> {
  if (hashes.length === 0) return new Map();
  const { entries, nowMs } = await store.read(hashes.map((hash) => keyRange(blobKeys.use(hash))));
  return new Map(entries.map((entry) => [blobKeys.hashOf(entry.key), useOf(entry, nowMs)]));
}

export const useOf = (entry: Entry, nowMs: number): ChunkUse => ({ version: entry.version, blobs: toUse(entry).blobs, ageMs: nowMs - entry.updatedAtMs });

/** The stored base64 text; undefined if there is no such chunk. */
export async function readChunkText(store: Store, hash: string): Promise<string | undefined> {
  const [entry] = (await store.read(keyRange(blobKeys.chunk(hash)))).entries;
  return entry && toChunkText(entry);
}

export const distinct = (hashes: readonly string[]): readonly string[] => [...new Set(hashes)];
