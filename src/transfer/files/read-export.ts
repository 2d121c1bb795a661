import { createHash } from "node:crypto";
import { HoldfastError, invalidInput, isHoldfastError } from "../../kernel/errors.ts";
import { compareKeys } from "../../store/ranges.ts";
import type { NamespaceFacts, StoredRecord } from "../../store/store.ts";
import type { ExportHeader } from "./export-lines.ts";
import { countOf, exportFormat, noCounts } from "./export-lines.ts";
import { parseLine } from "./parse-line.ts";
import type { Line } from "./read-lines.ts";
import { badLine, readLines } from "./read-lines.ts";

export type ExportPart =
  | { readonly is: "namespace"; readonly namespace: string; readonly facts: NamespaceFacts }
  | { readonly is: "record"; readonly record: StoredRecord }
  /** The whole file has been read and matches its last line. */
  | { readonly is: "end"; readonly sha256: string };

const notAnExport = (): HoldfastError => invalidInput("<file>", "is not an export or backup of Holdfast; nothing was changed");

/** Checks only the beginning of the file, to see whether it is an export. */
export async function isExport(path: string): Promise<boolean> {
  try {
    for await (const { text } of readLines(path)) return text.startsWith('{"holdfast":"export"');
  } catch (error) {
    if (!isHoldfastError(error, "invalid_input")) throw error;
  }
  return false;
}

export async function readHeader(path: string): Promise<ExportHeader> {
  for await (const line of readLines(path)) return headerOf(line);
  throw notAnExport();
}

function headerOf(line: Line): ExportHeader {
  if (!line.text.startsWith('{"holdfast":"export"')) throw notAnExport();
  const format = /"format":(\d+)/.exec(line.text)?.[1];
  if (format !== undefined && Number(format) > exportFormat)
    throw new HoldfastError("store_newer", `<file>: has format ${format}; this Holdfast reads formats up to ${exportFormat}. Nothing was changed.`, { hint: "Upgrade Holdfast." });
  const parsed = parseLine(line);
  if (parsed.is !== "header" || parsed.header.format !== exportFormat) throw badLine(1, "is not the beginning of an export");
  return parsed.header;
}

/**
 * Reads an export from its first line to its last, and checks every line and their order. Parts are returned while reading,
 * so a caller that acts on them before the end must be able to undo it.
 */
export async function* readExport(path: string): AsyncGenerator<ExportPart> {
  const lines = readLines(path);
  const first = await lines.next();
  if (first.done === true) throw notAnExport();
  const { namespaces } = headerOf(first.value);
  const hash = createHash("sha256").update(first.value.bytes);
  const counts = noCounts();
  const waiting = [...namespaces];
  let order: Order | undefined;
  for await (const line of lines) {
    const part = parseLine(line);
    if (part.is === "end") {
      order?.requireWhole(line.number);
      if (waiting.length > 0 || JSON.stringify(part.counts) !== JSON.stringify(counts))
        throw badLine(line.number, "does not follow from the lines before it: lines are missing or repeated");
      if (part.sha256 !== hash.digest("hex")) throw badLine(line.number, "has the wrong checksum: the file was changed");
      if ((await lines.next()).done !== true) throw badLine(line.number + 1, "comes after the end");
      yield { is: "end", sha256: part.sha256 };
      return;
    }
    hash.update(line.bytes);
    if (part.is === "namespace") {
      order?.requireWhole(line.number);
      if (part.namespace !== waiting.shift()) throw badLine(line.number, "begins a namespace that is not the next one listed in the first line");
      order = new Order(part.facts);
      yield part;
    } else if (part.is === "record" && order !== undefined) {
      order.require(part.record, line.number);
      counts[countOf[part.record.kind]] += 1;
      yield part;
    } else throw badLine(line.number, "is out of place");
  }
  throw invalidInput("<file>", "is cut off: its last line is missing; nothing was changed");
}

const ranks = { log: 0, key: 1, request: 2 } as const;

/** The order within a namespace: log rows by revision, keys by their bytes, requests by their expiry, each once. */
class Order {
  readonly #facts: NamespaceFacts;
  #last: StoredRecord | undefined;
  #newest = 0;

  constructor(facts: NamespaceFacts) {
    this.#facts = facts;
  }

  require(record: StoredRecord, line: number): void {
    const last = this.#last;
    this.#last = record;
    if (last !== undefined && (ranks[record.kind] < ranks[last.kind] || (record.kind === last.kind && !isAfter(record, last)))) throw badLine(line, "is out of order or repeated");
    if (record.kind === "log") {
      this.#newest = record.revision;
      if (record.atMs > this.#facts.clockMs) throw badLine(line, "is later than its namespace's clock");
    }
    const revision = record.kind === "request" ? record.outcome.revision : record.revision;
    if (revision > this.#facts.revision) throw badLine(line, "names a revision that the namespace has not reached");
  }

  requireWhole(line: number): void {
    const { revision, compacted, base } = this.#facts;
    if (revision !== Math.max(compacted, base, this.#newest)) throw badLine(line, "comes too early: the namespace before it has not reached its revision");
  }
}

function isAfter(record: StoredRecord, last: StoredRecord): boolean {
  if (record.kind === "log" && last.kind === "log") return record.revision > last.revision || (record.revision === last.revision && record.seq > last.seq);
  if (record.kind === "request" && last.kind === "request" && record.keptUntilMs !== last.keptUntilMs) return record.keptUntilMs > last.keptUntilMs;
  return compareKeys(record.key, last.key) > 0;
}
