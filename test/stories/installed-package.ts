import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
export const root = fileURLToPath(new URL("../../", import.meta.url));

export interface InstalledPackage {
  /** A folder of the story's own; the package is installed in it like in any project. */
  readonly folder: string;
  /** Starts the installed executable on the story's store; writes its process id to `pidFile` first. */
  readonly command: string;
  readonly pidFile: string;
  remove(): Promise<void>;
}

/** Packs what would be published and installs it as a user would: the stories speak to that, not to the sources. */
export async function installPackage(): Promise<InstalledPackage> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-story-"));
  const packed = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], { cwd: root });
  const filename = packedFileName(JSON.parse(packed.stdout));
  await writeFile(join(folder, "package.json"), '{"private":true}\n');
  await run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", `./${filename}`], { cwd: folder });
  const command = join(folder, "server");
  const pidFile = join(folder, "server.pid");
  // `exec` keeps the process id, so the server can be killed while a client, which hides it, is talking to it.
  await writeFile(
    command,
    `#!/bin/sh\necho $$ > ${quoted(pidFile)}\nexec ${quoted(join(folder, "node_modules", ".bin", "holdfast"))} --store ${quoted(`sqlite:${join(folder, "store", "holdfast.db")}`)}\n`,
  );
  await chmod(command, 0o755);
  return { folder, command, pidFile, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** npm 11 answers a list, later ones a map by package name. */
function packedFileName(answer: unknown): string {
  const [first] = Object.values(answer as Record<string, { readonly filename: string }>);
  if (first === undefined) throw new Error(`npm pack named no file: ${JSON.stringify(answer)}`);
  return first.filename;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** The path that a script in scripts/test-services prints; its message, which says what to do, when it cannot. */
export async function requireService(script: string): Promise<string> {
  const { stdout } = await run(process.execPath, [join(root, "scripts", "test-services", script)]);
  return stdout.trim();
}

/** The process id of the server that was started last. */
export const readPid = async (pidFile: string): Promise<number> => Number((await readFile(pidFile, "utf8")).trim());
