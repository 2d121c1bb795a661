import { everything, rangeAfter } from "../store/ranges.ts";
import type { Entry, LogRow, Range, Revision, Store } from "../store/store.ts";

/** The whole log of a range, oldest first, read page by page. */
export async function readWholeLog(store: Store, range: Range = everything): Promise<{ readonly rows: readonly LogRow[]; readonly revision: Revision }> {
  const rows: LogRow[] = [];
  let after = 0;
  for (;;) {
    const page = await store.log({ ranges: [range], after });
    rows.push(...page.rows);
    if (page.done) return { rows, revision: page.revision };
    after = page.through;
  }
}

/** The contents of a namespace, all as of one revision. */
export interface Whole {
  readonly rows: readonly LogRow[];
  readonly entries: readonly Entry[];
  readonly nowMs: number;
  readonly revision: Revision;
}

const attemptsMax = 20;

/**
 * The whole log and the whole state. A killed process cannot write any more, but a server may still be applying what it had sent,
 * so both are read again until no commit came in between.
 */
export async function readWhole(store: Store): Promise<Whole> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const log = await readWholeLog(store);
    const state = await readWholeState(store);
    // Revisions only increase: if the last page is at the log's revision, so were the pages before it.
    if (state.revision === log.revision) return { ...log, ...state };
  }
  throw new Error(`Another process keeps writing to ${store.namespace}: its revision never stayed the same long enough to be read.`);
}

/** All live entries. Only for a store without writers, because each page is read at a different moment. */
export async function readWholeState(store: Store): Promise<Omit<Whole, "rows">> {
  const entries: Entry[] = [];
  let range: Range = everything;
  for (;;) {
    const page = await store.read(range);
    entries.push(...page.entries);
    const last = page.entries.at(-1);
    if (!page.more || last === undefined) {
      // Entries may expire while the pages are read. Filtering by the last page's time makes all pages consistent.
      return { entries: entries.filter((entry) => entry.expiresAtMs === undefined || page.nowMs < entry.expiresAtMs), nowMs: page.nowMs, revision: page.revision };
    }
    range = rangeAfter(everything, last.key);
  }
}
