import { saveEntry } from "../../domain/journal/journal.ts";
import type { JournalEntry } from "../../domain/journal/journal-entry.ts";
import { entryLimits } from "../../domain/journal/journal-entry.ts";
import { readLatest } from "../../domain/journal/latest-entry.ts";
import type { OpenWork } from "../../domain/resume/open-work.ts";
import { readOpenWork } from "../../domain/resume/open-work.ts";
import { readResume } from "../../domain/resume/resume.ts";
import { openFolderReader } from "../../domain/workspace/repository-reader.ts";
import type { Surroundings, Workspace } from "../../domain/workspace/workspace.ts";
import { locateWorkspace } from "../../domain/workspace/workspace.ts";
import { randomHex } from "../../kernel/ids.ts";
import type { Scope } from "../../store/transact.ts";
import type { HookEvent } from "./hook-events.ts";
import type { HookInput } from "./hook-input.ts";
import type { Environment, RepositoryState } from "./repository-state.ts";
import { readRepositoryState } from "./repository-state.ts";

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
  if (event === "session-start") return sessionStart(context.scope, workspace);
  await preCompact(context, workspace, surroundings.folder, input);
  return "";
}

/** That git did not tell in a hook's short time says nothing to those who can wait: they are to ask it themselves. */
const unhurried = ({ foundBy, ...workspace }: Workspace): Workspace => ({ ...workspace, ...(foundBy?.rootCommit === undefined ? {} : { foundBy }) });

/** Clients cut what a hook adds; this stays well below. */
const packTokensMax = 1_500;

async function sessionStart(scope: Scope, workspace: Workspace): Promise<string> {
  const written = await lastWritten(scope, workspace);
  const pack = await readResume(scope, { workspace, query: written?.description.slice(0, 400).toWellFormed(), tokensMax: packTokensMax });
  // An agent that has nothing to go on with is not told so at every start.
  if (Object.values(pack.shown).every((count) => count === 0)) return "";
  const additionalContext = `${pack.text}Save with the checkpoint tool as work proceeds; the resume tool gives more of this.\n`;
  return `${JSON.stringify({ hookSpecificOutput: { hookEventName: "SessionStart", additionalContext } })}\n`;
}

/** Marks what the hook saved, to tell it from what an agent wrote. */
const ownTag = "pre-compact";

/** The newest entry that an agent wrote itself, here. */
async function lastWritten(scope: Scope, workspace: Workspace): Promise<JournalEntry | undefined> {
  const { entry } = await readLatest(scope, workspace, ({ tags }) => !tags.includes(ownTag));
  return entry?.workspace.id === workspace.id || workspace.formerIds.includes(entry?.workspace.id ?? "") ? entry : undefined;
}

const nothingKnown: RepositoryState = { recentCommits: [] };
const carriedCharactersMax = 1_500;
const filesMax = 50;

async function preCompact({ scope, gitEnvironment, ttlMs, timeoutMs }: HookContext, workspace: Workspace, folder: string, { trigger }: HookInput): Promise<void> {
  // Git would search above the workspace: a home folder under version control is not a project.
  const inRepository = workspace.branch !== undefined || workspace.commit !== undefined;
  const [written, repository, open] = await Promise.all([
    lastWritten(scope, workspace),
    inRepository ? readRepositoryState(folder, gitEnvironment, Math.ceil(timeoutMs * questionShare)) : nothingKnown,
    readOpenWork(scope, { workspace }),
  ]);
  await saveEntry(
    { ...scope, agent: "pre-compact hook" },
    {
      workspace,
      description: describe(repository, workspace, trigger),
      workContext: contextOf(written, repository, open) || undefined,
      activeFiles: (repository.changedFiles ?? [])
        .map((path) => path.toWellFormed())
        .filter((path) => path.length <= entryLimits.fileCharactersMax)
        .slice(0, filesMax),
      highlights: [],
      tags: [ownTag],
      // The session that is being compacted goes on: its highlights belong to this entry too.
      sessionId: written?.sessionId ?? `session-${randomHex(12)}`,
      global: false,
      ttlMs,
    },
  );
}

function describe({ changedFiles }: RepositoryState, { branch }: Workspace, trigger: HookInput["trigger"]): string {
  const files =
    changedFiles === undefined ? "" : changedFiles.length === 0 ? "; nothing uncommitted" : `; ${changedFiles.length} uncommitted ${changedFiles.length === 1 ? "file" : "files"}`;
  return `Saved before the context was compacted${trigger === undefined ? "" : ` (${trigger})`}${branch === undefined ? "" : ` on branch ${branch}`}${files}.`;
}

/** The last entry is carried along: it would otherwise be hidden behind this one. */
function contextOf(written: JournalEntry | undefined, { recentCommits }: RepositoryState, { runs }: OpenWork): string {
  const cut = (text: string): string => (text.length > carriedCharactersMax ? `${text.slice(0, carriedCharactersMax).toWellFormed()} (cut)` : text);
  const parts = [
    written === undefined ? [] : [`Last checkpoint, ${written.id}:`, cut(written.description), ...(written.workContext === undefined ? [] : [cut(written.workContext)])],
    recentCommits.length === 0 ? [] : ["Recent commits:", ...recentCommits.map((line) => `- ${line.slice(0, 200).toWellFormed()}`)],
    runs.length === 0 ? [] : ["Open runs:", ...runs.slice(0, 20).map(({ runId, name, lastStep, holder }) => `- ${runId} ${name}, last step ${lastStep}, claimed by ${holder}`)],
  ];
  return parts
    .filter((part) => part.length > 0)
    .map((part) => part.join("\n"))
    .join("\n")
    .replaceAll("\0", "")
    .slice(0, entryLimits.contextCharactersMax)
    .toWellFormed();
}
