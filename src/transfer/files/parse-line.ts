import { systemNamespace } from "../../domain/keyspace.ts";
import { isHoldfastError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import { gapsMax } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import { requireNamespace } from "../../store/namespace-store.ts";
import { jsonText, requireKey } from "../../store/prepare-commit.ts";
import type { Committed, HistoryRecord, IndexedText, NamespaceFacts, StoredKey, StoredLogRow, StoredRecord, StoredRequestKey, WriteOutcome } from "../../store/store.ts";
import { factsLine, recordLine } from "../stores/record-line.ts";
import type { ExportCounts, ExportHeader } from "./export-lines.ts";
import { endLine, headerLine } from "./export-lines.ts";
import type { Line } from "./read-lines.ts";
import { badLine } from "./read-lines.ts";

export type ParsedLine =
  | { readonly is: "header"; readonly header: ExportHeader }
  | { readonly is: "namespace"; readonly namespace: string; readonly facts: NamespaceFacts }
  | { readonly is: "record"; readonly record: StoredRecord }
  | { readonly is: "end"; readonly counts: ExportCounts; readonly sha256: string };

/**
 * Parses one line of an export. Every member is checked as untrusted input. Then the line is written again and must be identical,
 * so that it cannot contain anything that would be dropped or read in two ways.
 */
export function parseLine(line: Line): ParsedLine {
  const parsed = read(line);
  if (textOf(parsed) !== line.text) throw badLine(line.number, "is not in the form that an export writes");
  return parsed;
}

function textOf(parsed: ParsedLine): string {
  if (parsed.is === "header") return headerLine(parsed.header);
  if (parsed.is === "namespace") return factsLine(parsed.namespace, parsed.facts);
  return parsed.is === "record" ? recordLine(parsed.record) : endLine(parsed.counts, parsed.sha256);
}

class Refusal extends Error {}

function read(line: Line): ParsedLine {
  let members: unknown;
  try {
    members = JSON.parse(line.text);
  } catch {
    throw badLine(line.number, "is not JSON");
  }
  try {
    return readMembers(object(members, "it"));
  } catch (error) {
    if (error instanceof Refusal || isHoldfastError(error)) throw badLine(line.number, `is refused: ${error.message}`);
    throw error;
  }
}

type Members = Readonly<Record<string, unknown>>;

function readMembers(line: Members): ParsedLine {
  if (line.holdfast === "export") return { is: "header", header: readHeader(line) };
  if (typeof line.namespace === "string") return { is: "namespace", namespace: line.namespace, facts: readFacts(line) };
  if (line.op !== undefined) return { is: "record", record: readRow(line) };
  if (line.key !== undefined) return { is: "record", record: readKey(line) };
  if (line.request !== undefined) return { is: "record", record: readRequest(line) };
  if (line.end !== undefined) return { is: "end", counts: readCounts(line.end), sha256: short(line.sha256, "sha256") };
  throw new Refusal("its kind is unknown");
}

function readHeader({ format, made_by, as_of, namespaces }: Members): ExportHeader {
  return {
    format: whole(format, "format"),
    madeBy: short(made_by, "made_by"),
    asOf: short(as_of, "as_of"),
    namespaces: list(namespaces, "namespaces").map((name) => short(name, "namespace")),
  };
}

function readFacts(line: Members): NamespaceFacts {
  if (line.namespace !== systemNamespace) requireNamespace(line.namespace as string);
  const gaps = list(line.gaps, "gaps").map((gap) => {
    const [kept, base] = list(gap, "gap");
    return [whole(kept, "gap"), whole(base, "gap")] as const;
  });
  const facts = {
    revision: whole(line.revision, "revision"),
    clockMs: whole(line.clock_ms, "clock_ms"),
    compacted: whole(line.compacted, "compacted"),
    compactedAtMs: whole(line.compacted_at_ms, "compacted_at_ms"),
    versionFloor: whole(line.version_floor, "version_floor"),
    base: whole(line.base, "base"),
    gaps,
  };
  let end = 0;
  for (const [kept, base] of gaps) {
    if (kept < end || base <= kept || base > facts.base) throw new Refusal("gaps: must be in order and end at the base");
    end = base;
  }
  if (gaps.length > gapsMax || facts.compacted > facts.revision || facts.base > facts.revision || facts.compactedAtMs > facts.clockMs || facts.versionFloor > facts.revision)
    throw new Refusal("its numbers are inconsistent");
  if (facts.revision > limits.revisionMax) throw new Refusal(`revision: must be at most ${limits.revisionMax}`);
  return facts;
}

function readRow(line: Members): StoredLogRow {
  const [revision, seq] = logPositionIn(line.log);
  if (line.op !== "put" && line.op !== "delete" && line.op !== "expire") throw new Refusal("op: must be put, delete or expire");
  if ((line.op === "put") !== Object.hasOwn(line, "value")) throw new Refusal("value: required for put, not allowed otherwise");
  return {
    kind: "log",
    revision,
    seq,
    key: key(line.key),
    op: line.op,
    version: version(line.version, revision),
    json: line.op === "put" ? jsonText(line.value as Json) : undefined,
    expiresAtMs: optional(line.expires_at_ms, (at) => whole(at, "expires_at_ms")),
    createdAtMs: whole(line.created_at_ms, "created_at_ms"),
    atMs: whole(line.at_ms, "at_ms"),
    writer: label(line.writer, "writer"),
    agent: optional(line.agent, (agent) => label(agent, "agent")),
    record: optional(line.record, history),
    lapse: optional(line.lapse, history),
  };
}

function readKey(line: Members): StoredKey {
  const [revision, seq] = logPositionIn(line.log);
  if (typeof line.present !== "boolean") throw new Refusal("present: must be true or false");
  return { kind: "key", key: key(line.key), revision, seq, version: version(line.version, revision), present: line.present, index: optional(line.text, indexed) };
}

function indexed(value: unknown): IndexedText {
  const { area, length, terms } = object(value, "text");
  const pairs = list(terms, "terms").map((pair) => {
    const [term, weight] = list(pair, "term");
    return [short(term, "term"), positive(weight, "weight")] as const;
  });
  if (pairs.length > limits.indexTermsMax || new Set(pairs.map(([term]) => term)).size < pairs.length) throw new Refusal(`terms: each once, at most ${limits.indexTermsMax}`);
  const name = short(area, "area");
  if (name === "") throw new Refusal("area: must not be empty");
  return { area: name, length: whole(length, "length"), terms: pairs };
}

function readRequest(line: Members): StoredRequestKey {
  const name = short(line.request, "request");
  if (name === "" || Buffer.byteLength(name) > limits.requestKeyBytesMax) throw new Refusal(`request: must be 1 to ${limits.requestKeyBytesMax} bytes`);
  return {
    kind: "request",
    key: name,
    fingerprint: short(line.fingerprint, "fingerprint"),
    keptUntilMs: whole(line.kept_until_ms, "kept_until_ms"),
    outcome: outcome(line.outcome),
  };
}

function outcome(value: unknown): Committed {
  const { ok, revision, atMs, writes, replayed, note } = object(value, "outcome");
  const outcomes = list(writes, "writes").map((write): WriteOutcome => {
    const { version, existed, expiresAtMs } = object(write, "write");
    if (typeof existed !== "boolean") throw new Refusal("existed: must be true or false");
    const expiry = optional(expiresAtMs, (at) => whole(at, "expiresAtMs"));
    return { version: whole(version, "version"), existed, ...(expiry === undefined ? {} : { expiresAtMs: expiry }) };
  });
  if (ok !== true || replayed !== false || outcomes.length > limits.commitWritesMax) throw new Refusal("outcome: must be that of a commit");
  if (note !== undefined) jsonText(note as Json, "note");
  return { ok, revision: whole(revision, "revision"), atMs: whole(atMs, "atMs"), writes: outcomes, replayed, ...(note === undefined ? {} : { note: note as Json }) };
}

function readCounts(value: unknown): ExportCounts {
  const { log, keys, requests } = object(value, "end");
  return { log: whole(log, "log"), keys: whole(keys, "keys"), requests: whole(requests, "requests") };
}

function object(value: unknown, field: string): Members {
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Refusal(`${field}: must be an object`);
  return value as Members;
}

function list(value: unknown, field: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Refusal(`${field}: must be a list`);
  return value;
}

function whole(value: unknown, field: string): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw new Refusal(`${field}: must be a whole number, 0 or more`);
  return value as number;
}

function positive(value: unknown, field: string): number {
  if (whole(value, field) === 0) throw new Refusal(`${field}: must be a whole number, 1 or more`);
  return value as number;
}

/** A key has at most one version per revision. */
function version(value: unknown, revision: number): number {
  if (positive(value, "version") > revision) throw new Refusal("version: must not be above the revision");
  return value as number;
}

const optional = <T>(value: unknown, readOne: (value: unknown) => T): T | undefined => (value === undefined ? undefined : readOne(value));

function logPositionIn(value: unknown): [number, number] {
  const [revision, seq] = list(value, "log");
  if (whole(seq, "log") >= limits.commitRowsMax) throw new Refusal(`log: a revision has at most ${limits.commitRowsMax} rows`);
  return [positive(revision, "log"), seq as number];
}

/** A short text that every engine can store. */
function short(value: unknown, field: string): string {
  if (typeof value !== "string" || value.length > 4_096 || !value.isWellFormed() || value.includes("\0"))
    throw new Refusal(`${field}: must be well-formed text without NUL, at most 4096 characters`);
  return value;
}

function key(value: unknown): string {
  requireKey(value as string, "key", limits.engineKeyBytesMax);
  return value as string;
}

function label(value: unknown, field: string): string {
  requireKey(value as string, field);
  return value as string;
}

function history(value: unknown): HistoryRecord {
  const [kind, op, subject] = list(value, "record");
  return { kind: short(kind, "record"), op: short(op, "record"), subject: short(subject, "record") };
}
