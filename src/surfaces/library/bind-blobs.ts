import { assembleBlob } from "../../domain/blobs/assemble-blob.ts";
import { findBlob, requireChunk } from "../../domain/blobs/find-blob.ts";
import { putChunks } from "../../domain/blobs/put-chunks.ts";
import type { Base64 } from "./blob-content.ts";
import { blobsOver } from "./blob-content.ts";
import type { BlobParts, Blobs } from "./blobs.ts";
import type { CallOptions } from "./call-options.ts";
import type { LibraryBase } from "./call-scope.ts";
import { scopeOf } from "./call-scope.ts";

const nodeBase64: Base64 = {
  toText: ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength).toString("base64"),
  fromText: (text) => Buffer.from(text, "base64"),
};

/** Repeating these calls changes nothing, so they store no answer under a request key. */
export function bindBlobs(base: LibraryBase): Blobs {
  const scope = ({ agent, signal }: CallOptions, operation: string) => scopeOf(base, { agent, signal }, operation, {});
  const parts: BlobParts = {
    putChunks: async (chunks, options = {}) => putChunks(scope(options, "blobs.putChunks"), chunks),
    assemble: async (input, options = {}) => assembleBlob(scope(options, "blobs.assemble"), input),
    find: async (hash) => findBlob(base.scope, hash),
    readChunk: async (hash) => requireChunk(base.scope, hash),
  };
  return blobsOver(parts, nodeBase64);
}
