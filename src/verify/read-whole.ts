import { everything, rangeAfter } from "../store/ranges.ts";
import type { Entry, LogRow, Range, Revision, Store } from "../store/store.ts";

/** The whole log of a range, oldest first, page after page. */
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

/** What a namespace holds, all of one revision. */
export interface Whole {
  readonly rows: readonly LogRow[];
  readonly entries: readonly Entry[];
  readonly nowMs: number;
  readonly revision: Revision;
}

const attemptsMax = 20;

/**
 * The whole log and the whole state. A process that was killed cannot write any more, but a server may still be applying what it had sent:
 * both are read again until nothing came in between.
 */
export async function readWhole(store: Store): Promise<Whole> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const log = await readWholeLog(store);
    const state = await readWholeState(store);
    // Revisions only grow: if the last page is of the log's revision, so were those before it.
    if (state.revision === log.revision) return { ...log, ...state };
  }
  throw new Error(`Another process keeps writing to ${store.namespace}: its revision never stayed the same long enough to be read.`);
}

/** Everything live. Only for a store without writers: each page is read at its own moment. */
export async function readWholeState(store: Store): Promise<Omit<Whole, "rows">> {
  const entries: Entry[] = [];
  let range: Range = everything;
  for (;;) {
    const page = await store.read(range);
    entries.push(...page.entries);
    const last = page.entries.at(-1);
    if (!page.more || last === undefined) {
      // What expired while the pages were read would be missing from some and present in others: one moment for all.
      return { entries: entries.filter((entry) => entry.expiresAtMs === undefined || page.nowMs < entry.expiresAtMs), nowMs: page.nowMs, revision: page.revision };
    }
    range = rangeAfter(everything, last.key);
  }
}
