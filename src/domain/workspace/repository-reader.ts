import { execFile } from "node:child_process";
import { readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { safeGitOptions } from "./safe-git.ts";

export interface Repository {
  /** The folder that all worktrees share. */
  readonly commonFolder: string;
  /** The name of the main worktree's folder. */
  readonly name: string;
  /** Where the main line of history began; undefined without commits, in a shallow clone, or where git cannot be asked. */
  readonly rootCommit?: string;
  /** Names the main line whose beginning was looked for: the same text for every process that sees this folder; undefined where there is none. */
  readonly mainLine?: string;
  /** The branch worked on, also in the middle of a rebase; undefined when detached. */
  readonly branch?: string;
  readonly commit?: string;
}

/** The file system as far as workspaces need it. */
export interface FolderReader {
  /** Without symbolic links; undefined when there is no such folder. */
  realFolder(path: string): Promise<string | undefined>;
  /** The repository whose top is exactly this folder. `known`: where a main line began, as far as that is remembered. */
  repositoryAt(folder: string, known?: KnownRoots): Promise<Repository | undefined>;
}

/** The first commit; null: lately nobody could tell; undefined: nobody has asked. */
export type KnownRoots = (mainLine: string) => Promise<string | null | undefined>;

const smallFileBytesMax = 64 * 1024;
const packedRefsBytesMax = 64 * 1024 * 1024;
const defaults = { gitTimeoutMs: 3_000 } as const;
const refDepthMax = 5;
/** A git that cannot answer is not waited for on every call. */
const rootAttemptsMax = 2;

/**
 * Reads git's own files. Git itself is only asked where the main line began, and only if that is not stored yet: it has to walk there
 * commit by commit, which takes most of a second for fifty thousand of them. `gitTimeoutMs` is for callers that cannot wait so long.
 */
export function openFolderReader({ gitTimeoutMs }: { readonly gitTimeoutMs: number } = defaults): FolderReader {
  const roots = new Map<string, string>();
  const failures = new Map<string, number>();
  const rootOf = async (commonFolder: string, { name, start }: MainLine, known: KnownRoots): Promise<string | undefined> => {
    const failed = failures.get(name) ?? 0;
    if (roots.has(name) || failed >= rootAttemptsMax) return roots.get(name);
    const remembered = await known(name);
    if (remembered === null) return undefined;
    const root = remembered ?? (await findRoot(commonFolder, start, gitTimeoutMs));
    if (root === undefined) failures.set(name, failed + 1);
    else roots.set(name, root);
    return root;
  };
  return {
    realFolder: async (path) => ((await kindOf(path)) === "folder" ? realpath(path) : undefined),
    async repositoryAt(folder, known = async () => undefined) {
      const folders = await findGitFolder(folder);
      if (folders === undefined) return undefined;
      const { gitFolder, commonFolder } = folders;
      const head = await readHead(gitFolder, commonFolder, gitTimeoutMs);
      const line = await readMainLine(commonFolder, head.commit);
      const rootCommit = line && (await rootOf(commonFolder, line, known));
      return { commonFolder, name: await nameOf(folders, folder), rootCommit, mainLine: line?.name, ...head };
    },
  };
}

interface GitFolders {
  /** What belongs to this worktree alone. */
  readonly gitFolder: string;
  readonly commonFolder: string;
}

async function findGitFolder(folder: string): Promise<GitFolders | undefined> {
  const dotGit = join(folder, ".git");
  const kind = await kindOf(dotGit);
  // A worktree and a submodule have a file that says where their git folder is.
  const link = kind === "file" ? /^gitdir: (.+?)\r?\n?$/s.exec((await readText(dotGit)) ?? "")?.[1] : undefined;
  const gitFolder = link !== undefined ? resolve(folder, link) : kind === "folder" ? dotGit : folder;
  if (!(await isGitFolder(gitFolder))) return undefined;
  const shared = (await readText(join(gitFolder, "commondir")))?.trim();
  const commonFolder = await realpath(shared === undefined ? gitFolder : resolve(gitFolder, shared)).catch(() => undefined);
  return commonFolder === undefined ? undefined : { gitFolder, commonFolder };
}

/** A worktree's own git folder has no objects: those are in the common one. */
async function isGitFolder(path: string): Promise<boolean> {
  if ((await kindOf(join(path, "HEAD"))) !== "file") return false;
  return (await kindOf(join(path, "commondir"))) === "file" || ((await kindOf(join(path, "objects"))) === "folder" && (await kindOf(join(path, "refs"))) === "folder");
}

/** `…/proj/.git` and `…/proj/.bare` are `proj`, `…/proj.git` too; a submodule's is the folder it is checked out in. */
async function nameOf({ gitFolder, commonFolder }: GitFolders, folder: string): Promise<string> {
  const isMain = (await realpath(gitFolder)) === commonFolder;
  const last = basename(commonFolder);
  if (isMain && folder !== commonFolder) return basename(folder) || folder;
  return last.startsWith(".") ? basename(dirname(commonFolder)) : last.replace(/(?<=.)\.git$/, "");
}

async function readHead(gitFolder: string, commonFolder: string, timeoutMs: number): Promise<{ readonly branch?: string; readonly commit?: string }> {
  const head = (await readText(join(gitFolder, "HEAD")))?.trim() ?? "";
  const ref = /^ref: (.+)$/.exec(head)?.[1];
  // Where references are kept in tables, HEAD is a signpost and git has to be asked.
  if (ref === "refs/heads/.invalid") {
    const questions = [
      ["symbolic-ref", "-q", "--short", "HEAD"],
      ["rev-parse", "-q", "--verify", "HEAD"],
    ];
    const [branch, commit] = await Promise.all(questions.map((question) => git(gitFolder, question, timeoutMs)));
    return { branch, commit };
  }
  if (ref !== undefined) return { branch: branchOf(ref), commit: await resolveRef([gitFolder, commonFolder], ref) };
  return { branch: await rebasedBranch(gitFolder), commit: asCommit(head) };
}

/** A rebase detaches HEAD; the branch it will move is noted beside it. */
async function rebasedBranch(gitFolder: string): Promise<string | undefined> {
  for (const kind of ["rebase-merge", "rebase-apply"]) {
    const ref = (await readText(join(gitFolder, kind, "head-name")))?.trim();
    if (ref?.startsWith("refs/heads/")) return branchOf(ref);
  }
  return undefined;
}

const branchOf = (ref: string): string => ref.replace(/^refs\/heads\//, "");
const asCommit = (text: string): string | undefined => (/^[0-9a-f]{40}([0-9a-f]{24})?$/.test(text) ? text : undefined);

async function resolveRef(folders: readonly string[], ref: string, depth = 0): Promise<string | undefined> {
  if (depth > refDepthMax || ref.split("/").includes("..")) return undefined;
  for (const folder of folders) {
    const text = (await readText(join(folder, ref)))?.trim();
    const next = text === undefined ? undefined : /^ref: (.+)$/.exec(text)?.[1];
    if (next !== undefined) return resolveRef(folders, next, depth + 1);
    if (text !== undefined) return asCommit(text);
  }
  const packed = (await readText(join(folders.at(-1) as string, "packed-refs"), packedRefsBytesMax)) ?? "";
  const end = packed.indexOf(` ${ref}\n`);
  return end === -1 ? undefined : asCommit(packed.slice(packed.lastIndexOf("\n", end) + 1, end));
}

interface MainLine {
  readonly name: string;
  /** Its newest commit. */
  readonly start: string;
}

/**
 * Where to begin to look for the first commit. The default branch goes before HEAD, so that a branch without common history (pages, say) is
 * still the same workspace. Nowhere in a shallow clone: its first commit is wherever it was cut, and moves with every fetch.
 */
async function readMainLine(commonFolder: string, head: string | undefined): Promise<MainLine | undefined> {
  if ((await kindOf(join(commonFolder, "shallow"))) === "file") return undefined;
  const born = await birthOf(commonFolder);
  for (const ref of ["refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"]) {
    const start = await resolveRef([commonFolder], ref);
    if (start !== undefined) return { name: JSON.stringify([commonFolder, born, ref]), start };
  }
  return head === undefined ? undefined : { name: JSON.stringify([commonFolder, born, "HEAD"]), start: head };
}

/** Tells a folder from a later one at the same place. Systems that do not keep the time of birth show the time of the last change instead, which says nothing. */
async function birthOf(folder: string): Promise<string> {
  const found = await stat(folder, { bigint: true }).catch(() => undefined);
  return found === undefined ? "" : `${found.ino} ${found.birthtimeNs === found.ctimeNs ? 0n : found.birthtimeNs}`;
}

/** Only first parents are followed, so that a library merged in with its own history does not lend its identity. */
async function findRoot(commonFolder: string, start: string, timeoutMs: number): Promise<string | undefined> {
  const root = await git(commonFolder, ["rev-list", "--first-parent", "--max-parents=0", start], timeoutMs);
  return root === undefined ? undefined : asCommit(root.split("\n")[0] as string);
}

/** The folder is named outright, so that variables of a surrounding git (in a hook, say) lead nowhere else. */
const git = (gitFolder: string, args: readonly string[], timeoutMs: number): Promise<string | undefined> =>
  new Promise((done) => {
    execFile("git", [`--git-dir=${gitFolder}`, ...safeGitOptions, ...args], { timeout: timeoutMs, maxBuffer: smallFileBytesMax, windowsHide: true }, (error, stdout) =>
      done(error === null && stdout.trim() !== "" ? stdout.trim() : undefined),
    );
  });

async function kindOf(path: string): Promise<"file" | "folder" | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() ? "file" : found?.isDirectory() ? "folder" : undefined;
}

/** Regular files of a sane size only: a pipe in their place would be waited on for ever. */
async function readText(path: string, bytesMax = smallFileBytesMax): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || !found.isFile() || found.size > bytesMax) return undefined;
  return readFile(path, "utf8").catch(() => undefined);
}
