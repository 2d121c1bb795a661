import { keyRange } from "./ranges.ts";
import type { LogRow, Revision, Store } from "./store.ts";

/** The put that gave a key this version, if history still has it. Newest first: the recent past is asked for most. */
export async function readVersion(store: Store, key: string, version: number): Promise<LogRow | undefined> {
  let before: Revision | undefined;
  for (;;) {
    const page = await store.log({ ranges: [keyRange(key)], before, reverse: true, narrow: true, lenient: true });
    const row = page.rows.find((candidate) => candidate.op === "put" && candidate.version <= version);
    if (row !== undefined) return row.version === version ? row : undefined;
    if (page.done) return undefined;
    before = page.through;
  }
}
