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

/** Everything live. Only for a store that nobody writes to any more: each page is of its own moment. */
export async function readWholeState(store: Store): Promise<{ readonly entries: readonly Entry[]; readonly nowMs: number; readonly revision: Revision }> {
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
