import type { Change, LogRow, Revision } from "../../store/store.ts";
import { rowsByRevision } from "./rows-by-revision.ts";
import type { Violation } from "./violation.ts";
import { Violations } from "./violation.ts";

/** One life of a watcher: where it started, and what it received until it ended or was killed. */
export interface WatchLife {
  readonly after: Revision;
  readonly changes: readonly Change[];
}

export interface WatchRun {
  /** The lives of one watcher; each starts after the last revision that the previous one saw. */
  readonly lives: readonly WatchLife[];
  /** The log of the watched range, oldest first: what the watcher should have seen. */
  readonly rows: readonly LogRow[];
}

/** G10. Ordered, unique, complete, atomic per revision, resumable. Each way to fail has its own fault name. */
export function checkWatch({ lives, rows }: WatchRun): readonly Violation[] {
  const violations = new Violations("G10");
  const expected = rowsByRevision(rows);
  const seen = new Set<Revision>();
  let resumeFrom = lives[0]?.after ?? 0;
  for (const [life, { after, changes }] of lives.entries()) {
    if (after !== resumeFrom) violations.add("resumed_elsewhere", `Life ${life} began after ${after}; the one before had seen ${resumeFrom}.`);
    let previous = after;
    for (const change of changes) {
      if (seen.has(change.revision)) violations.add("repeated", `Revision ${change.revision} came again in life ${life}.`);
      else if (change.revision <= previous) violations.add("out_of_order", `Revision ${change.revision} came after ${previous} in life ${life}.`);
      seen.add(change.revision);
      previous = Math.max(previous, change.revision);
      compareRows(change, expected.get(change.revision), violations);
    }
    resumeFrom = previous;
  }
  const first = lives[0]?.after ?? 0;
  for (const revision of expected.keys())
    if (revision > first && revision <= resumeFrom && !seen.has(revision)) violations.add("missing", `Revision ${revision} never came; ${resumeFrom} did.`);
  const last = rows.at(-1)?.revision ?? 0;
  if (resumeFrom < last) violations.add("incomplete", `The watch ended at revision ${resumeFrom}; the log continues to ${last}.`);
  return violations.list();
}

function compareRows(change: Change, rows: readonly LogRow[] | undefined, violations: Violations): void {
  if (rows === undefined) return violations.add("invented", `Revision ${change.revision} came and is not in the log.`);
  if (change.rows.length !== rows.length) return violations.add("torn", `Revision ${change.revision} came with ${change.rows.length} of its ${rows.length} rows.`);
  const differs = change.rows.findIndex((row, i) => JSON.stringify([row.revision, row.seq, row.key, row.op, row.version, row.value]) !== JSON.stringify(keyFacts(rows[i])));
  if (differs >= 0) violations.add("row_differs", `Row ${differs} of revision ${change.revision} differs from the log.`);
}

const keyFacts = (row: LogRow | undefined): unknown[] => [row?.revision, row?.seq, row?.key, row?.op, row?.version, row?.value];
