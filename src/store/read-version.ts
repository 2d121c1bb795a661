import { HoldfastError, isHoldfastError } from "../kernel/errors.ts";
import { keyRange } from "./ranges.ts";
import type { LogRow, Range, Revision, Store } from "./store.ts";

/**
 * The put that gave a key this version. Undefined if the key never had it; throws `compacted` if it is older than the kept history. Reads newest first, because most
 * reads want the recent past.
 */
export async function readVersion(store: Store, key: string, version: number): Promise<LogRow | undefined> {
  const ranges = [keyRange(key)];
  let before: Revision | undefined;
  let hasNewer = false;
  for (;;) {
    // Without values, because each may be long. The requested one is read once it is found.
    const page = await store.log({ ranges, before, reverse: true, narrow: true, lenient: true, values: false });
    const row = page.rows.find((candidate) => candidate.op === "put" && candidate.version <= version);
    if (row !== undefined) return row.version === version ? readPut(store, ranges, row) : undefined;
    hasNewer ||= page.rows.some((candidate) => candidate.version > version);
    if (page.done) {
      // Only for a key with newer versions: for other keys, it is unknown which versions they had.
      if (hasNewer) await requireWhole(store, version);
      return undefined;
    }
    before = page.through;
  }
}

/** Throws unless all history is kept: only then is a missing version one that never existed. */
async function requireWhole(store: Store, version: number): Promise<void> {
  try {
    await store.log({ ranges: [], after: 0, limit: 1, values: false });
  } catch (error) {
    if (!isHoldfastError(error, "compacted")) throw error;
    throw new HoldfastError("compacted", `Version ${version} is older than the history that is kept.`, { hint: "Read the current version, or a later one.", details: { version } });
  }
}

/** Undefined if the row was compacted in the meantime. */
async function readPut(store: Store, ranges: readonly Range[], { revision, seq }: LogRow): Promise<LogRow | undefined> {
  const { rows } = await store.log({ ranges, after: revision - 1, before: revision + 1, narrow: true, lenient: true });
  return rows.find((row) => row.seq === seq);
}
