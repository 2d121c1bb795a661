import { constants } from "node:fs";
import { lstat, mkdir, open, realpath, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { HoldfastError } from "../../kernel/errors.ts";
import { randomHex } from "../../kernel/ids.ts";

const nameBytesMax = 200;

/**
 * Writes one file inside a folder, completely or not at all, readable only by its owner. Missing folders are created, also for the owner only.
 * Writes cannot leave the folder: names must be plain, and a symbolic link in place of the folder, a subfolder or the file is rejected.
 */
export async function writeMirrorFile(folder: string, below: readonly string[], name: string, text: string): Promise<string> {
  const target = await requireFolder(folder, below);
  const path = join(target, requireName(name));
  const found = await lstat(path).catch(absent);
  if (found !== undefined && !found.isFile()) throw refused("The mirror's file is not a regular file.");
  // The rename replaces the name itself and never follows a link that was put there in the meantime.
  const temporary = join(target, `.${randomHex(16)}.tmp`);
  try {
    const file = await open(temporary, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0), 0o600);
    try {
      await file.chmod(0o600);
      await file.writeFile(text, "utf8");
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  return path;
}

/** Creates missing folders and checks that each is a real folder at its apparent location. */
async function requireFolder(folder: string, below: readonly string[]): Promise<string> {
  let target = resolve(folder);
  await requireRealFolder(target, true);
  const root = await realpath(target);
  for (const name of below) {
    target = join(target, requireName(name));
    await requireRealFolder(target, false);
  }
  if ((await realpath(target)) !== join(root, ...below)) throw refused("The mirror's folder points outside the mirror.");
  return target;
}

async function requireRealFolder(target: string, recursive: boolean): Promise<void> {
  const found = await lstat(target).catch(absent);
  if (found === undefined) {
    if (recursive) await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await mkdir(target, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      // Another process was faster; the folder it created is checked below like any other.
      if (error.code !== "EEXIST") throw error;
    });
  }
  if (!(await lstat(target)).isDirectory()) throw refused("The mirror's folder is a symbolic link or a file.");
}

function requireName(name: string): string {
  if (name === "" || name.startsWith(".") || /[/\\\0]/.test(name) || !name.isWellFormed() || Buffer.byteLength(name) > nameBytesMax)
    throw refused("A mirror file needs a plain name.");
  return name;
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}

const refused = (message: string): HoldfastError => new HoldfastError("invalid_input", message);
