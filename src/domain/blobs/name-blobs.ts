import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { limits } from "../../store/limits.ts";
import type { Check, FailedCheck, Write } from "../../store/store.ts";
import { blobKeys } from "../keyspace.ts";
import { distinct, requireHash } from "./blob.ts";

/** An entry of this commit and the blobs that it names. */
export interface Naming {
  /** The engine key of the entry. */
  readonly owner: string;
  readonly blobs?: readonly string[];
}

/** What naming blobs adds to the commit that writes the entries. The mark changes with every naming, so that a blob that is just being collected stays. */
export function nameBlobs(namings: readonly Naming[]): { readonly checks: readonly Check[]; readonly writes: readonly Write[] } {
  const named = namings.map(({ owner, blobs = [] }) => ({ owner, hashes: requireNames(blobs) }));
  const all = distinct(named.flatMap(({ hashes }) => hashes));
  const references = named.flatMap(({ owner, hashes }) => hashes.map((hash): Write => ({ op: "put", key: blobKeys.reference(hash, owner), value: null })));
  const count = namings.length + references.length + all.length;
  if (all.length > 0 && count > limits.commitWritesMax)
    throw new HoldfastError("limit_exceeded", `blobs: entries, names of blobs and the blobs named may add up to ${limits.commitWritesMax} in one commit (got ${count})`, {
      details: { field: "blobs" },
    });
  return {
    checks: all.map((hash) => ({ key: blobKeys.manifest(hash), is: "present" })),
    writes: [...references, ...all.map((hash): Write => ({ op: "put", key: blobKeys.mark(hash), value: null }))],
  };
}

function requireNames(blobs: unknown): readonly string[] {
  if (!Array.isArray(blobs)) throw invalidInput("blobs", "must be a list of hashes");
  if (blobs.length > limits.entryBlobsMax)
    throw new HoldfastError("limit_exceeded", `blobs: one entry may name ${limits.entryBlobsMax} (got ${blobs.length})`, { details: { field: "blobs" } });
  return distinct(blobs.map((hash) => requireHash(hash, "blobs")));
}

/** Throws if the commit failed because a blob is not there. */
export function throwIfBlobAbsent(failed: readonly FailedCheck[]): void {
  const prefix = blobKeys.manifests.start;
  const hashes = failed.flatMap(({ check: { key } }) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []));
  const [first] = hashes;
  if (first === undefined) return;
  throw new HoldfastError("invalid_input", `blobs: there is no blob ${first}; nothing was changed.`, {
    hint: "Put the content first. What nothing names is kept for an hour.",
    details: { field: "blobs", hash: first, missing: hashes },
  });
}
