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
  /** Where this process stands; the event may name another folder. */
  readonly surroundings: Surroundings;
  /** For git: with nothing in it that leads to another repository than the folder's. */
  readonly gitEnvironment: Environment;
  /** How long a saved entry is kept; for ever when absent. */
  readonly ttlMs?: number;
  /** How long the hook may take in all. */
  readonly timeoutMs: number;
  /** How long a text may be that is added to the context. */
  readonly packTokensMax?: number;
}

/** Of a hook's time so much may go into asking git where a history began, and so much into each question after that; a fifth is left for saving. */
const rootShare = 0.4;
const questionShare = 0.2;

/** Gives what is to be printed: nothing, or one JSON object. */
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

/** That git did not tell in a hook's short time says nothing to those who can wait: they are to ask it themselves. */
const unhurried = ({ foundBy, ...workspace }: Workspace): Workspace => ({ ...workspace, ...(foundBy?.rootCommit === undefined ? {} : { foundBy }) });

/** Clients cut what a hook adds; this stays well below. */
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
  // An agent without open work gets no message about it at every start.
  if (Object.values(pack.shown).every((count) => count === 0)) return "";
  return `${JSON.stringify({ hookSpecificOutput: { hookEventName: "SessionStart", additionalContext: `${pack.text}${end}` } })}\n`;
}

const lookedAt = 60;
const filesMax = 50;
const commitCharactersMax = 200;

/** Saves what can be known without a model, where it says more than the journal does already. */
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

/** Compared with what was saved last: by a hook since the last entry, or by that entry. */
function saysMore(event: HookEvent, { last, sinceThen }: JournalPicture, { branch, commit }: Workspace, files: readonly string[]): boolean {
  const before = sinceThen ?? last;
  if (before === undefined) return event === "pre-compact" || files.length > 0;
  const isSamePlace = before.gitBranch === branch && before.gitCommit === commit;
  // An agent's own entry does not say what was uncommitted.
  const known = sinceThen?.activeFiles ?? [];
  return !isSamePlace || files.length !== known.length || files.some((file) => !known.includes(file));
}

const countOf = ({ changedFiles }: RepositoryState): string =>
  changedFiles === undefined ? "" : changedFiles.length === 0 ? "; nothing uncommitted" : `; ${changedFiles.length} uncommitted ${changedFiles.length === 1 ? "file" : "files"}`;

/** What the client's model made of the context: the next session has nothing else of it. */
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
