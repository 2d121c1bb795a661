import type { Check, Write } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { transact } from "../../store/transact.ts";
import { blobKeys } from "../keyspace.ts";
import type { ChunkUse, SentChunk } from "./blob.ts";
import { distinct, readSentChunks, readUses, renewalMs } from "./blob.ts";

export interface PutChunks {
  /** The chunks' hashes, in the order in which the chunks were sent. */
  readonly hashes: readonly string[];
}

/** Stores chunks, which are kept for the grace time until a blob contains them. Those that are stored already are not written again. */
export function putChunks(scope: Scope, texts: unknown): Promise<PutChunks> {
  const sent = readSentChunks(texts, "chunks");
  const hashes = sent.map(({ hash }) => hash);
  return transact<{ hashes: string[] }, PutChunks>(scope, {
    async decide() {
      const uses = await readUses(scope.store, distinct(hashes));
      const changes = [...new Map(sent.map((chunk) => [chunk.hash, chunk])).values()].map((chunk) => keepChunk(chunk, uses.get(chunk.hash)));
      const writes = changes.flatMap((change) => change.writes);
      return writes.length === 0 ? { answer: { hashes } } : { checks: changes.flatMap(({ checks }) => checks), writes, note: { hashes } };
    },
    finish: (note) => note,
  });
}

function keepChunk({ hash, text }: SentChunk, use: ChunkUse | undefined): { readonly checks: readonly Check[]; readonly writes: readonly Write[] } {
  if (use === undefined) return { checks: [isNew(hash)], writes: [putChunk(hash, text), putUse(hash, 0)] };
  // A chunk that blobs contain gets a new time when the last of them is removed.
  if (use.blobs > 0 || use.ageMs < renewalMs) return { checks: [], writes: [] };
  return { checks: [isUnchanged(hash, use)], writes: [putUse(hash, 0)] };
}

export const isNew = (hash: string): Check => ({ key: blobKeys.use(hash), is: "absent" });
export const isUnchanged = (hash: string, { version }: ChunkUse): Check => ({ key: blobKeys.use(hash), version });
export const putChunk = (hash: string, text: string): Write => ({ op: "put", key: blobKeys.chunk(hash), value: text });
export const putUse = (hash: string, blobs: number): Write => ({ op: "put", key: blobKeys.use(hash), value: { blobs } });
