import { execFileSync } from "node:child_process";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Runs git in a folder, with nobody's configuration but the test's. */
export function git(folder: string, ...args: readonly string[]): string {
  const identity = [
    "-c",
    "user.name=tester",
    "-c",
    "user.email=tester@example.org",
    "-c",
    "init.defaultBranch=main",
    "-c",
    "protocol.file.allow=always",
    "-c",
    "commit.gpgsign=false",
  ];
  return execFileSync("git", [...identity, ...args], { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}

/** A folder with a repository and one commit. The message makes the commit, and so the repository, different from others. */
export function createRepository(parent: string, name: string, message = `begin ${name}`): string {
  const folder = join(parent, name);
  mkdirSync(folder, { recursive: true });
  git(folder, "init", "-q");
  commitFile(folder, "README", message);
  return realpathSync(folder);
}

export function commitFile(folder: string, file: string, message: string): string {
  writeFileSync(join(folder, file), `${message}\n`);
  git(folder, "add", "-A");
  git(folder, "commit", "-q", "-m", message);
  return git(folder, "rev-parse", "HEAD");
}
