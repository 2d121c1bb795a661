import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { sharedBuild } from "../support/shared-builds.ts";

const run = promisify(execFile);
export const root = fileURLToPath(new URL("../../", import.meta.url));

export interface InstalledPackage {
  /** A folder of the story's own. */
  readonly folder: string;
  /** The installed executable, in a project like any user's. */
  readonly holdfast: string;
  /** Starts it on the story's store; writes its process id to `pidFile` first. */
  readonly command: string;
  readonly pidFile: string;
  remove(): Promise<void>;
}

/** What would be published, installed as a user would, once for all stories: they speak to that, not to the sources. */
export async function installPackage(): Promise<InstalledPackage> {
  const holdfast = join(await sharedBuild("installation"), "node_modules", ".bin", "holdfast");
  const folder = await mkdtemp(join(tmpdir(), "holdfast-story-"));
  const command = join(folder, "server");
  const pidFile = join(folder, "server.pid");
  // `exec` keeps the process id, so the server can be killed while a client, which hides it, is talking to it.
  await writeFile(command, `#!/bin/sh\necho $$ > ${quoted(pidFile)}\nexec ${quoted(holdfast)} --profile all --store ${quoted(`sqlite:${join(folder, "store", "holdfast.db")}`)}\n`);
  await chmod(command, 0o755);
  return { folder, holdfast, command, pidFile, remove: () => rm(folder, { recursive: true, force: true }) };
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** The path that a script in scripts/test-services prints; its message, which says what to do, when it cannot. */
export async function requireService(script: string): Promise<string> {
  const { stdout } = await run(process.execPath, [join(root, "scripts", "test-services", script)]);
  return stdout.trim();
}

/** The process id of the server that was started last. */
export const readPid = async (pidFile: string): Promise<number> => Number((await readFile(pidFile, "utf8")).trim());
