import { keyRange } from "./ranges.ts";
import type { LogRow, Range, Revision, Store } from "./store.ts";

/** The put that gave a key this version, if history still has it. Newest first: the recent past is asked for most. */
export async function readVersion(store: Store, key: string, version: number): Promise<LogRow | undefined> {
  const ranges = [keyRange(key)];
  let before: Revision | undefined;
  for (;;) {
    // Without values, of which each may be long; the one that is wanted is read when it is found.
    const page = await store.log({ ranges, before, reverse: true, narrow: true, lenient: true, values: false });
    const row = page.rows.find((candidate) => candidate.op === "put" && candidate.version <= version);
    if (row !== undefined) return row.version === version ? readPut(store, ranges, row) : undefined;
    if (page.done) return undefined;
    before = page.through;
  }
}

/** Undefined where history let go of it in the meantime. */
async function readPut(store: Store, ranges: readonly Range[], { revision, seq }: LogRow): Promise<LogRow | undefined> {
  const { rows } = await store.log({ ranges, after: revision - 1, before: revision + 1, narrow: true, lenient: true });
  return rows.find((row) => row.seq === seq);
}
