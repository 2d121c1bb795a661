import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream";
import { TextDecoder } from "node:util";
import { createGunzip } from "node:zlib";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { quotedName } from "../../kernel/nearest.ts";

/** Longer than any line of an export: a value, plus the same value in the answer kept under a request key, with worst-case escaping. */
const lineBytesMax = 16 * 1_048_576;

export interface Line {
  /** Starts at 1. */
  readonly number: number;
  readonly text: string;
  /** The line as it is in the file, including its end, for checksums. */
  readonly bytes: Uint8Array;
}

/** The lines of a file, compressed or not. A last line without a line end means that the file was cut off. */
export async function* readLines(path: string): AsyncGenerator<Line> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let number = 0;
  let parts: Uint8Array[] = [];
  let held = 0;
  for await (const chunk of await bytesOf(path)) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, end + 1));
      from = end + 1;
      number += 1;
      const bytes = parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
      parts = [];
      held = 0;
      yield { number, text: decode(decoder, bytes.subarray(0, -1), number), bytes };
    }
    if (from === chunk.length) continue;
    parts.push(chunk.subarray(from));
    held += chunk.length - from;
    if (held > lineBytesMax) throw badLine(number + 1, `is longer than any line of an export (${lineBytesMax} bytes)`);
  }
  if (held > 0) throw badLine(number + 1, "is cut off");
}

export const badLine = (number: number, what: string): HoldfastError =>
  new HoldfastError("invalid_input", `<file>: line ${number} ${what}; nothing was changed.`, { details: { field: "<file>", line: number } });

function decode(decoder: TextDecoder, bytes: Uint8Array, number: number): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw badLine(number, "is not UTF-8");
  }
}

async function bytesOf(path: string): Promise<AsyncIterable<Buffer>> {
  const compressed = await isCompressed(path);
  const file = createReadStream(path);
  // Errors surface at the end of the second stream, where the reader sees them; the file is closed when reading stops.
  return translated(compressed ? pipeline(file, createGunzip(), () => {}) : file, path);
}

async function* translated(stream: Readable, path: string): AsyncGenerator<Buffer> {
  try {
    yield* stream as AsyncIterable<Buffer>;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (typeof code === "string" && code.startsWith("Z_")) throw invalidInput("<file>", "is cut off or damaged: it cannot be decompressed to its end; nothing was changed");
    throw unreadable(error, path);
  }
}

/** Checks the first bytes, because a file name is only a convention. */
async function isCompressed(path: string): Promise<boolean> {
  try {
    const file = await open(path);
    try {
      if ((await file.stat()).isDirectory()) throw invalidInput("<file>", "is a folder; pass the file that an export or backup wrote");
      const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
      return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
    } finally {
      await file.close();
    }
  } catch (error) {
    throw unreadable(error, path);
  }
}

function unreadable(error: unknown, path: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof HoldfastError || typeof code !== "string" || !/^E[A-Z]+$/.test(code)) return error;
  if (code === "ENOENT") return new HoldfastError("not_found", `<file>: there is no file ${quotedName(path)}.`, { cause: error });
  return new HoldfastError("invalid_input", `<file>: ${quotedName(path)} cannot be read (${code})`, { cause: error });
}
