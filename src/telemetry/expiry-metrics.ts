import type { Meter } from "../kernel/meter.ts";
import { everything } from "../store/ranges.ts";
import type { Engine, LogRow } from "../store/store.ts";

/** The sweep's revision is among the newest; the search goes back no further than this. */
const revisionsBack = 1_000;

/**
 * Counts what this process's sweep found expired, by kind: a lapsed lease or claim, a key, a session, an entry.
 * A lease that another agent takes before the sweep counts as a takeover instead.
 */
export function openExpiryMetrics(meter: Meter, engine: Engine): (namespace: string, count: number) => Promise<void> {
  const expired = meter.counter("holdfast_expired_total", "Entries that this process found expired, by kind; lease and workflow are expired leases and claims.", ["kind"]);
  for (const kind of ["lease", "workflow"]) expired.of(kind);
  return async (namespace, count) => {
    const { revision } = await engine.position(namespace);
    const { rows } = await engine.log(namespace, { ranges: [everything], after: Math.max(0, revision - revisionsBack), reverse: true, limit: 1_000, values: false, lenient: true });
    for (const row of sweptRows(rows, count)) if (row.record !== undefined) expired.of(row.record.kind).add();
  };
}

/** The newest revision that consists of exactly this many expiries; other commits may have followed it. */
function sweptRows(rows: readonly LogRow[], count: number): readonly LogRow[] {
  for (let from = 0; from < rows.length; ) {
    const revision = rows[from]?.revision;
    let end = from;
    while (rows[end]?.revision === revision) end += 1;
    const found = rows.slice(from, end);
    if (found.length === count && found.every(({ op }) => op === "expire")) return found;
    from = end;
  }
  return [];
}
