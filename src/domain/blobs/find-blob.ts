import { HoldfastError } from "../../kernel/errors.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Scope } from "../../store/transact.ts";
import { blobKeys } from "../keyspace.ts";
import type { FoundBlob } from "./blob.ts";
import { readChunkText, requireHash, toManifest } from "./blob.ts";

export async function findBlob({ store }: Pick<Scope, "store">, given: unknown): Promise<FoundBlob | undefined> {
  const hash = requireHash(given, "hash");
  const [entry] = (await store.read(keyRange(blobKeys.manifest(hash)))).entries;
  if (entry === undefined) return undefined;
  const { bytes, chunks } = toManifest(entry);
  return { hash, bytes, chunks };
}

/** The base64 text of one chunk. */
export async function requireChunk({ store }: Pick<Scope, "store">, given: unknown): Promise<string> {
  const hash = requireHash(given, "hash");
  const text = await readChunkText(store, hash);
  if (text === undefined) throw new HoldfastError("not_found", `There is no chunk with the hash ${hash}.`, { details: { hash } });
  return text;
}
