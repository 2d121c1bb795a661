/**
 * Identifies the history that a namespace's row belongs to: cluster, timeline and database as reported by the connection (`PgServerFacts.identity`), and the
 * table's oid, separated by "/". A table that was restored from a dump has a new oid. Unknown parts are left empty.
 */
export const historyMark = (identity: string | null, { tableOid }: { readonly tableOid: number }): string => `${identity ?? "//"}/${tableOid || ""}`;

/** Compares only the parts that both marks know. */
export function isOtherHistory(before: string, now: string): boolean {
  const known = before.split("/");
  return now.split("/").some((part, i) => part !== "" && known[i] && known[i] !== part);
}

/** The mark to store: a connection that reports less must not erase known parts. */
export function keptMark(before: string | null, now: string): string {
  if (before === null || isOtherHistory(before, now)) return now;
  const known = before.split("/");
  return now
    .split("/")
    .map((part, i) => part || known[i] || "")
    .join("/");
}
