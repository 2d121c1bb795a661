import { assembleBlob } from "../../domain/blobs/assemble-blob.ts";
import { findBlob, requireChunk } from "../../domain/blobs/find-blob.ts";
import { putChunks } from "../../domain/blobs/put-chunks.ts";
import { blobsOver } from "./blob-content.ts";
import type { Blobs } from "./blobs.ts";
import type { CallOptions } from "./call-options.ts";
import type { LibraryBase } from "./call-scope.ts";
import { scopeOf } from "./call-scope.ts";

/** Repeating these calls changes nothing, so they store no answer under a request key. */
export function bindBlobs(base: LibraryBase): Blobs {
  const scope = ({ agent, signal }: CallOptions, operation: string) => scopeOf(base, { agent, signal }, operation, {});
  return blobsOver({
    putChunks: async (chunks, options = {}) => putChunks(scope(options, "blobs.putChunks"), chunks),
    assemble: async (input, options = {}) => assembleBlob(scope(options, "blobs.assemble"), input),
    find: async (hash) => findBlob(base.scope, hash),
    readChunk: async (hash) => requireChunk(base.scope, hash),
  });
}
