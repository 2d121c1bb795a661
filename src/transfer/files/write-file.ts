import { createWriteStream, lstatSync, rmSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { randomHex } from "../../kernel/ids.ts";

/** Lines are collected into chunks of this length: writing each one separately would cost more than producing it. */
const chunkLength = 65_536;

export async function* chunksOf(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let chunk = "";
  for await (const line of lines) {
    chunk += line;
    if (chunk.length < chunkLength) continue;
    yield chunk;
    chunk = "";
  }
  if (chunk !== "") yield chunk;
}

export interface FileOptions {
  /** True: an existing file is replaced. False: it is an error. */
  readonly replaces: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Writes a file completely or not at all: under a temporary name in the same folder, made durable, then renamed. Compressed if the name ends in .gz.
 * It may contain anything that agents stored, so only its owner may read it.
 */
export async function writeFile(path: string, lines: AsyncIterable<string>, { replaces, signal }: FileOptions): Promise<void> {
  requireWritable(path, replaces);
  const passing = `${path}.${randomHex(8)}.partial`;
  try {
    const file = createWriteStream(passing, { flags: "wx", mode: 0o600, flush: true });
    const chunks = Readable.from(chunksOf(lines), { objectMode: false });
    if (path.endsWith(".gz")) await pipeline(chunks, createGzip(), file, { signal });
    else await pipeline(chunks, file, { signal });
    requireWritable(path, replaces);
    await rename(passing, path);
    await syncFolder(dirname(path));
  } catch (error) {
    rmSync(passing, { force: true });
    throw translate(error);
  }
}

function requireWritable(path: string, replaces: boolean): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isDirectory()) throw invalidInput("<file>", "is a folder; pass the name of a file");
  if (!replaces) throw invalidInput("<file>", "already exists; pass another name");
}

async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function translate(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof HoldfastError || typeof code !== "string" || !/^E[A-Z]+$/.test(code)) return error;
  if (code === "ENOSPC" || code === "EDQUOT")
    return new HoldfastError("storage_full", "The disk is full; the unfinished file was removed.", { hint: "Free some space, or write the file elsewhere.", cause: error });
  if (code === "ENOENT") return new HoldfastError("not_found", "<file>: its folder does not exist.", { hint: "Create the folder first.", cause: error });
  return new HoldfastError("invalid_input", `<file>: cannot be written (${code})`, { cause: error });
}
