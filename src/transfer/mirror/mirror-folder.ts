import { constants } from "node:fs";
import { lstat, mkdir, open, readFile, realpath, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { HoldfastError } from "../../kernel/errors.ts";
import { randomHex } from "../../kernel/ids.ts";

/** More than any record can make of itself. */
const fileBytesMax = 4 * 1024 * 1024;
const nameBytesMax = 200;

/**
 * Writes one file inside a folder, whole or not at all, readable by its owner only. Folders that are missing are made, for the owner only.
 * Nothing leads out of the folder: names are plain names, and a symbolic link in the place of the folder, a folder below it or the file is refused.
 */
export async function writeMirrorFile(folder: string, below: readonly string[], name: string, text: string): Promise<string> {
  const target = await requireFolder(folder, below);
  const path = join(target, requireName(name));
  const found = await lstat(path).catch(absent);
  if (found !== undefined && !found.isFile()) throw refused("The mirror's file is not a regular file.");
  // The rename replaces a name, never what a link put there in the meantime points to.
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

/** The text of one mirror file. A symbolic link and a file too large to be ours are refused. */
export async function readMirrorFile(path: string): Promise<string> {
  const found = await lstat(path);
  if (!found.isFile()) throw refused("A mirror file must be a regular file.");
  if (found.size > fileBytesMax) throw new HoldfastError("limit_exceeded", `A mirror file must have at most ${fileBytesMax} bytes.`);
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await readFile(path));
}

/** The folder and those below it, made where missing; each a real folder in the place it seems to be. */
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
      // Another process was faster; what it made is looked at below like any other.
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
