import { isAutomatic, isSummary } from "../journal/automatic-entry.ts";
import type { JournalEntry } from "../journal/journal-entry.ts";
import type { Workspace } from "../workspace/workspace.ts";

/** The caller's identity, as far as it is known. */
export interface Caller {
  readonly agent?: string;
  /** The caller's sessions: that of its connection, or the one named by its client's hook. */
  readonly sessions: readonly string[];
}

/** The journal of a workspace as one reader needs it. */
export interface JournalPicture {
  /** The caller's own last entry, or else the last one by any agent in this workspace. */
  readonly last?: JournalEntry;
  readonly isOwn: boolean;
  /** The newest entry that a hook saved after `last`, with the changes it found. */
  readonly sinceThen?: JournalEntry;
  /** The client model's summary of the context, if it was compacted after `last`. */
  readonly summary?: JournalEntry;
  /** All other entries that agents wrote in this workspace, newest first. */
  readonly earlier: readonly JournalEntry[];
  /** Entries saved in other workspaces for all workspaces, newest first. */
  readonly news: readonly JournalEntry[];
  /** Newest first, without duplicates. */
  readonly highlights: readonly string[];
  /** The caller's name: as given, or from its own last entry. */
  readonly agent?: string;
}

/** By time, and within a millisecond by commit order. */
const newestFirst = (a: JournalEntry, b: JournalEntry): number => b.createdAtMs - a.createdAtMs || b.revision - a.revision;

export function drawJournal(entries: readonly JournalEntry[], { id, formerIds }: Workspace, { agent, sessions }: Caller): JournalPicture {
  const sorted = [...new Map(entries.map((entry) => [entry.id, entry])).values()].sort(newestFirst);
  const isFromHere = ({ workspace }: JournalEntry): boolean => workspace.id === id || formerIds.includes(workspace.id);
  const written = sorted.filter((entry) => isFromHere(entry) && !isAutomatic(entry));
  const isOwn = (entry: JournalEntry): boolean => (agent !== undefined && entry.agent === agent) || sessions.includes(entry.sessionId);
  const own = written.find(isOwn);
  const elsewhere = sorted.filter((entry) => !isFromHere(entry) && !isAutomatic(entry));
  const last = own ?? written[0] ?? elsewhere[0];
  const after = sorted.filter((entry) => isFromHere(entry) && isAutomatic(entry) && (last === undefined || newestFirst(entry, last) < 0));
  // Entries that hooks saved for other sessions are not the caller's own changes.
  const mine = own === undefined || sessions.length === 0 ? after : after.filter((entry) => sessions.includes(entry.sessionId) || entry.sessionId === own.sessionId);
  return {
    ...(last === undefined ? {} : { last }),
    isOwn: own !== undefined,
    sinceThen: mine.find((entry) => !isSummary(entry)),
    summary: mine.find(isSummary),
    earlier: written.filter((entry) => entry !== last),
    news: elsewhere.filter((entry) => entry !== last),
    highlights: [...new Set([...(last?.highlights ?? []), ...written.flatMap(({ highlights }) => highlights)].map((text) => text.trim()))].filter((text) => text !== ""),
    agent: agent ?? own?.agent,
  };
}
