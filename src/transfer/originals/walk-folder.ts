import { constants } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import type { Problem } from "./reading.ts";

export interface FoundFile {
  /** The path below the folder, with forward slashes. */
  readonly name: string;
  readonly path: string;
}

const depthMax = 12;
const filesMax = 200_000;
const fileBytesMax = 4 * 1024 * 1024;

/**
 * Lists every regular file below a folder that has one of these endings, in name order. Symbolic links are reported and never followed,
 * so that nothing outside the folder is read. A single file counts as a folder with one file.
 */
export async function walkFolder(root: string, endings: readonly string[], problems: Problem[]): Promise<readonly FoundFile[]> {
  const top = await lstat(root).catch(() => undefined);
  if (top?.isFile()) return [{ name: root.split(/[/\\]/).at(-1) ?? root, path: root }];
  if (!top?.isDirectory()) throw invalidInput("<path>", "must be a folder or a file that exists");
  const files: FoundFile[] = [];
  const visit = async (folder: string, below: string, depth: number): Promise<void> => {
    const items = (await readdir(folder, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const item of items) {
      const name = below === "" ? item.name : `${below}/${item.name}`;
      const path = join(folder, item.name);
      const isWanted = endings.some((ending) => item.name.endsWith(ending));
      if (item.isSymbolicLink()) problems.push({ where: name, reason: "is a symbolic link, which is not followed" });
      else if (item.isDirectory() && depth < depthMax) await visit(path, name, depth + 1);
      else if (item.isDirectory()) problems.push({ where: name, reason: `is more than ${depthMax} folders deep` });
      // Names that begin with a dot are unfinished files of a writer.
      else if (isWanted && item.isFile() && !item.name.startsWith(".")) files.push({ name, path });
      else if (isWanted && !item.isFile()) problems.push({ where: name, reason: "is not a regular file" });
      if (files.length > filesMax) throw new HoldfastError("limit_exceeded", `<path>: more than ${filesMax} files; pass a folder further down`);
    }
  };
  await visit(root, "", 0);
  return files;
}

/** The text of a file, or the reason why it cannot be read. */
export async function readTextFile(path: string): Promise<{ readonly text: string } | { readonly reason: string }> {
  try {
    // A link could replace the file between the listing and this call, so links are not followed here either.
    const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    try {
      const found = await file.stat();
      if (!found.isFile()) return { reason: "is not a regular file" };
      if (found.size > fileBytesMax) return { reason: `has ${found.size} bytes; the maximum is ${fileBytesMax}` };
      return { text: new TextDecoder("utf-8", { fatal: true }).decode(await file.readFile()) };
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { reason: code === "ERR_ENCODING_INVALID_ENCODED_DATA" ? "is not UTF-8 text" : `cannot be read (${code ?? "unknown"})` };
  }
}
