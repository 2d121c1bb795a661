import { isAutomatic, isSummary } from "../journal/automatic-entry.ts";
import type { JournalEntry } from "../journal/journal-entry.ts";
import type { Workspace } from "../workspace/workspace.ts";

/** Who asks, as far as that is known. */
export interface Caller {
  readonly agent?: string;
  /** Sessions that are the caller's: its connection, or what its client's hook says. */
  readonly sessions: readonly string[];
}

/** What the journal of a workspace says to one reader. */
export interface JournalPicture {
  /** The caller's own last entry, or the last that anybody wrote here. */
  readonly last?: JournalEntry;
  readonly isOwn: boolean;
  /** The newest that a hook saved after it, if any: what it found changed. */
  readonly sinceThen?: JournalEntry;
  /** What the client's model made of the context when it was compacted after it. */
  readonly summary?: JournalEntry;
  /** Newest first: everything else that an agent wrote here. */
  readonly earlier: readonly JournalEntry[];
  /** Newest first: saved elsewhere for every workspace. */
  readonly news: readonly JournalEntry[];
  /** Newest first, each once. */
  readonly highlights: readonly string[];
  /** Who the caller is: as given, or as its own last entry says. */
  readonly agent?: string;
}

/** By time, and within a millisecond by the order in which they landed. */
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
  // Of another session that was saved meanwhile the caller hears in the list of earlier entries.
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
