import { keyRange } from "../../store/ranges.ts";
import type { Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { transact } from "../../store/transact.ts";
import { journalKeys } from "../keyspace.ts";
import { knownWorkspaceRanges, rememberWorkspace } from "../workspace/known-workspaces.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { EntryText, JournalEntry } from "./journal-entry.ts";
import { entryId, entryIndex, requireEntryText, requireSessionId, toStoredEntry } from "./journal-entry.ts";
import { fromStoredHighlights, liveHighlights, mergeHighlights, toStoredHighlights } from "./session-highlights.ts";

/** The journal of entries that are visible from every workspace. */
export const globalJournal = "global";

export interface SaveEntry extends EntryText {
  readonly workspace: Workspace;
  readonly sessionId: string;
  readonly global: boolean;
  /** How long the entry is kept; forever if absent. */
  readonly ttlMs?: number;
}

export interface SavedEntry {
  readonly id: string;
  /** The workspace in which it was saved. A repeated request returns the first one's. */
  readonly workspace: Pick<Workspace, "id" | "name">;
  readonly sessionId: string;
  readonly gitBranch?: string;
  readonly gitCommit?: string;
  /** How many highlights the session has now. */
  readonly sessionHighlights: number;
  /** How many older highlights were dropped over the whole session because of the limit. */
  readonly droppedHighlights: number;
  readonly createdAtMs: number;
  readonly expiresAtMs?: number;
  readonly revision: number;
}

/** Saves an entry. The list, the session's highlights and the search index are updated in the same commit. */
export function saveEntry(scope: Scope, input: SaveEntry): Promise<SavedEntry> {
  const { workspace, sessionId, global, ttlMs, description, highlights, activeFiles, tags, workContext, questions = [] } = input;
  requireEntryText(input);
  requireSessionId(sessionId);
  const journalId = global ? globalJournal : workspace.id;
  const gitBranch = input.gitBranch ?? workspace.branch;
  const sessionKey = journalKeys.session(workspace.id, sessionId);
  return transact<
    {
      id: string;
      /** Absent in transaction notes written before this field existed. */
      workspace?: { id: string; name: string };
      sessionId: string;
      createdAtMs: number;
      sessionHighlights: number;
      droppedHighlights?: number;
      gitBranch: string | null;
      gitCommit: string | null;
    },
    SavedEntry
  >(scope, {
    async decide() {
      const snapshot = await scope.store.read([...knownWorkspaceRanges(workspace), keyRange(sessionKey)]);
      const session = snapshot.entries.find((entry) => entry.key === sessionKey);
      const createdAtMs = snapshot.nowMs;
      const id = entryId(createdAtMs, snapshot.revision);
      const expiresAtMs = ttlMs === undefined ? undefined : createdAtMs + ttlMs;
      const merged = mergeHighlights(fromStoredHighlights(session), highlights, expiresAtMs, createdAtMs);
      const stored = toStoredEntry({
        description,
        highlights,
        activeFiles,
        tags,
        gitBranch,
        gitCommit: workspace.commit,
        workContext,
        ...(questions.length === 0 ? {} : { questions }),
        sessionId,
        workspace: { id: workspace.id, name: workspace.name },
        global,
        createdAtMs,
      });
      return {
        checks: [{ key: journalKeys.entry(id), is: "absent" }, ...(highlights.length === 0 ? [] : [{ key: sessionKey, version: session?.version ?? 0 }])],
        writes: [
          {
            op: "put",
            key: journalKeys.entry(id),
            value: stored,
            ttlMs,
            index: entryIndex(journalId, input),
            record: { kind: "checkpoint", op: "save", subject: id },
            lapse: ttlMs === undefined ? undefined : { kind: "checkpoint", op: "expire", subject: id },
          },
          { op: "put", key: journalKeys.listed.key(journalId, createdAtMs, id), value: null, ttlMs },
          ...(highlights.length === 0 ? [] : [{ op: "put" as const, key: sessionKey, value: toStoredHighlights(merged) }]),
          ...rememberWorkspace(snapshot, workspace),
        ],
        note: {
          id,
          workspace: { id: workspace.id, name: workspace.name },
          sessionId,
          createdAtMs,
          sessionHighlights: merged.kept.length,
          droppedHighlights: merged.dropped,
          gitBranch: gitBranch ?? null,
          gitCommit: workspace.commit ?? null,
        },
      };
    },
    finish: (note, committed) => ({
      id: note.id,
      workspace: note.workspace ?? { id: workspace.id, name: workspace.name },
      sessionId: note.sessionId,
      gitBranch: note.gitBranch ?? undefined,
      gitCommit: note.gitCommit ?? undefined,
      sessionHighlights: note.sessionHighlights,
      droppedHighlights: note.droppedHighlights ?? 0,
      createdAtMs: note.createdAtMs,
      expiresAtMs: committed.writes[0]?.expiresAtMs,
      revision: committed.revision,
    }),
  });
}

/**
 * The highlights of the entry's session, oldest first, and the revision at which they last changed. For a global entry from another workspace,
 * only the entry's own highlights are returned, because its session is private to that workspace.
 */
export async function readHighlights(
  { store }: Pick<Scope, "store">,
  entry: JournalEntry,
  reader: Workspace,
): Promise<{ readonly highlights: readonly string[]; readonly dropped: number; readonly revision: Revision }> {
  if (entry.workspace.id !== reader.id && !reader.formerIds.includes(entry.workspace.id)) return { highlights: entry.highlights, dropped: 0, revision: entry.revision };
  const { entries, nowMs } = await store.read(keyRange(journalKeys.session(entry.workspace.id, entry.sessionId)));
  const { kept, dropped } = fromStoredHighlights(entries[0]);
  return { highlights: liveHighlights(kept, nowMs).map(({ text }) => text), dropped, revision: entries[0]?.revision ?? 0 };
}
