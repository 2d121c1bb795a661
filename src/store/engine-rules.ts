import { HoldfastError } from "../kernel/errors.ts";
import { canonicalJson } from "../kernel/json.ts";
import { limits } from "./limits.ts";
import type { Check, Entry, LogRow, NamespaceFacts, Revision, Seal, StoredRecord } from "./store.ts";

/** Rules that every engine applies in JavaScript, in one place so that the error messages are the same. */

/** Whether the check holds for the live entry under its key. */
export function holds(check: Check, live: Pick<Entry, "version" | "revision"> | undefined): boolean {
  if ("is" in check) return (check.is === "present") === (live !== undefined);
  if ("version" in check) return (live?.version ?? 0) === check.version;
  return live?.revision === check.revision;
}

/**
 * The number of rows that an engine reads for a page of `limit` rows: one extra row shows that there are more. If all of them belong to one revision
 * (`isOneRevision`), the engine reads again, enough to complete that revision. Always reading that many would cost a one-row page 256 extra rows.
 */
export const rowsToFetch = { first: (limit: number): number => limit + 1, again: (limit: number): number => limit + limits.commitRowsMax + 1 };

export const isOneRevision = <Row>(rows: readonly Row[], limit: number, revisionOf: (row: Row) => Revision): boolean =>
  rows.length === rowsToFetch.first(limit) && revisionOf(rows[0] as Row) === revisionOf(rows[limit] as Row);

/**
 * Cuts a page at about `limit` rows without splitting a revision; a first revision longer than the limit is returned whole. `rows` must have as many rows as
 * `rowsToFetch` requires. `cut`: rows were left out.
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

/** Throws unless history after this revision is complete: neither compacted nor lost when history went back. */
export function requireKept(after: Revision, { compacted, gaps }: Pick<NamespaceFacts, "compacted" | "gaps">): void {
  if (after < compacted) throw compactedError(after, compacted);
  const lost = gaps.find(([kept, base]) => after > kept && after < base);
  if (lost !== undefined)
    throw new HoldfastError("compacted", `Revision ${after} is not part of this history any more: the store went back to revision ${lost[0]} and continued above ${lost[1]}.`, {
      hint: "Read the current state and continue from its revision.",
      details: { asked: after, kept: lost[0], base: lost[1] },
    });
}

/** A distance larger than the number of commits that can have been lost, for cases where the time alone does not cover them. */
export const lostRevisionsMax = 100_000_000;
/** 1 January 2026. `revisionsPerMs` revisions are set aside for every millisecond since then. They last for 34 years, at 8,000 commits per second. */
export const leapsSinceMs = 1_767_225_600_000;
export const revisionsPerMs = 8;

/**
 * The revision from which a namespace continues after its history went back to `kept`. `seen` is the highest revision known to this process.
 * The result depends on the time, because later commits may be lost too, along with every record of them. Continuing again from the same `kept`
 * must neither reuse a revision nor start below one that was handed out. `nowMs` is the server's real time.
 */
export const baseAbove = (kept: Revision, seen: Revision, nowMs: number): Revision =>
  Math.max(Math.max(kept, seen) + lostRevisionsMax, Math.floor((nowMs - leapsSinceMs) * revisionsPerMs));

/** The last revision that a policy of keeping `revisions` revisions releases. Gaps do not count: a jump in revision numbers does not make history older. */
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

/** The number of gaps that are stored. A watcher that returns from before the oldest of them finds its history compacted anyway. */
export const gapsMax = 64;

/** Throws if the namespace has used all its revisions. Called before a commit takes the next one. */
export function requireRevisionLeft(revision: Revision): void {
  if (revision >= limits.revisionMax) throw revisionsUsedUp();
}

export const revisionsUsedUp = (): HoldfastError => new HoldfastError("limit_exceeded", "The namespace has used up its revisions; continue in another one.");

/** The next version of a key, based on its last version (live or remembered) if there is one. */
export const nextVersion = (last: number | undefined, { versionFloor, base }: Pick<NamespaceFacts, "versionFloor" | "base">): number => Math.max(last ?? versionFloor, base) + 1;

/** Rejects uses that the seal forbids. Engines call this before reads and commits, in the same transaction. */
export function requireUnsealed(seal: Seal | undefined, use: "read" | "commit"): void {
  if (seal === undefined || seal.state === "copying" || (seal.state === "moving" && use === "read")) return;
  if (seal.state === "moved")
    throw new HoldfastError("moved", "This namespace was moved to another store; nothing was changed.", {
      hint: "Use that store from now on (--store or HOLDFAST_STORE).",
      localMessage: `This namespace was moved to ${seal.to}; nothing was changed.`,
    });
  if (seal.state === "moving")
    throw new HoldfastError("unavailable", "This namespace is being moved to another store and accepts no writes for a moment; nothing was changed.", {
      hint: "Try again shortly.",
    });
  throw new HoldfastError("unavailable", "This namespace is still being filled from another store; nothing was changed.", {
    hint: "Wait for the migration, import or restore to end; if it was interrupted, run the same command again.",
  });
}

/** Only a namespace that is sealed as `filling`, and so not in use, accepts records of another store, and only from the job that fills it. */
export function requireFilling(seal: Seal | undefined, by?: string): void {
  if (seal?.state !== "filling") throw new HoldfastError("invalid_input", 'seal: records can only be loaded into a namespace that is sealed as "filling"');
  if (by !== undefined && seal.by !== by) throw new HoldfastError("conflict", "Another process has taken over filling this namespace; nothing was changed.");
}

export const isSameSeal = (a: Seal | undefined, b: Seal | undefined): boolean => canonicalJson(a) === canonicalJson(b);

/** Engines call this in the transaction that changes the seal. A caller that acts on a different seal than it expects would undo another job's work. */
export function requireSeal(found: Seal | undefined, expected: Seal | undefined): void {
  if (isSameSeal(found, expected)) return;
  const [is, not] = [sealWords(found), sealWords(expected)];
  throw new HoldfastError("conflict", `This namespace is ${is}, ${is === not ? "but not by the one expected" : `not ${not}`}; nothing was changed.`, {
    hint: "Another process is copying, moving or filling it; read its state and try again.",
    details: { found: found?.state ?? "unsealed", expected: expected?.state ?? "unsealed" },
  });
}

const sealWords = (seal: Seal | undefined): string => {
  if (seal === undefined) return "unsealed";
  return `sealed as ${seal.state}${seal.state === "moving" || seal.state === "moved" ? ` to ${seal.to}` : ""}`;
};

/** The size that a dumped record counts for in addition to its text. */
export const recordOverheadBytes = 256;

const bytesOf = (record: StoredRecord): number =>
  (record.kind === "log" ? (record.json?.length ?? 0) : record.kind === "key" ? (record.index?.terms.length ?? 0) * 16 : JSON.stringify(record.outcome).length) +
  recordOverheadBytes;

/**
 * Cuts records to one page of a dump; log rows are cut between revisions. The first record (or revision) always fits. Reads at most one record more than it returns.
 */
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

/** Whether the seal stops this chore. Sweeping and compacting skip a namespace that must not change. */
export const restsFrom = (seal: Seal | undefined, chore: "sweep" | "compact", nowMs: number): boolean =>
  seal !== undefined && (seal.state !== "copying" || (chore === "compact" && nowMs < seal.untilMs));

/** For commands that only read: a read must not create an empty store. */
export const noStoreError = (): HoldfastError =>
  new HoldfastError("not_found", "There is no store there yet; nothing was created.", { hint: "The first command that writes makes it, and so does the server." });

export const futureRevisionError = (asked: Revision, newest: Revision): HoldfastError =>
  new HoldfastError("invalid_input", `revision: ${asked} has not happened yet; the newest is ${newest}`, { details: { field: "revision", newest } });

/**
 * The indexes of the query terms that choose the candidates of a search: the rarest first, as many as together stay within the limit, and at least one. The other
 * terms only help to rank those candidates, so a common word never slows a search down.
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
