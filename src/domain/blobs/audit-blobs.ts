import { createHash } from "node:crypto";
import { limits } from "../../store/limits.ts";
import { keyRange, rangeAfter } from "../../store/ranges.ts";
import { readTogether } from "../../store/read-together.ts";
import type { Entry, Range, Store } from "../../store/store.ts";
import { blobKeys } from "../keyspace.ts";
import { blobGraceMs, distinct, hashOf, readChunkText, renewalMs, toManifest, useOf } from "./blob.ts";

export type BlobFault =
  | "chunk_missing"
  | "chunk_differs"
  | "blob_differs"
  | "blob_missing"
  /** A chunk is counted too often, so that it would stay for ever, or not often enough, so that it would be removed too early. */
  | "use_differs"
  /** Something that the collection would never find. */
  | "left_over";

export interface BlobProblem {
  readonly fault: BlobFault;
  /** The blob's or the chunk's hash. */
  readonly hash: string;
  readonly says: string;
}

export interface BlobAudit {
  readonly blobs: number;
  readonly chunks: number;
  readonly references: number;
  /** Blobs that nothing names and chunks that no blob contains: they are removed after their grace time. */
  readonly unnamed: number;
  /** Those of them whose grace time is over. A process that maintains the store removes them. */
  readonly overdue: number;
  readonly problems: readonly BlobProblem[];
}

const problemsMax = 50;
const pageSize = { manifests: 50, others: 500 } as const;

/** Reads all blobs of a namespace as of one revision, with their content, and lists what is missing, wrong or left over. Others may write meanwhile. */
export const auditBlobs = (store: Store, onRecords: (count: number) => void = () => {}): Promise<BlobAudit> => readTogether(store, (pinned) => auditAt(pinned, onRecords));

async function auditAt(store: Store, onRecords: (count: number) => void): Promise<BlobAudit> {
  const problems: BlobProblem[] = [];
  const note = (fault: BlobFault, hash: string, says: string): void => {
    if (problems.length < problemsMax) problems.push({ fault, hash, says });
  };
  /** How many blobs contain each chunk. */
  const contained = new Map<string, number>();
  const blobs = new Set<string>();
  const chunks = await hashesIn(store, blobKeys.chunks, onRecords);
  for await (const { entries } of pagesOf(store, blobKeys.manifests, pageSize.manifests, true)) {
    for (const entry of entries) {
      blobs.add(blobKeys.hashOf(entry.key));
      for (const chunk of distinct(toManifest(entry).chunks)) contained.set(chunk, (contained.get(chunk) ?? 0) + 1);
      await checkContent(store, entry, note);
    }
    onRecords(entries.length);
  }
  let [references, unnamed, overdue] = [0, 0, 0];
  const count = (entry: Entry, nowMs: number): void => {
    unnamed += 1;
    if (nowMs - entry.updatedAtMs >= blobGraceMs + renewalMs) overdue += 1;
  };
  const used = new Set<string>();
  for await (const { entries, nowMs } of pagesOf(store, blobKeys.uses, pageSize.others, true))
    for (const entry of entries) {
      const [hash, { blobs: counted }] = [blobKeys.hashOf(entry.key), useOf(entry, nowMs)];
      used.add(hash);
      const found = contained.get(hash) ?? 0;
      if (counted !== found) note("use_differs", hash, `chunk ${hash} is counted in ${counted} blobs and contained in ${found}`);
      if (!chunks.has(hash)) note("chunk_missing", hash, `chunk ${hash} is missing`);
      else if (found === 0) await checkChunk(store, hash, note);
      if (counted === 0) count(entry, nowMs);
    }
  for (const hash of chunks) if (!used.has(hash)) note("left_over", hash, `chunk ${hash} is not counted`);
  const named = new Set<string>();
  for await (const { entries } of pagesOf(store, blobKeys.references, pageSize.others, false)) {
    if (entries.length === 0) break;
    const owners = await store.read(distinct(entries.map(({ key }) => blobKeys.ownerOf(key))).map(keyRange), { values: false });
    const revisions = new Map(owners.entries.map(({ key, revision }) => [key, revision]));
    for (const { key, revision } of entries) {
      const [hash, owner] = [blobKeys.hashOf(key), blobKeys.ownerOf(key)];
      if (revisions.get(owner) !== revision) continue;
      named.add(hash);
      if (!blobs.has(hash)) note("blob_missing", hash, `blob ${hash} is missing, which ${JSON.stringify(owner)} names`);
    }
    references += entries.length;
  }
  const marked = new Set<string>();
  for await (const { entries, nowMs } of pagesOf(store, blobKeys.marks, pageSize.others, false))
    for (const entry of entries) {
      const hash = blobKeys.hashOf(entry.key);
      marked.add(hash);
      if (!blobs.has(hash)) note("left_over", hash, `the mark of blob ${hash} has no blob`);
      else if (!named.has(hash)) count(entry, nowMs);
    }
  for (const hash of blobs) if (!marked.has(hash)) note("left_over", hash, `blob ${hash} has no mark`);
  onRecords(used.size + references + marked.size);
  return { blobs: blobs.size, chunks: chunks.size, references, unnamed, overdue, problems };
}

type Note = (fault: BlobFault, hash: string, says: string) => void;

/** Reads the content of a blob, one chunk at a time. */
async function checkContent(store: Store, manifest: Entry, note: Note): Promise<void> {
  const hash = blobKeys.hashOf(manifest.key);
  const { bytes, chunks } = toManifest(manifest);
  const whole = createHash("sha256");
  let length = 0;
  for (const chunk of chunks) {
    const content = await checkChunk(store, chunk, note);
    if (content === undefined) return note("chunk_missing", hash, `blob ${hash} lacks chunk ${chunk}`);
    whole.update(content);
    length += content.length;
  }
  if (length !== bytes || whole.digest("hex") !== hash) note("blob_differs", hash, `the content of blob ${hash} is not what its hash says`);
}

async function checkChunk(store: Store, hash: string, note: Note): Promise<Uint8Array | undefined> {
  const text = await readChunkText(store, hash);
  if (text === undefined) return undefined;
  const content = Buffer.from(text, "base64");
  if (content.length > limits.chunkBytesMax || hashOf(content) !== hash) note("chunk_differs", hash, `the content of chunk ${hash} is not what its hash says`);
  return content;
}

async function hashesIn(store: Store, range: Range, onRecords: (count: number) => void): Promise<ReadonlySet<string>> {
  const hashes = new Set<string>();
  for await (const { entries } of pagesOf(store, range, pageSize.others, false)) {
    for (const { key } of entries) hashes.add(blobKeys.hashOf(key));
    onRecords(entries.length);
  }
  return hashes;
}

async function* pagesOf(store: Store, range: Range, limit: number, values: boolean): AsyncGenerator<{ readonly entries: readonly Entry[]; readonly nowMs: number }> {
  for (let rest = range; ; ) {
    const { entries, nowMs, more } = await store.read(rest, { limit, values });
    yield { entries, nowMs };
    const last = entries.at(-1);
    if (!more || last === undefined) return;
    rest = rangeAfter(range, last.key);
  }
}
