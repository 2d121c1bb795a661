import { createHash } from "node:crypto";
import { basename, dirname, isAbsolute, resolve } from "node:path";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import type { Store } from "../../store/store.ts";
import type { KnownWorkspace } from "./known-workspaces.ts";
import { findKnownWorkspaces, readKnownRoot } from "./known-workspaces.ts";
import type { FolderReader, Repository } from "./repository-reader.ts";
import type { RepositoryState } from "./repository-state.ts";

/**
 * The repository an agent works on, regardless of the folder, worktree or clone it is seen through. The root commit identifies it,
 * so a renamed folder remains the same workspace, and another folder with the same name is a different one.
 */
export interface Workspace extends KnownWorkspace {
  /** Earlier ids of the same place, from before its first commit or before `git init`. They are read along with `id` but never written. */
  readonly formerIds: readonly string[];
  readonly branch?: string;
  readonly commit?: string;
  /** The top of the repository on this machine, if there is one. Never stored. */
  readonly folder?: string;
  /** A note for the caller about how the workspace was found. */
  readonly hint?: string;
}

/** What the serving process knows about where the caller works. */
export interface Surroundings {
  readonly folder: string;
  /** The folder the caller has open, if the client can report it; takes precedence over `folder`. */
  openFolder?(): Promise<string | undefined>;
  readonly home: string;
  readonly reader: FolderReader;
  /** Reads the state of a repository from git, with a short timeout. */
  readState?(folder: string): Promise<RepositoryState>;
}

/** Used if there is no folder to identify a workspace. These entries are kept apart from every workspace. */
export const noWorkspaceId = "none";
const idPattern = /^ws-[0-9a-f]{16}$/;

/**
 * Finds the workspace for a call. `given` takes precedence: a folder (absolute, or beginning with `.` or `~`), a name or an id.
 * Otherwise the server's folder decides, but the home folder and the root are never assumed.
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
  if (start === undefined) return nowhere("The folder the server was started in no longer exists");
  const realHome = (await reader.realFolder(home)) ?? home;
  const isOffLimits = (path: string): boolean => path === realHome || dirname(path) === path;
  if (isOffLimits(start)) return nowhere("The server was started in the home folder or the root, which is never assumed to be a workspace");
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
  if (start === undefined) throw invalidInput("workspace", "must be an existing folder or the name of a workspace");
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
      hint: "Pass one of their ids or a folder as workspace.",
      details: { candidates: known.map(({ id, name }) => ({ id, name })) },
    });
  const [only] = known;
  if (only !== undefined) return { id: only.id, name: only.name, formerIds: [] };
  if (idPattern.test(given)) throw new HoldfastError("not_found", `There is no workspace ${given}.`, { details: { workspace: given } });
  return { id: idOf(`name ${given}`), name: given, formerIds: [] };
}

/** Before the first commit, a repository is identified by its path, and before `git init`, by its folder. */
function ofRepository({ rootCommit, mainLine, commonFolder, name, branch, commit }: Repository, folder: string): Workspace {
  const former = [idOf(`git ${commonFolder}`), idOf(`folder ${folder}`)];
  const ids = rootCommit === undefined ? former : [idOf(`root ${rootCommit}`), ...former];
  return { id: ids[0] as string, name, formerIds: ids.slice(1), branch, commit, folder, ...(mainLine === undefined ? {} : { foundBy: { mainLine, rootCommit } }) };
}

const plainFolder = (path: string): Workspace => ({ id: idOf(`folder ${path}`), name: basename(path) || path, formerIds: [] });

/** A server on another machine than the caller's must not read its own file system: the path's text alone is the identity. */
function ofUnseenFolder(given: string): Workspace {
  const path = given.replaceAll("\\", "/").replace(/(?<!\/)\/+$/, "");
  return { id: idOf(`folder ${path}`), name: path.slice(path.lastIndexOf("/") + 1) || given, formerIds: [] };
}

const nowhere = (why: string): Workspace => ({
  id: noWorkspaceId,
  name: noWorkspaceId,
  formerIds: [],
  hint: `${why}; pass workspace (a folder or a name) to separate entries by project.`,
});

const idOf = (identity: string): string => `ws-${createHash("sha256").update(identity).digest("hex").slice(0, 16)}`;
