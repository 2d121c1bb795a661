import type { AutomaticTag } from "../../domain/journal/automatic-entry.ts";
import { commitsText } from "../../domain/journal/automatic-entry.ts";
import { listEntries } from "../../domain/journal/find-entries.ts";
import { saveEntry } from "../../domain/journal/journal.ts";
import { entryLimits } from "../../domain/journal/journal-entry.ts";
import type { JournalPicture } from "../../domain/resume/journal-picture.ts";
import { drawJournal } from "../../domain/resume/journal-picture.ts";
import { readResume } from "../../domain/resume/resume.ts";
import { quotedInline } from "../../domain/stored-text.ts";
import { openFolderReader } from "../../domain/workspace/repository-reader.ts";
import type { Environment, RepositoryState } from "../../domain/workspace/repository-state.ts";
import { readRepositoryState } from "../../domain/workspace/repository-state.ts";
import type { Surroundings, Workspace } from "../../domain/workspace/workspace.ts";
import { locateWorkspace } from "../../domain/workspace/workspace.ts";
import { randomHex } from "../../kernel/ids.ts";
import { estimateTokens } from "../../kernel/tokens.ts";
import type { Scope } from "../../store/transact.ts";
import type { HookEvent } from "./hook-events.ts";
import type { HookInput } from "./hook-input.ts";

export interface HookContext {
  readonly scope: Scope;
  /** Where this process runs; the event may name another folder. */
  readonly surroundings: Surroundings;
  /** For git, without variables that point to a repository other than the folder's. */
  readonly gitEnvironment: Environment;
  /** How long a saved entry is kept; absent = forever. */
  readonly ttlMs?: number;
  /** The time limit for the whole hook. */
  readonly timeoutMs: number;
  /** The maximum length of the text added to the context. */
  readonly packTokensMax?: number;
}

/** Shares of the hook's time: for finding a history's root commit with git, and for each further git query. A fifth is left for saving. */
const rootShare = 0.4;
const questionShare = 0.2;

/** Returns the text to print: nothing, or one JSON object. */
export async function runHook(event: HookEvent, input: HookInput, context: HookContext): Promise<string> {
  const surroundings = {
    ...context.surroundings,
    folder: input.folder ?? context.surroundings.folder,
    reader: openFolderReader({ gitTimeoutMs: Math.ceil(context.timeoutMs * rootShare) }),
  };
  const workspace = unhurried(await locateWorkspace(context.scope.store, surroundings));
  // Git would search above the workspace: a home folder under version control is not a project.
  const inRepository = workspace.branch !== undefined || workspace.commit !== undefined;
  const repository = inRepository ? readRepositoryState(surroundings.folder, context.gitEnvironment, Math.ceil(context.timeoutMs * questionShare)) : Promise.resolve(nothingKnown);
  if (event === "session-start") return sessionStart(context, workspace, repository, input);
  if (event === "post-compact") await saveSummary(context, workspace, input);
  else await saveFacts(event, context, workspace, await repository, input);
  return "";
}

/** Drops a lookup that git did not finish within the hook's short time: callers that can wait should ask git themselves. */
const unhurried = ({ foundBy, ...workspace }: Workspace): Workspace => ({ ...workspace, ...(foundBy?.rootCommit === undefined ? {} : { foundBy }) });

/** Clients truncate what a hook adds; this stays well below their limits. */
const packTokensUsually = 1_500;
const nothingKnown: RepositoryState = { recentCommits: [] };

async function sessionStart(
  { scope, packTokensMax = packTokensUsually }: HookContext,
  workspace: Workspace,
  repository: Promise<RepositoryState>,
  { session, isCompacted }: HookInput,
): Promise<string> {
  const saving = `Save with the checkpoint tool as work proceeds${session === undefined ? "" : `, with sessionId ${quotedInline(session, 128)}`}.`;
  const end = `\n${isCompacted === true ? "This is current: calling resume again is unnecessary." : "The resume tool gives more of this."} ${saving}\n`;
  const tokensMax = packTokensMax - estimateTokens(end);
  const pack = await readResume(scope, { workspace, sessions: session === undefined ? [] : [session], tokensMax, repository, isCompacted });
  // Without open work there is nothing to report, so sessions start without a message.
  if (Object.values(pack.shown).every((count) => count === 0)) return "";
  return `${JSON.stringify({ hookSpecificOutput: { hookEventName: "SessionStart", additionalContext: `${pack.text}${end}` } })}\n`;
}

const lookedAt = 60;
const filesMax = 50;
const commitCharactersMax = 200;

/** Saves facts that need no model, if they add something to the journal. */
async function saveFacts(
  event: "pre-compact" | "session-end",
  context: HookContext,
  workspace: Workspace,
  repository: RepositoryState,
  { session, trigger }: HookInput,
): Promise<void> {
  const { entries } = await listEntries(context.scope, { workspace, limit: lookedAt });
  const journal = drawJournal(entries, workspace, { sessions: session === undefined ? [] : [session] });
  const files = (repository.changedFiles ?? []).map((path) => path.toWellFormed()).filter((path) => path.length <= entryLimits.fileCharactersMax);
  const activeFiles = files.slice(0, filesMax);
  if (!saysMore(event, journal, workspace, activeFiles)) return;
  const why = event === "session-end" ? "when the session ended" : `before the context was compacted${trigger === undefined ? "" : ` (${trigger})`}`;
  await save(context, workspace, event, session ?? journal.last?.sessionId, {
    description: `Saved ${why}${workspace.branch === undefined ? "" : ` on branch ${workspace.branch}`}${countOf(repository)}.`,
    workContext:
      repository.recentCommits.length === 0
        ? undefined
        : commitsText(repository.recentCommits.map((line) => line.slice(0, commitCharactersMax).toWellFormed().replaceAll("\0", ""))),
    activeFiles,
  });
}

/** Compares with the last save: by a hook since the last entry, or by that entry. */
function saysMore(event: HookEvent, { last, sinceThen }: JournalPicture, { branch, commit }: Workspace, files: readonly string[]): boolean {
  const before = sinceThen ?? last;
  if (before === undefined) return event === "pre-compact" || files.length > 0;
  const isSamePlace = before.gitBranch === branch && before.gitCommit === commit;
  // An agent's own entry does not list uncommitted files.
  const known = sinceThen?.activeFiles ?? [];
  return !isSamePlace || files.length !== known.length || files.some((file) => !known.includes(file));
}

const countOf = ({ changedFiles }: RepositoryState): string =>
  changedFiles === undefined ? "" : changedFiles.length === 0 ? "; nothing uncommitted" : `; ${changedFiles.length} uncommitted ${changedFiles.length === 1 ? "file" : "files"}`;

/** The client model's summary of the context: nothing else of the context reaches the next session. */
async function saveSummary(context: HookContext, workspace: Workspace, { session, summary }: HookInput): Promise<void> {
  if (summary === undefined) return;
  const workContext = summary.slice(0, entryLimits.contextCharactersMax).toWellFormed();
  await save(context, workspace, "post-compact", session, { description: "Summary of the context when it was compacted.", workContext, activeFiles: [] });
}

interface Saved {
  readonly description: string;
  readonly workContext?: string;
  readonly activeFiles: readonly string[];
}

const save = ({ scope, ttlMs }: HookContext, workspace: Workspace, tag: AutomaticTag, session: string | undefined, saved: Saved): Promise<unknown> =>
  saveEntry({ ...scope, agent: `${tag} hook` }, { workspace, ...saved, highlights: [], tags: [tag], sessionId: session ?? `session-${randomHex(12)}`, global: false, ttlMs });
