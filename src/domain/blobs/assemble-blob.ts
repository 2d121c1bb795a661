import { createHash } from "node:crypto";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { limits } from "../../store/limits.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Check, Store, Write } from "../../store/store.ts";
import type { Decision, Scope } from "../../store/transact.ts";
import { transact } from "../../store/transact.ts";
import { blobKeys } from "../keyspace.ts";
import type { BlobRef, FoundBlob, SentChunk } from "./blob.ts";
import { distinct, readChunkText, readSentChunks, readUses, renewalMs, requireHash, toManifest } from "./blob.ts";
import { isNew, isUnchanged, putChunk, putUse } from "./put-chunks.ts";

export interface AssembleInput {
  readonly bytes: number;
  /** The hashes of the blob's chunks in order: `limits.chunkBytesMax` bytes each, the last one the rest. */
  readonly chunks: readonly string[];
  /** Checked against the content. Absent: computed from it. */
  readonly hash?: string;
  /** Chunks of the list, as base64, that are stored in the same commit unless they are stored already; at most `limits.callChunksMax`. */
  readonly contents?: readonly string[];
}

/** `missing`: chunks that are neither stored nor among `contents`; nothing was changed. */
export type AssembleResult = ({ readonly ok: true } & BlobRef) | { readonly ok: false; readonly missing: readonly string[] };

/**
 * Makes a blob of chunks, in one commit with those that are sent along. The hash is verified, so that a blob never has other content than its hash says.
 * A blob that exists already is kept for a new grace time.
 */
export async function assembleBlob(scope: Scope, input: AssembleInput): Promise<AssembleResult> {
  const parts = requireParts(input);
  const { store } = scope;
  // A blob of one chunk has its hash.
  let hash = parts.hash ?? (parts.chunks.length === 1 ? parts.chunks[0] : undefined);
  let isVerified = false;
  return transact<{ hash: string; bytes: number }, AssembleResult>(scope, {
    async decide() {
      if (hash !== undefined) {
        const known = await renewBlob(store, hash, parts.bytes);
        if (known !== undefined) return known;
      }
      const uses = await readUses(store, parts.distinct);
      const missing = parts.distinct.filter((chunk) => !uses.has(chunk) && !parts.sent.has(chunk));
      if (missing.length > 0) return { answer: { ok: false, missing } };
      if (!isVerified) {
        const found = await hashContent(store, parts);
        // Collected a moment ago.
        if ("missing" in found) return { answer: { ok: false, missing: found.missing } };
        if (parts.hash !== undefined && parts.hash !== found.hash) throw invalidInput("hash", `the chunks' content has the hash ${found.hash}`);
        isVerified = true;
        // Only now is it known whether the blob is stored already.
        if (hash === undefined) {
          hash = found.hash;
          return this.decide(0);
        }
      }
      const checks: Check[] = [{ key: blobKeys.manifest(hash as string), is: "absent" }];
      const writes: Write[] = [
        { op: "put", key: blobKeys.manifest(hash as string), value: { bytes: parts.bytes, chunks: parts.chunks } },
        { op: "put", key: blobKeys.mark(hash as string), value: null },
      ];
      for (const chunk of parts.distinct) {
        const use = uses.get(chunk);
        checks.push(use === undefined ? isNew(chunk) : isUnchanged(chunk, use));
        if (use === undefined) writes.push(putChunk(chunk, parts.sent.get(chunk)?.text as string));
        writes.push(putUse(chunk, (use?.blobs ?? 0) + 1));
      }
      return { checks, writes, note: { hash: hash as string, bytes: parts.bytes } };
    },
    finish: (note) => ({ ok: true, ...note }),
  });
}

interface Parts extends Pick<FoundBlob, "bytes" | "chunks"> {
  readonly hash: string | undefined;
  readonly distinct: readonly string[];
  readonly sent: ReadonlyMap<string, SentChunk>;
}

function requireParts({ bytes, chunks, hash, contents }: AssembleInput): Parts {
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw invalidInput("bytes", "must be a whole number of bytes");
  if (bytes > limits.blobBytesMax)
    throw new HoldfastError("limit_exceeded", `bytes: a blob may have ${limits.blobBytesMax} bytes; this one has ${bytes}`, { details: { field: "bytes" } });
  const count = Math.ceil(bytes / limits.chunkBytesMax);
  if (!Array.isArray(chunks) || chunks.length !== count)
    throw invalidInput("chunks", `must be the hashes of ${count} chunks: ${limits.chunkBytesMax} bytes each, the last one the rest`);
  const hashes = (chunks as readonly unknown[]).map((chunk, i) => requireHash(chunk, `chunks[${i}]`));
  const sent = new Map(readSentChunks(contents ?? [], "contents").map((chunk) => [chunk.hash, chunk]));
  for (const each of sent.keys()) if (!hashes.includes(each)) throw invalidInput("contents", `the hash ${each} of one of them is not among chunks`);
  return { bytes, chunks: hashes, hash: hash === undefined ? undefined : requireHash(hash, "hash"), distinct: distinct(hashes), sent };
}

/** Undefined: there is no such blob. */
async function renewBlob(store: Store, hash: string, bytes: number): Promise<Decision<{ hash: string; bytes: number }, AssembleResult> | undefined> {
  const [manifestKey, markKey] = [blobKeys.manifest(hash), blobKeys.mark(hash)];
  const { entries, nowMs } = await store.read([keyRange(manifestKey), keyRange(markKey)]);
  const manifest = entries.find(({ key }) => key === manifestKey);
  if (manifest === undefined) return undefined;
  const stored = toManifest(manifest).bytes;
  if (stored !== bytes) throw invalidInput("bytes", `the blob of this hash has ${stored} bytes`);
  const mark = entries.find(({ key }) => key === markKey);
  if (mark !== undefined && nowMs - mark.updatedAtMs < renewalMs) return { answer: { ok: true, hash, bytes } };
  return { checks: [{ key: manifestKey, is: "present" }], writes: [{ op: "put", key: markKey, value: null }], note: { hash, bytes } };
}

/** The hash of the content, one chunk in memory at a time. */
async function hashContent(store: Store, { bytes, chunks, sent }: Parts): Promise<{ readonly hash: string } | { readonly missing: readonly string[] }> {
  const whole = createHash("sha256");
  for (const [i, chunk] of chunks.entries()) {
    const text = sent.has(chunk) ? undefined : await readChunkText(store, chunk);
    const content = sent.get(chunk)?.content ?? (text === undefined ? undefined : Buffer.from(text, "base64"));
    if (content === undefined) return { missing: [chunk] };
    const wanted = Math.min(limits.chunkBytesMax, bytes - i * limits.chunkBytesMax);
    if (content.length !== wanted) throw invalidInput(`chunks[${i}]`, `must have ${wanted} bytes; it has ${content.length}`);
    whole.update(content);
  }
  return { hash: whole.digest("hex") };
}
