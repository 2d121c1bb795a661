import type { LogRow, Revision } from "../../store/store.ts";

/** Groups a log by revision, in order. (`Map.groupBy` requires Node 21.) */
export function rowsByRevision(rows: readonly LogRow[]): Map<Revision, LogRow[]> {
  const groups = new Map<Revision, LogRow[]>();
  for (const row of rows) {
    const group = groups.get(row.revision);
    if (group === undefined) groups.set(row.revision, [row]);
    else group.push(row);
  }
  return groups;
}
