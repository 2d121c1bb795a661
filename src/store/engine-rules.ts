import { HoldfastError } from "../kernel/errors.ts";
import { limits } from "./limits.ts";
import type { Check, Entry, LogRow, Revision } from "./store.ts";

/** Rules that every engine applies in JavaScript, in the same words. */

/** Does the check hold for what is live under its key? */
export function holds(check: Check, live: Pick<Entry, "version" | "revision"> | undefined): boolean {
  if ("is" in check) return (check.is === "present") === (live !== undefined);
  if ("version" in check) return (live?.version ?? 0) === check.version;
  return live?.revision === check.revision;
}

/** How many rows an engine reads for a page of `limit`: enough to see whether the next revision is whole. */
export const rowsToFetch = (limit: number): number => limit + limits.commitRowsMax + 1;

/**
 * Cuts a page at about `limit` rows so that no revision is split; a first revision longer than the limit comes whole.
 * `rows` holds up to `rowsToFetch(limit)` rows. `cut`: something is left behind.
 */
export function wholeRevisions(rows: readonly LogRow[], limit: number): { readonly rows: readonly LogRow[]; readonly cut: boolean } {
  const boundary = rows[limit]?.revision;
  if (boundary === undefined) return { rows, cut: false };
  const start = rows.findIndex((row) => row.revision === boundary);
  const end = start > 0 ? start : rows.findLastIndex((row) => row.revision === boundary) + 1;
  return { rows: rows.slice(0, end), cut: end < rows.length };
}

export const compactedError = (asked: Revision, compacted: Revision): HoldfastError =>
  new HoldfastError("compacted", `Revision ${asked} is no longer kept; the oldest is ${compacted}.`, {
    hint: "Read the current state and continue from its revision.",
    details: { asked, compacted },
  });

export const futureRevisionError = (asked: Revision, newest: Revision): HoldfastError =>
  new HoldfastError("invalid_input", `revision: ${asked} has not happened yet; the newest is ${newest}`, { details: { field: "revision", newest } });

/**
 * Which terms choose the candidates of a search: the rarest first, as many as together stay within the limit, at least one.
 * The others only help to rank what those found, so that a common word never makes a search slow. Positions in the query.
 */
export function essentialTerms(frequencies: readonly number[]): number[] {
  const chosen: number[] = [];
  let expected = 0;
  const byRarity = frequencies
    .map((frequency, i) => ({ frequency, i }))
    .filter(({ frequency }) => frequency > 0)
    .sort((a, b) => a.frequency - b.frequency || a.i - b.i);
  for (const { frequency, i } of byRarity) {
    if (chosen.length > 0 && expected + frequency > limits.searchCandidatesMax) break;
    chosen.push(i);
    expected += frequency;
  }
  return chosen;
}
