import { HoldfastError, isHoldfastError } from "../kernel/errors.ts";
import { keyRange } from "./ranges.ts";
import type { LogRow, Range, Revision, Store } from "./store.ts";

/** The put that gave a key this version; undefined when it never had it, `compacted` when it is older than the history that is kept. Newest first: the recent past is read most. */
export async function readVersion(store: Store, key: string, version: number): Promise<LogRow | undefined> {
  const ranges = [keyRange(key)];
  let before: Revision | undefined;
  let hasNewer = false;
  for (;;) {
    // Without values, of which each may be long; the one that is wanted is read when it is found.
    const page = await store.log({ ranges, before, reverse: true, narrow: true, lenient: true, values: false });
    const row = page.rows.find((candidate) => candidate.op === "put" && candidate.version <= version);
    if (row !== undefined) return row.version === version ? readPut(store, ranges, row) : undefined;
    hasNewer ||= page.rows.some((candidate) => candidate.version > version);
    if (page.done) {
      // Only of a key that is known: of others, nobody can say what they had.
      if (hasNewer) await requireWhole(store, version);
      return undefined;
    }
    before = page.through;
  }
}

/** Nothing of the past has been let go, so that what is not there never was. */
async function requireWhole(store: Store, version: number): Promise<void> {
  try {
    await store.log({ ranges: [], after: 0, limit: 1, values: false });
  } catch (error) {
    if (!isHoldfastError(error, "compacted")) throw error;
    throw new HoldfastError("compacted", `Version ${version} is older than the history that is kept.`, { hint: "Read the current version, or a later one.", details: { version } });
  }
}

/** Undefined where history let go of it in the meantime. */
async function readPut(store: Store, ranges: readonly Range[], { revision, seq }: LogRow): Promise<LogRow | undefined> {
  const { rows } = await store.log({ ranges, after: revision - 1, before: revision + 1, narrow: true, lenient: true });
  return rows.find((row) => row.seq === seq);
}
