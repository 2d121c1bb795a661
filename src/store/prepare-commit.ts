import { HoldfastError, invalidInput } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";
import { limits } from "./limits.ts";
import { requireJson } from "./require-json.ts";
import type { Commit, IndexedText, NewText, PreparedCommit, PreparedWrite } from "./store.ts";

/**
 * The only validator in front of the engines: it decides which keys and values are valid, so that engines cannot differ.
 * Lone surrogates and NUL are rejected in keys (engines disagree on them) and stored exactly in values (JSON escapes them).
 */
export function prepareCommit(commit: Commit): PreparedCommit {
  const checks = commit.checks ?? [];
  if (commit.writes.length > limits.commitWritesMax) throw tooMany("writes", commit.writes.length, limits.commitWritesMax);
  if (checks.length > limits.commitChecksMax) throw tooMany("checks", checks.length, limits.commitChecksMax);
  requireLabel(commit.writer, "writer");
  if (commit.agent !== undefined) requireLabel(commit.agent, "agent_id");
  for (const check of checks) requireKey(check.key, "key", limits.engineKeyBytesMax);
  const seen = new Set<string>();
  const writes: PreparedWrite[] = [];
  let bytes = 0;
  for (const write of commit.writes) {
    requireKey(write.key, "key", limits.engineKeyBytesMax);
    if (seen.has(write.key)) throw invalidInput("key", `each key may be written once per commit; ${quote(write.key)} appears twice`);
    seen.add(write.key);
    if (write.op === "delete") {
      writes.push(write);
      bytes += Buffer.byteLength(write.key);
      continue;
    }
    const { value, ...rest } = write;
    const json = jsonText(value);
    if (rest.ttlMs !== undefined) requireTtl(rest.ttlMs);
    bytes += Buffer.byteLength(json) + Buffer.byteLength(write.key);
    if (rest.index !== undefined) requireIndex(rest.index);
    // Whole milliseconds, rounded up: an entry never expires early.
    writes.push(rest.ttlMs === undefined ? { ...rest, json } : { ...rest, json, ttlMs: Math.ceil(rest.ttlMs) });
  }
  if (bytes > limits.commitBytesMax) throw new HoldfastError("limit_exceeded", `One commit may carry ${limits.commitBytesMax} bytes; this one has ${bytes}.`);
  if (commit.request !== undefined) {
    requireRequestKey(commit.request.key);
    jsonText(commit.request.note, "answer kept under the request key");
  }
  return { checks, writes, writer: commit.writer, agent: commit.agent, request: commit.request, bytes };
}

export function requireKey(key: string, field = "key", bytesMax: number = limits.keyBytesMax): void {
  if (typeof key !== "string" || key.length === 0) throw invalidInput(field, "must be a non-empty string");
  if (key.includes("\0")) throw invalidInput(field, "must not contain the NUL character");
  if (!key.isWellFormed()) throw invalidInput(field, "must be well-formed Unicode (it contains a lone surrogate)");
  // A UTF-16 unit takes at most three bytes, so short keys need no counting.
  if (key.length * 3 > bytesMax && Buffer.byteLength(key) > bytesMax)
    throw new HoldfastError("limit_exceeded", `${field}: may have ${bytesMax} bytes in UTF-8; this one has ${Buffer.byteLength(key)}`, { details: { field } });
}

/** Every log row names its writer, so the same rules apply as for a key: every engine supports those limits. */
const requireLabel = (label: string, field: string): void => requireKey(label, field);

export function requireTtl(ttlMs: number, field = "ttl"): void {
  if (!Number.isFinite(ttlMs) || ttlMs < limits.ttlMsMin || ttlMs > limits.ttlMsMax)
    throw invalidInput(field, `must be between ${limits.ttlMsMin} ms and ${limits.ttlMsMax} ms (ten years)`);
}

/** Our own tokenizer creates the index, never a caller, so a violation is a bug rather than bad input. */
function requireIndex({ area, terms, length }: IndexedText): void {
  if (terms.length > limits.indexTermsMax) throw tooMany("index terms", terms.length, limits.indexTermsMax);
  const isWhole = Number.isSafeInteger(length) && terms.every(([term, weight]) => Number.isSafeInteger(weight) && weight > 0 && term.isWellFormed() && !term.includes("\0"));
  if (!isWhole || area === "") throw new HoldfastError("internal", "An entry's search terms are not well formed.");
}

export function requireNewTexts(texts: readonly NewText[]): void {
  if (texts.length > limits.commitWritesMax) throw tooMany("texts", texts.length, limits.commitWritesMax);
  for (const { index } of texts) requireIndex(index);
}

function requireRequestKey(key: string): void {
  if (key.length === 0 || Buffer.byteLength(key) > limits.requestKeyBytesMax || key.includes("\0") || !key.isWellFormed())
    throw invalidInput("request key", `must be 1 to ${limits.requestKeyBytesMax} bytes of well-formed text without NUL`);
}

/** The JSON text of a value. Throws, with the reason, unless the whole value is valid JSON and within limits. */
export function jsonText(value: Json, field = "value"): string {
  requireJson(value, field);
  const text = JSON.stringify(value);
  if (text.length * 3 > limits.valueBytesMax) {
    const bytes = Buffer.byteLength(text);
    if (bytes > limits.valueBytesMax)
      throw new HoldfastError("limit_exceeded", `${field}: may have ${limits.valueBytesMax} bytes as JSON; this one has ${bytes}`, { details: { field } });
  }
  return text;
}

const tooMany = (what: string, count: number, max: number): HoldfastError =>
  new HoldfastError("limit_exceeded", `${what}: one commit may carry ${max}; this one has ${count}`, { details: { field: what } });

const quote = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
