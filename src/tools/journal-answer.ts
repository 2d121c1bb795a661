import type { JournalEntry } from "../domain/journal/journal-entry.ts";

/** A journal entry in its output form. */
export const entryAnswer = (entry: JournalEntry) => ({
  checkpointId: entry.id,
  timestamp: new Date(entry.createdAtMs).toISOString(),
  description: entry.description,
  highlights: entry.highlights,
  activeFiles: entry.activeFiles,
  tags: entry.tags,
  gitBranch: entry.gitBranch ?? null,
  gitCommit: entry.gitCommit ?? null,
  workContext: entry.workContext ?? null,
  sessionId: entry.sessionId,
  workspace: entry.workspace.name,
  global: entry.global,
  savedBy: entry.writer,
  revision: entry.revision,
  expiresAt: entry.expiresAtMs === undefined ? null : new Date(entry.expiresAtMs).toISOString(),
});
