import { createHash } from "node:crypto";
import { basename, dirname, isAbsolute, resolve } from "node:path";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import type { Store } from "../../store/store.ts";
import type { KnownWorkspace } from "./known-workspaces.ts";
import { findKnownWorkspaces, readKnownRoot } from "./known-workspaces.ts";
import type { FolderReader, Repository } from "./repository-reader.ts";
import type { RepositoryState } from "./repository-state.ts";

/**
 * What an agent works on: the repository, whichever folder, worktree or clone it is seen through.
 * Its root commit says which one it is, so a renamed folder stays itself and a namesake is another.
 */
export interface Workspace extends KnownWorkspace {
  /** Ids under which the same place was known before: without commits, without git. Read along with `id`, never written. */
  readonly formerIds: readonly string[];
  readonly branch?: string;
  readonly commit?: string;
  /** The top of the repository, where there is one on this machine. Never stored. */
  readonly folder?: string;
  /** What the caller should know about how it was found. */
  readonly hint?: string;
}

/** Where the caller works, as far as the process that serves it can know. */
export interface Surroundings {
  readonly folder: string;
  /** The folder the caller has open, where it can be asked for; goes before `folder`. */
  openFolder?(): Promise<string | undefined>;
  readonly home: string;
  readonly reader: FolderReader;
  /** What git knows of a repository, asked without waiting long. */
  readState?(folder: string): Promise<RepositoryState>;
}

/** No folder to go by: entries are kept here, apart from every workspace. */
export const noWorkspaceId = "none";
const idPattern = /^ws-[0-9a-f]{16}$/;

/**
 * The workspace a call is about. `given`: a folder (absolute, or beginning with `.` or `~`), a name or an id; it wins.
 * Otherwise the folder the server works in decides, except that a home folder or the root is never taken by guess.
 */
export async function locateWorkspace(store: Store, surroundings: Surroundings | undefined, given?: string): Promise<Workspace> {
  if (given === undefined) return surroundings === undefined ? nowhere("This server does not know your folder") : guess(store, surroundings);
  if (isFolder(given)) return surroundings === undefined ? ofUnseenFolder(given) : ofFolder(store, given, surroundings);
  return ofName(store, given, surroundings);
}

const isFolder = (given: string): boolean => isAbsolute(given) || /^(\.{1,2}|~)([/\\]|$)/.test(given) || /^[A-Za-z]:[/\\]/.test(given);

async function guess(store: Store, surroundings: Surroundings): Promise<Workspace> {
  const { home, reader } = surroundings;
  const start = await reader.realFolder((await surroundings.openFolder?.()) ?? surroundings.folder);
  if (start === undefined) return nowhere("The folder the server was started in is gone");
  const realHome = (await reader.realFolder(home)) ?? home;
  const isOffLimits = (path: string): boolean => path === realHome || dirname(path) === path;
  if (isOffLimits(start)) return nowhere("The server was started in the home folder or the root, which is never taken by guess");
  for (let path = start; !isOffLimits(path); path = dirname(path)) {
    const repository = await reader.repositoryAt(path, (mainLine) => readKnownRoot(store, mainLine));
    if (repository !== undefined) return ofRepository(repository, path);
  }
  return plainFolder(start);
}

async function ofFolder(store: Store, given: string, { folder, home, reader }: Surroundings): Promise<Workspace> {
  const start = await reader.realFolder(
    resolve(
      folder,
      given.replace(/^~/, () => home),
    ),
  );
  if (start === undefined) throw invalidInput("workspace", "must be a folder that exists here, or the name of a workspace");
  for (let path = start; ; path = dirname(path)) {
    const repository = await reader.repositoryAt(path, (mainLine) => readKnownRoot(store, mainLine));
    if (repository !== undefined) return ofRepository(repository, path);
    if (dirname(path) === path) return plainFolder(start);
  }
}

async function ofName(store: Store, given: string, surroundings: Surroundings | undefined): Promise<Workspace> {
  const current = surroundings === undefined ? undefined : await guess(store, surroundings);
  if (current !== undefined && (current.name === given || current.id === given)) return current;
  const known = await findKnownWorkspaces(store, given);
  if (known.length > 1)
    throw new HoldfastError("ambiguous", `Several workspaces are called ${JSON.stringify(given)}.`, {
      hint: "Give one of their ids, or a folder, as workspace.",
      details: { candidates: known.map(({ id, name }) => ({ id, name })) },
    });
  const [only] = known;
  if (only !== undefined) return { id: only.id, name: only.name, formerIds: [] };
  if (idPattern.test(given)) throw new HoldfastError("not_found", `There is no workspace ${given}.`, { details: { workspace: given } });
  return { id: idOf(`name ${given}`), name: given, formerIds: [] };
}

/** Before the first commit a repository is known by its place, and before `git init` by its folder. */
function ofRepository({ rootCommit, mainLine, commonFolder, name, branch, commit }: Repository, folder: string): Workspace {
  const former = [idOf(`git ${commonFolder}`), idOf(`folder ${folder}`)];
  const ids = rootCommit === undefined ? former : [idOf(`root ${rootCommit}`), ...former];
  return { id: ids[0] as string, name, formerIds: ids.slice(1), branch, commit, folder, ...(mainLine === undefined ? {} : { foundBy: { mainLine, rootCommit } }) };
}

const plainFolder = (path: string): Workspace => ({ id: idOf(`folder ${path}`), name: basename(path) || path, formerIds: [] });

/** A server that is not on the caller's machine must not look at its own: the text alone is the identity. */
function ofUnseenFolder(given: string): Workspace {
  const path = given.replaceAll("\\", "/").replace(/(?<!\/)\/+$/, "");
  return { id: idOf(`folder ${path}`), name: path.slice(path.lastIndexOf("/") + 1) || given, formerIds: [] };
}

const nowhere = (why: string): Workspace => ({
  id: noWorkspaceId,
  name: noWorkspaceId,
  formerIds: [],
  hint: `${why}; pass workspace (a folder or a name) to keep entries by project.`,
});

const idOf = (identity: string): string => `ws-${createHash("sha256").update(identity).digest("hex").slice(0, 16)}`;
