import { execFile } from "node:child_process";
import { listFilters, safeGitOptions, withoutFilters } from "./safe-git.ts";

/** Facts about a repository that git can report quickly. */
export interface RepositoryState {
  /** Changed, new and deleted files, relative to the top; undefined if git did not answer in time. */
  readonly changedFiles?: readonly string[];
  /** Lines added and removed since the last commit, for tracked text files. */
  readonly lines?: ReadonlyMap<string, { readonly added: number; readonly removed: number }>;
  /** `1a2b3c4 subject`, newest first. */
  readonly recentCommits: readonly string[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

const outputBytesMax = 4 * 1024 * 1024;
const commitsMax = 5;

/** `timeoutMs` applies to each git command. */
export async function readRepositoryState(folder: string, environment: Environment, timeoutMs: number): Promise<RepositoryState> {
  const git = openGit(folder, environment, timeoutMs);
  const [changes, log] = await Promise.all([readChanges(git), git(["log", `--max-count=${commitsMax}`, "--no-show-signature", "--format=%h %s"])]);
  return {
    ...changes,
    recentCommits: (log ?? "").split("\n").filter((line) => line !== ""),
  };
}

type Git = ReturnType<typeof openGit>;

async function readChanges(git: Git): Promise<Pick<RepositoryState, "changedFiles" | "lines">> {
  const filters = await git(listFilters, { noneIs: 1 });
  const options = filters === undefined ? undefined : withoutFilters(filters);
  if (options === undefined) return {};
  // A submodule has its own configuration. Only its commit is compared, and no command runs inside it.
  const [status, counted] = await Promise.all([
    git([...options, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal", "--ignore-submodules=dirty"]),
    git([...options, "diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "HEAD", "--"]),
  ]);
  if (status === undefined) return {};
  return { changedFiles: status.split("\0").flatMap((line) => (line.length > 3 ? [line.slice(3)] : [])), ...(counted === undefined ? {} : { lines: linesIn(counted) }) };
}

/** Parses lines such as `9\t0\tsrc/cli.js`; binary files have dashes instead of numbers. */
function linesIn(counted: string): NonNullable<RepositoryState["lines"]> {
  const found = counted.split("\0").flatMap((line) => {
    const [, added, removed, path] = /^(\d+)\t(\d+)\t(.+)$/s.exec(line) ?? [];
    return path === undefined ? [] : [[path, { added: Number(added), removed: Number(removed) }] as const];
  });
  return new Map(found);
}

/** Takes no lock and starts no program named in the repository's configuration. `noneIs`: the exit code that means an empty result. */
const openGit =
  (folder: string, environment: Environment, timeoutMs: number) =>
  (args: readonly string[], { noneIs = 0 } = {}): Promise<string | undefined> =>
    new Promise((done) => {
      execFile(
        "git",
        ["-C", folder, ...safeGitOptions, ...args],
        { env: { ...environment }, timeout: timeoutMs, killSignal: "SIGKILL", maxBuffer: outputBytesMax, windowsHide: true },
        (error, stdout) => done(error === null || (noneIs !== 0 && error.code === noneIs) ? stdout : undefined),
      );
    });
