/**
 * Which history a namespace's row belongs to: what the connection reports about cluster, timeline and database (`PgServerFacts.identity`), and the number of the table
 * that the row stands in, with a "/" between. A table that was restored from a dump is a new one. What is not known is left empty.
 */
export const historyMark = (identity: string | null, { tableOid }: { readonly tableOid: number }): string => `${identity ?? "//"}/${tableOid || ""}`;

/** Told apart by what both marks know. */
export function isOtherHistory(before: string, now: string): boolean {
  const known = before.split("/");
  return now.split("/").some((part, i) => part !== "" && known[i] && known[i] !== part);
}

/** The mark to keep: a connection that tells less does not make anybody forget. */
export function keptMark(before: string | null, now: string): string {
  if (before === null || isOtherHistory(before, now)) return now;
  const known = before.split("/");
  return now
    .split("/")
    .map((part, i) => part || known[i] || "")
    .join("/");
}
