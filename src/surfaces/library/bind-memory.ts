import { listEntries, requireEntry, searchEntries } from "../../domain/journal/find-entries.ts";
import { readHighlights, saveEntry } from "../../domain/journal/journal.ts";
import { readNote, saveNote } from "../../domain/knowledge/knowledge.ts";
import { notesContext } from "../../domain/knowledge/notes-context.ts";
import { recallNotes } from "../../domain/knowledge/recall.ts";
import { mirrorCheckpoint, mirrorNote } from "../../domain/mirror/mirror.ts";
import { requireCheckpoint, saveCheckpoint } from "../../domain/research/checkpoints.ts";
import { listCheckpoints } from "../../domain/research/list-checkpoints.ts";
import { researchContext } from "../../domain/research/research-context.ts";
import { readResume } from "../../domain/resume/resume.ts";
import type { Workspace } from "../../domain/workspace/workspace.ts";
import { locateWorkspace } from "../../domain/workspace/workspace.ts";
import { randomHex } from "../../kernel/ids.ts";
import type { LibraryBase } from "./call-scope.ts";
import { pageDefault, scopeOf } from "./call-scope.ts";
import type { Holdfast } from "./holdfast.ts";
import type { Journal, Knowledge, Research, WorkspaceOptions } from "./memory.ts";

const recallDefault = { limit: 3, maxTokens: 2_000 } as const;
const resumeTokens = 1_500;

/** Binds the journal, research, knowledge and resume functions to the library's method names. */
export function bindMemory(base: LibraryBase): Pick<Holdfast, "journal" | "research" | "knowledge" | "resume"> {
  return {
    journal: bindJournal(base),
    research: bindResearch(base),
    knowledge: bindKnowledge(base),
    async resume({ workspace: given, agent = base.agent, tokensMax = resumeTokens, ...what } = {}) {
      const workspace = await locate(base, { workspace: given });
      const { id, name, hint } = workspace;
      return { ...(await readResume(base.scope, { workspace, agent, tokensMax, ...what })), workspace: { id, name, ...(hint === undefined ? {} : { hint }) } };
    },
  };
}

const locate = ({ scope, surroundings }: LibraryBase, { workspace }: WorkspaceOptions): Promise<Workspace> => locateWorkspace(scope.store, surroundings, workspace);

function bindJournal(base: LibraryBase): Journal {
  const { scope } = base;
  const ownSession = `session-${randomHex(12)}`;
  return {
    async save(entry, options = {}) {
      const { workspace, sessionId, ttlMs } = options;
      // The fingerprint covers only what the caller passed. Values found by Holdfast may differ in a retry after a restart or a commit.
      const calling = scopeOf(base, options, "journal.save", { entry, workspace, sessionId, ttlMs });
      const { description, highlights = [], activeFiles = [], tags = [], gitBranch, workContext, questions, global = false } = entry;
      const text = { description, highlights, activeFiles, tags, gitBranch, workContext, questions };
      return saveEntry(calling, { ...text, global, workspace: await locate(base, options), sessionId: sessionId ?? ownSession, ttlMs: ttlMs ?? base.journalTtlMs });
    },
    get: async (idOrPart, options = {}) => requireEntry(scope, idOrPart, options.workspace === undefined ? undefined : await locate(base, options)),
    list: async ({ workspace, limit = pageDefault, ...range } = {}) => listEntries(scope, { workspace: await locate(base, { workspace }), limit, ...range }),
    search: async (query, { workspace, limit = 10, fromMs } = {}) => searchEntries(scope, { workspace: await locate(base, { workspace }), query, limit, fromMs }),
    highlights: async (entry, options = {}) => readHighlights(scope, entry, await locate(base, options)),
  };
}

function bindResearch(base: LibraryBase): Research {
  const { scope, mirror } = base;
  return {
    async save(checkpoint, options = {}) {
      const saved = await saveCheckpoint(scopeOf(base, options, "research.save", checkpoint), checkpoint);
      return { ...saved, ...(await mirrorCheckpoint(scope, mirror, saved.checkpointId)) };
    },
    list: async ({ limit = pageDefault, ...query } = {}) => listCheckpoints(scope, { limit, ...query }),
    async load(idOrPart) {
      const checkpoint = await requireCheckpoint(scope, idOrPart);
      return { checkpoint, context: researchContext(checkpoint) };
    },
  };
}

function bindKnowledge(base: LibraryBase): Knowledge {
  const { scope, mirror } = base;
  return {
    async save(note, options = {}) {
      const saved = await saveNote(scopeOf(base, options, "knowledge.save", note), note);
      const mirrored = await mirrorNote(scope, mirror, saved.name);
      if (saved.superseded !== undefined) await mirrorNote(scope, mirror, saved.superseded);
      return { ...saved, ...mirrored };
    },
    get: async (name) => readNote(scope, name),
    async recall(query, { also, skill, limit = recallDefault.limit, maxTokens = recallDefault.maxTokens } = {}) {
      const recall = await recallNotes(scope, { query, also, skill, limit, maxTokens });
      return { ...recall, context: notesContext(recall) };
    },
  };
}
