import { constants } from "node:fs";
import { chown, lstat, mkdir, open, readdir, readFile, realpath, rename, rm, rmdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { randomHex } from "../kernel/ids.ts";
import { unusable } from "./edit.ts";

const fileBytesMax = 16 * 1024 * 1024;

/** A client's file as it is on disk. Links were followed, and the target is inside an allowed folder. */
export interface ClientFile {
  /** The path after following links. */
  readonly realPath: string;
  /** Undefined if the file does not exist. */
  readonly text: string | undefined;
  readonly mode: number | undefined;
}

/** Reads a file below one of the roots. A link inside them is followed (people keep their settings in a repository); one that points outside is rejected. */
export async function readClientFile(path: string, roots: readonly string[]): Promise<ClientFile> {
  const realPath = await confined(path, roots);
  const facts = await stat(realPath).catch(ignoreMissing);
  if (facts === undefined) return { realPath, text: undefined, mode: undefined };
  if (!facts.isFile()) throw unusable(path, "is not a file");
  if (facts.size > fileBytesMax) throw unusable(path, `is larger than ${fileBytesMax} bytes`);
  const bytes = await readFile(realPath);
  try {
    // The byte order mark is kept, because it is part of the user's file.
    return { realPath, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), mode: facts.mode & 0o7777 };
  } catch {
    throw unusable(path, "is not UTF-8 text");
  }
}

async function confined(path: string, roots: readonly string[]): Promise<string> {
  const entry = await lstat(path).catch(ignoreMissing);
  const real = entry === undefined ? join(await realFolder(dirname(resolve(path))), basename(path)) : await realpath(path).catch(() => undefined);
  if (real === undefined) throw unusable(path, "is a broken symbolic link");
  const allowed = await Promise.all(roots.map((root) => realFolder(resolve(root))));
  if (!allowed.some((root) => real.startsWith(root.endsWith(sep) ? root : root + sep)))
    throw unusable(path, "points outside its folder", "Replace the link with a file, or edit its target by hand.");
  return real;
}

/** The real path of a folder, even if it does not exist yet. */
async function realFolder(folder: string): Promise<string> {
  const real = await realpath(folder).catch(ignoreMissing);
  if (real !== undefined) return real;
  // A broken link exists but has no real path.
  if ((await lstat(folder).catch(ignoreMissing)) !== undefined) throw unusable(folder, "is a broken symbolic link");
  const parent = dirname(folder);
  return parent === folder ? folder : join(await realFolder(parent), basename(folder));
}

export interface FileWriteOptions {
  /** The file's mode; for a new file it depends on the scope. */
  readonly mode: number;
  readonly folderMode: number;
}

/** Replaces the file with a complete new one, so that no reader ever sees half of it. Returns the folders it had to create, outermost first. */
export async function replaceFile(realPath: string, text: string, { mode, folderMode }: FileWriteOptions): Promise<string[]> {
  const made = await makeFolders(dirname(realPath), folderMode);
  const old = await stat(realPath).catch(ignoreMissing);
  const temporary = `${realPath}.${randomHex(12)}.tmp`;
  try {
    await writeNew(temporary, text, mode);
    // If run by an administrator, the file keeps its owner.
    if (old !== undefined) await chown(temporary, old.uid, old.gid).catch(() => {});
    await rename(temporary, realPath);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  return made;
}

async function writeNew(path: string, text: string, mode: number): Promise<void> {
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, mode);
  try {
    await file.writeFile(text);
    await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function makeFolders(folder: string, mode: number): Promise<string[]> {
  const missing: string[] = [];
  for (let at = folder; (await lstat(at).catch(ignoreMissing)) === undefined; at = dirname(at)) missing.unshift(at);
  for (const path of missing) await mkdir(path, { mode });
  return missing;
}

/** Removes empty folders, innermost first. */
export async function removeEmptyFolders(folders: readonly string[]): Promise<void> {
  for (const folder of [...folders].sort((a, b) => b.length - a.length)) await rmdir(folder).catch(() => {});
}

const backupMark = ".holdfast-backup-";

/** Keeps a copy beside the file; `stamp` is a sortable time. Returns the copy's path. */
export async function backUp({ realPath, text, mode }: ClientFile, stamp: string): Promise<string> {
  for (let copy = 1; ; copy += 1) {
    const path = `${realPath}${backupMark}${stamp}${copy === 1 ? "" : `-${copy}`}`;
    try {
      await writeNew(path, text ?? "", mode ?? 0o600);
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || copy > 99) throw error;
    }
  }
}

/** The backups that installations left beside a file, oldest first. */
export async function findBackups(realPath: string): Promise<string[]> {
  const names = await readdir(dirname(realPath)).catch(() => []);
  const start = basename(realPath) + backupMark;
  return names
    .filter((name) => name.startsWith(start) && /^\d{8}T\d{6}Z(-\d+)?$/.test(name.slice(start.length)))
    .sort((a, b) => (a.length === b.length ? (a < b ? -1 : 1) : a.length - b.length))
    .map((name) => join(dirname(realPath), name));
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ELOOP") throw unusable(error.path ?? "A file", "is a broken symbolic link");
  if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
  return undefined;
}
