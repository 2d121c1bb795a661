import { HoldfastError } from "../kernel/errors.ts";
import { canonicalJson } from "../kernel/json.ts";
import { limits } from "./limits.ts";
import type { Check, Entry, LogRow, NamespaceFacts, Revision, Seal, StoredRecord } from "./store.ts";

/** Rules that every engine applies in JavaScript, in the same words. */

/** Does the check hold for what is live under its key? */
export function holds(check: Check, live: Pick<Entry, "version" | "revision"> | undefined): boolean {
  if ("is" in check) return (check.is === "present") === (live !== undefined);
  if ("version" in check) return (live?.version ?? 0) === check.version;
  return live?.revision === check.revision;
}

/**
 * How many rows an engine reads for a page of `limit`: one more shows that something is left behind. Where all of them are of one revision
 * (`isOneRevision`) it reads again, as many as bring that revision whole: to read so many at once would cost a page of one row 256 more.
 */
export const rowsToFetch = { first: (limit: number): number => limit + 1, again: (limit: number): number => limit + limits.commitRowsMax + 1 };

export const isOneRevision = <Row>(rows: readonly Row[], limit: number, revisionOf: (row: Row) => Revision): boolean =>
  rows.length === rowsToFetch.first(limit) && revisionOf(rows[0] as Row) === revisionOf(rows[limit] as Row);

/**
 * Cuts a page at about `limit` rows so that no revision is split; a first revision longer than the limit comes whole.
 * `rows` holds as many as `rowsToFetch` says. `cut`: something is left behind.
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

/** The past after this revision must be whole: neither compacted away nor lost when history went back. */
export function requireKept(after: Revision, { compacted, gaps }: Pick<NamespaceFacts, "compacted" | "gaps">): void {
  if (after < compacted) throw compactedError(after, compacted);
  const lost = gaps.find(([kept, base]) => after > kept && after < base);
  if (lost !== undefined)
    throw new HoldfastError("compacted", `Revision ${after} is not part of this history any more: the store went back to revision ${lost[0]} and continued above ${lost[1]}.`, {
      hint: "Read the current state and continue from its revision.",
      details: { asked: after, kept: lost[0], base: lost[1] },
    });
}

/** Distance that covers whatever may have been committed and lost, where the time alone does not. */
export const lostRevisionsMax = 100_000_000;
/** 1 January 2026. So many revisions are set aside for every millisecond since: they last for 34 years and for 8,000 commits a second. */
export const leapsSinceMs = 1_767_225_600_000;
export const revisionsPerMs = 8;

/**
 * Where a namespace goes on when its history went back to `kept`; `seen` is the highest revision anybody here remembers.
 * The time decides, because what is committed from there on may be lost again, with everybody's memory of it: going on from the same `kept` later
 * must neither give a revision twice nor stand below one that was given. `nowMs` is the server's real time.
 */
export const baseAbove = (kept: Revision, seen: Revision, nowMs: number): Revision =>
  Math.max(Math.max(kept, seen) + lostRevisionsMax, Math.floor((nowMs - leapsSinceMs) * revisionsPerMs));

/** The revision up to which a policy of keeping so many revisions lets go. Gaps count for nothing: a history that leapt is not older for it. */
export function letGoThrough({ revision, gaps }: Pick<NamespaceFacts, "revision" | "gaps">, revisions: number): Revision {
  let end = revision;
  let rest = revisions;
  for (const [kept, base] of gaps.toReversed()) {
    if (rest <= end - base) break;
    rest -= end - base;
    end = kept;
  }
  return end - rest;
}

/** How many gaps are remembered; a watcher that comes back from before the oldest of them finds its past compacted anyway. */
export const gapsMax = 64;

/** A namespace has only so many revisions; called before a commit takes the next one. */
export function requireRevisionLeft(revision: Revision): void {
  if (revision >= limits.revisionMax) throw revisionsUsedUp();
}

export const revisionsUsedUp = (): HoldfastError => new HoldfastError("limit_exceeded", "The namespace has used up its revisions; continue in another one.");

/** The next version of a key, from its last one (live or remembered) if it has one. */
export const nextVersion = (last: number | undefined, { versionFloor, base }: Pick<NamespaceFacts, "versionFloor" | "base">): number => Math.max(last ?? versionFloor, base) + 1;

/** Refuses what the seal forbids; called by engines before reads and before commits, in the same transaction. */
export function requireUnsealed(seal: Seal | undefined, use: "read" | "commit"): void {
  if (seal === undefined || seal.state === "copying" || (seal.state === "moving" && use === "read")) return;
  if (seal.state === "moved")
    throw new HoldfastError("moved", "This namespace was moved to another store; nothing was changed.", {
      hint: "Use that store from now on (--store or HOLDFAST_STORE).",
      localMessage: `This namespace was moved to ${seal.to}; nothing was changed.`,
    });
  if (seal.state === "moving")
    throw new HoldfastError("unavailable", "This namespace is being moved to another store and takes no writes for a moment; nothing was changed.", { hint: "Try again shortly." });
  throw new HoldfastError("unavailable", "This namespace is still being filled from another store; nothing was changed.", {
    hint: "Wait for the migration, import or restore to end; if it was broken off, run the same command again.",
  });
}

/** Records of another store are taken only by a namespace that nobody uses meanwhile, and only from the one who fills it. */
export function requireFilling(seal: Seal | undefined, by?: string): void {
  if (seal?.state !== "filling") throw new HoldfastError("invalid_input", 'seal: records can only be loaded into a namespace that is sealed as "filling"');
  if (by !== undefined && seal.by !== by) throw new HoldfastError("conflict", "Another process has taken over filling this namespace; nothing was changed.");
}

export const isSameSeal = (a: Seal | undefined, b: Seal | undefined): boolean => canonicalJson(a) === canonicalJson(b);

/** Called by engines in the transaction that changes the seal: whoever acts on another than was thought would undo what somebody relies on. */
export function requireSeal(found: Seal | undefined, expected: Seal | undefined): void {
  if (isSameSeal(found, expected)) return;
  const [is, not] = [sealWords(found), sealWords(expected)];
  throw new HoldfastError("conflict", `This namespace is ${is}, ${is === not ? "but not by the one expected" : `not ${not}`}; nothing was changed.`, {
    hint: "Somebody else copies, moves or fills it; look again.",
    details: { found: found?.state ?? "unsealed", expected: expected?.state ?? "unsealed" },
  });
}

const sealWords = (seal: Seal | undefined): string => {
  if (seal === undefined) return "unsealed";
  return `sealed as ${seal.state}${seal.state === "moving" || seal.state === "moved" ? ` to ${seal.to}` : ""}`;
};

/** What a record of a dump counts for beside its text. */
export const recordOverheadBytes = 256;

const bytesOf = (record: StoredRecord): number =>
  (record.kind === "log" ? (record.json?.length ?? 0) : record.kind === "key" ? (record.index?.terms.length ?? 0) * 16 : JSON.stringify(record.outcome).length) +
  recordOverheadBytes;

/** Cuts records to one page of a dump, at a whole revision where they are log rows. The first record (or revision) always fits. Asks for one record more than it takes, no further. */
export function pageOf<R extends StoredRecord>(records: Iterable<R>): { readonly records: readonly R[]; readonly done: boolean } {
  const page: R[] = [];
  let bytes = 0;
  for (const record of records) {
    const previous = page.at(-1);
    const isWhole = record.kind !== "log" || previous?.kind !== "log" || previous.revision !== record.revision;
    if (isWhole && (page.length >= limits.dumpRecordsMax || (page.length > 0 && bytes > limits.commitBytesMax))) return { records: page, done: false };
    bytes += bytesOf(record);
    page.push(record);
  }
  return { records: page, done: true };
}

/** Sweeping and compacting leave a namespace alone that must stay as it is. */
export const restsFrom = (seal: Seal | undefined, chore: "sweep" | "compact", nowMs: number): boolean =>
  seal !== undefined && (seal.state !== "copying" || (chore === "compact" && nowMs < seal.untilMs));

/** For whoever only looks: looking must not leave an empty store behind. */
export const noStoreError = (): HoldfastError =>
  new HoldfastError("not_found", "There is no store there yet; nothing was created.", { hint: "The first command that writes makes it, and so does the server." });

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
