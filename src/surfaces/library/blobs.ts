import type { AssembleInput, AssembleResult } from "../../domain/blobs/assemble-blob.ts";
import type { BlobRef, FoundBlob } from "../../domain/blobs/blob.ts";
import type { PutChunks } from "../../domain/blobs/put-chunks.ts";
import type { CallOptions } from "./call-options.ts";

/**
 * Binary content of up to `limits.blobBytesMax` bytes, stored once under its SHA-256. Entries name blobs with `blobs` in `state.set` and `state.commit`.
 * What no entry names is kept for one hour after it was last put or named, and then removed.
 */
export interface Blobs {
  /** Durable when it resolves. Of a stream, a few chunks at a time are in memory. Content that is stored already is not stored again. */
  put(content: Uint8Array | AsyncIterable<Uint8Array>, options?: CallOptions): Promise<BlobRef>;
  /** The whole content; throws `not_found` if there is no such blob. */
  get(hash: string, options?: CallOptions): Promise<Uint8Array>;
  /** Yields the content in order, one chunk in memory at a time. */
  read(hash: string, options?: CallOptions): AsyncIterable<Uint8Array>;
  find(hash: string, options?: CallOptions): Promise<FoundBlob | undefined>;
  /** Stores up to `limits.callChunksMax` chunks, in base64. `put` is made of this and `assemble`, which programs without it can call themselves. */
  putChunks(chunks: readonly string[], options?: CallOptions): Promise<PutChunks>;
  /** Makes a blob of stored chunks, and of `contents` that it stores in the same commit. */
  assemble(input: AssembleInput, options?: CallOptions): Promise<AssembleResult>;
  /** One chunk in base64; `get` and `read` are made of this and `find`. */
  readChunk(hash: string, options?: CallOptions): Promise<string>;
}

export type BlobParts = Pick<Blobs, "putChunks" | "assemble" | "find" | "readChunk">;
