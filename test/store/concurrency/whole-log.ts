import { everything } from "../../../src/store/ranges.ts";
import type { LogRow, Range, Store } from "../../../src/store/store.ts";

/** Every row of the log, oldest first, page after page. */
export async function wholeLog(store: Store, range: Range = everything): Promise<LogRow[]> {
  const rows: LogRow[] = [];
  for (let after = 0; ; ) {
    const page = await store.log({ ranges: [range], after });
    rows.push(...page.rows);
    if (page.done) return rows;
    after = page.through;
  }
}
