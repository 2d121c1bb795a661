import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import type { ClaudeSessionEntry } from "./session-contract.ts";

/**
 * A transcript is stored as text, one line of JSON per entry, cut into chunks. As text, an entry may be larger, deeper or wider than a value of the store,
 * and comes back digit for digit.
 */
export const transcriptLimits = {
  /** Fits into a value even if every character takes four bytes, and three of them into one request even if each is sent as an escape sequence. */
  chunkCharactersMax: 200_000,
  commitChunksMax: 3,
  /** One call of `append`. */
  batchCharactersMax: 67_108_864,
  batchEntriesMax: 100_000,
  transcriptCharactersMax: 268_435_456,
  transcriptEntriesMax: 1_000_000,
} as const;

export interface TranscriptLine {
  readonly uuid?: string;
  /** With its line break. */
  readonly text: string;
}

/** Every entry is turned into text before anything is stored, so that a batch with an invalid entry changes nothing. */
export function toLines(entries: readonly ClaudeSessionEntry[]): TranscriptLine[] {
  if (!Array.isArray(entries)) throw invalidInput("entries", "must be an array");
  if (entries.length > transcriptLimits.batchEntriesMax) throw tooLarge("entries", `one call may append ${transcriptLimits.batchEntriesMax} entries`);
  let characters = 0;
  return entries.map((entry: ClaudeSessionEntry, i) => {
    const text = typeof entry === "object" && entry !== null && !Array.isArray(entry) ? jsonOf(entry) : undefined;
    if (text === undefined) throw invalidInput(`entries[${i}]`, "must be an object of JSON");
    characters += text.length + 1;
    if (characters > transcriptLimits.batchCharactersMax) throw tooLarge("entries", `one call may append ${transcriptLimits.batchCharactersMax} characters of JSON`);
    return { uuid: typeof entry.uuid === "string" ? entry.uuid : undefined, text: `${text}\n` };
  });
}

function jsonOf(entry: object): string | undefined {
  try {
    return JSON.stringify(entry);
  } catch {
    return undefined;
  }
}

export const tooLarge = (field: string, allowed: string): HoldfastError =>
  new HoldfastError("limit_exceeded", `${field}: ${allowed}; nothing was changed.`, { details: { field } });

/** Cuts a text into chunks, never through a surrogate pair, of which the store accepts no half. */
export function cutText(text: string): string[] {
  const chunks: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + transcriptLimits.chunkCharactersMax);
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end -= 1;
    chunks.push(text.slice(start, end));
    start = end;
  }
  return chunks;
}

/** Turns chunks back into entries as they arrive: only the rest of a line is kept in between. */
export class EntryReader {
  #rest: string[] = [];

  /** The entries that this chunk completes. */
  entriesIn(chunk: string): ClaudeSessionEntry[] {
    const lines = chunk.split("\n");
    const rest = lines.pop() as string;
    if (lines.length === 0) {
      this.#rest.push(rest);
      return [];
    }
    lines[0] = this.#rest.join("") + lines[0];
    this.#rest = rest === "" ? [] : [rest];
    return lines.map((line) => JSON.parse(line) as ClaudeSessionEntry);
  }
}
