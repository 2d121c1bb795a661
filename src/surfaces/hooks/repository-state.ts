import { execFile } from "node:child_process";

/** What git knows without being asked for long. */
export interface RepositoryState {
  /** Changed, new and deleted files, relative to the top; undefined when git did not answer in time. */
  readonly changedFiles?: readonly string[];
  /** `1a2b3c4 subject`, newest first. */
  readonly recentCommits: readonly string[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

const gitTimeoutMs = 200;
const outputBytesMax = 4 * 1024 * 1024;
const commitsMax = 5;

export async function readRepositoryState(folder: string, environment: Environment): Promise<RepositoryState> {
  const [status, log] = await Promise.all([
    git(folder, environment, ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal"]),
    git(folder, environment, ["log", `--max-count=${commitsMax}`, "--no-show-signature", "--format=%h %s"]),
  ]);
  return {
    ...(status === undefined ? {} : { changedFiles: status.split("\0").flatMap((line) => (line.length > 3 ? [line.slice(3)] : [])) }),
    recentCommits: (log ?? "").split("\n").filter((line) => line !== ""),
  };
}

/** Takes no lock, and starts none of the helper programs that a repository's own configuration may name. */
const git = (folder: string, environment: Environment, args: readonly string[]): Promise<string | undefined> =>
  new Promise((done) => {
    const safe = ["--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false"];
    execFile(
      "git",
      ["-C", folder, ...safe, ...args],
      { env: { ...environment }, timeout: gitTimeoutMs, killSignal: "SIGKILL", maxBuffer: outputBytesMax, windowsHide: true },
      (error, stdout) => done(error === null ? stdout : undefined),
    );
  });
