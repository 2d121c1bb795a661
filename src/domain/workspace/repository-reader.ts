import { execFile } from "node:child_process";
import { readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { safeGitOptions } from "./safe-git.ts";

export interface Repository {
  /** The folder that all worktrees share. */
  readonly commonFolder: string;
  /** The name of the main worktree's folder. */
  readonly name: string;
  /** The root commit of the main line; undefined without commits, in a shallow clone or if git is unavailable. */
  readonly rootCommit?: string;
  /** Identifies the main line whose root commit was searched for, identically in every process that sees this folder; undefined if there is none. */
  readonly mainLine?: string;
  /** The current branch, even during a rebase; undefined if HEAD is detached. */
  readonly branch?: string;
  readonly commit?: string;
}

/** The file system operations that workspaces need. */
export interface FolderReader {
  /** Resolves symbolic links; undefined if there is no such folder. */
  realFolder(path: string): Promise<string | undefined>;
  /** The repository whose top is exactly this folder. `known` looks up root commits that are already stored. */
  repositoryAt(folder: string, known?: KnownRoots): Promise<Repository | undefined>;
}

/** Returns the root commit, null if a recent search failed, or undefined if there was no search. */
export type KnownRoots = (mainLine: string) => Promise<string | null | undefined>;

const smallFileBytesMax = 64 * 1024;
const packedRefsBytesMax = 64 * 1024 * 1024;
const defaults = { gitTimeoutMs: 3_000 } as const;
const refDepthMax = 5;
/** Limits how often calls wait for a git that does not answer. */
const rootAttemptsMax = 2;

/**
 * Reads git's files directly. Except for reftables, git itself runs only to find the root commit of the main line, and only if that is not stored yet.
 * It walks the history commit by commit, which takes most of a second for 50,000 commits. `gitTimeoutMs` is for callers that cannot wait that long.
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
  /** Contains what belongs to this worktree only. */
  readonly gitFolder: string;
  readonly commonFolder: string;
}

async function findGitFolder(folder: string): Promise<GitFolders | undefined> {
  const dotGit = join(folder, ".git");
  const kind = await kindOf(dotGit);
  // In a worktree or submodule, `.git` is a file that contains the path of the git folder.
  const link = kind === "file" ? /^gitdir: (.+?)\r?\n?$/s.exec((await readText(dotGit)) ?? "")?.[1] : undefined;
  const gitFolder = link !== undefined ? resolve(folder, link) : kind === "folder" ? dotGit : folder;
  if (!(await isGitFolder(gitFolder))) return undefined;
  const shared = (await readText(join(gitFolder, "commondir")))?.trim();
  const commonFolder = await realpath(shared === undefined ? gitFolder : resolve(gitFolder, shared)).catch(() => undefined);
  return commonFolder === undefined ? undefined : { gitFolder, commonFolder };
}

/** A worktree's git folder has no objects; they are in the common folder. */
async function isGitFolder(path: string): Promise<boolean> {
  if ((await kindOf(join(path, "HEAD"))) !== "file") return false;
  return (await kindOf(join(path, "commondir"))) === "file" || ((await kindOf(join(path, "objects"))) === "folder" && (await kindOf(join(path, "refs"))) === "folder");
}

/** `…/proj/.git`, `…/proj/.bare` and `…/proj.git` are all named `proj`. A submodule is named after the folder it is checked out in. */
async function nameOf({ gitFolder, commonFolder }: GitFolders, folder: string): Promise<string> {
  const isMain = (await realpath(gitFolder)) === commonFolder;
  const last = basename(commonFolder);
  if (isMain && folder !== commonFolder) return basename(folder) || folder;
  return last.startsWith(".") ? basename(dirname(commonFolder)) : last.replace(/(?<=.)\.git$/, "");
}

async function readHead(gitFolder: string, commonFolder: string, timeoutMs: number): Promise<{ readonly branch?: string; readonly commit?: string }> {
  const head = (await readText(join(gitFolder, "HEAD")))?.trim() ?? "";
  const ref = /^ref: (.+)$/.exec(head)?.[1];
  // With the reftable format, HEAD is only a placeholder, so git itself must resolve it.
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

/** A rebase detaches HEAD and records the branch in `head-name`. */
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
 * Where the search for the root commit starts. The default branch comes before HEAD, so that a branch without common history (such as gh-pages) still
 * belongs to the same workspace. There is no start in a shallow clone: its first commit is where it was cut, which moves with every fetch.
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

/** Distinguishes a folder from a later one with the same path. Some systems do not store the time of creation and report the last change instead, which is useless here. */
async function birthOf(folder: string): Promise<string> {
  const found = await stat(folder, { bigint: true }).catch(() => undefined);
  return found === undefined ? "" : `${found.ino} ${found.birthtimeNs === found.ctimeNs ? 0n : found.birthtimeNs}`;
}

/** Follows first parents only, so that a library merged with its history does not determine the identity of the repository. */
async function findRoot(commonFolder: string, start: string, timeoutMs: number): Promise<string | undefined> {
  const root = await git(commonFolder, ["rev-list", "--first-parent", "--max-parents=0", start], timeoutMs);
  return root === undefined ? undefined : asCommit(root.split("\n")[0] as string);
}

/** Passing `--git-dir` keeps the variables of an enclosing git process (in a hook, for example) from selecting another repository. */
const git = (gitFolder: string, args: readonly string[], timeoutMs: number): Promise<string | undefined> =>
  new Promise((done) => {
    execFile(
      "git",
      [`--git-dir=${gitFolder}`, ...safeGitOptions, ...args],
      // One that ignores SIGTERM would be waited for beyond its time.
      { timeout: timeoutMs, killSignal: "SIGKILL", maxBuffer: smallFileBytesMax, windowsHide: true },
      (error, stdout) => done(error === null && stdout.trim() !== "" ? stdout.trim() : undefined),
    );
  });

async function kindOf(path: string): Promise<"file" | "folder" | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() ? "file" : found?.isDirectory() ? "folder" : undefined;
}

/** Reads only regular files of a limited size. Reading a pipe could block forever. */
async function readText(path: string, bytesMax = smallFileBytesMax): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || !found.isFile() || found.size > bytesMax) return undefined;
  return readFile(path, "utf8").catch(() => undefined);
}
