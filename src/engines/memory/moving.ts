import { HoldfastError } from "../../kernel/errors.ts";
import { pageOf, requireFilling, requireKept } from "../../store/engine-rules.ts";
import { compareKeys } from "../../store/ranges.ts";
import type { DumpPage, DumpQuery, NamespaceFacts, StoredKey, StoredLogRow, StoredRecord, StoredRequestKey } from "../../store/store.ts";
import type { Row } from "./namespace.ts";
import { lowerBound, Namespace } from "./namespace.ts";

/** Moving a namespace, in the specification: dumps its records, and loads those of another store. */
export function dumpNamespace(space: Namespace, query: DumpQuery): DumpPage {
  const { revision, clockMs, compacted, compactedAtMs, versionFloor, base, gaps, seal } = space;
  const facts: NamespaceFacts = { revision, clockMs, compacted, compactedAtMs, versionFloor, base, gaps, seal };
  if (query.part === "changes") {
    requireKept(query.after, space);
    const page = pageOf(space.log.filter((row) => row.revision > query.after).map(storedRow));
    const touched = [...new Set(page.records.map(({ key }) => key))].sort(compareKeys);
    return { facts, records: [...page.records, ...touched.flatMap((key) => storedKey(space, key) ?? [])], done: page.done };
  }
  return { facts, ...pageOf(recordsOf(space, query)) };
}

function recordsOf(space: Namespace, query: Exclude<DumpQuery, { part: "changes" }>): StoredRecord[] {
  if (query.part === "log") return space.log.filter((row) => row.revision > query.after).map(storedRow);
  if (query.part === "keys") {
    const { after } = query;
    const keys = [...space.keys, ...space.tombstones.keys()].filter((key) => after === undefined || compareKeys(key, after) > 0);
    return keys.sort(compareKeys).flatMap((key) => storedKey(space, key) ?? []);
  }
  const { keptUntilMs, key } = query.after;
  return [...space.requests]
    .map(([name, request]): StoredRequestKey => ({ kind: "request", key: name, ...request }))
    .filter((request) => request.keptUntilMs > keptUntilMs || (request.keptUntilMs === keptUntilMs && (key === undefined || compareKeys(request.key, key) > 0)))
    .sort((a, b) => a.keptUntilMs - b.keptUntilMs || compareKeys(a.key, b.key));
}

const storedRow = ({ index: _index, ...row }: Row): StoredLogRow => ({ kind: "log", ...row });

function storedKey(space: Namespace, key: string): StoredKey | undefined {
  const row = space.entries.get(key);
  if (row !== undefined) return { kind: "key", key, revision: row.revision, seq: row.seq, version: row.version, present: true, index: row.index };
  const gone = space.tombstones.get(key);
  return gone && { kind: "key", key, ...gone, present: false };
}

export function loadRecords(space: Namespace, records: readonly StoredRecord[], facts: NamespaceFacts | undefined, by: string | undefined): void {
  requireFilling(space.seal, by);
  for (const record of records) {
    if (record.kind === "log") loadRow(space, record);
    else if (record.kind === "key") loadKey(space, record);
    else space.requests.set(record.key, { fingerprint: record.fingerprint, outcome: record.outcome, keptUntilMs: record.keptUntilMs });
  }
  const oldestFirst = [...space.tombstones].sort(([, a], [, b]) => a.revision - b.revision || a.seq - b.seq);
  space.tombstones.clear();
  for (const [key, gone] of oldestFirst) space.tombstones.set(key, gone);
  if (facts !== undefined) {
    const { seal: _seal, ...own } = facts;
    Object.assign(space, own);
  }
}

export function clearNamespace(space: Namespace): void {
  requireFilling(space.seal);
  const { revision, compacted, compactedAtMs, clockMs, shownMs, versionFloor, base, gaps, seal, log } = new Namespace();
  Object.assign(space, { revision, compacted, compactedAtMs, clockMs, shownMs, versionFloor, base, gaps, seal, log });
  space.keys.length = 0;
  for (const records of [space.entries, space.tombstones, space.requests]) records.clear();
}

function loadRow(space: Namespace, { kind: _kind, ...stored }: StoredLogRow): void {
  const newest = space.log.at(-1);
  if (newest !== undefined && (newest.revision > stored.revision || (newest.revision === stored.revision && newest.seq >= stored.seq))) {
    if (space.log.some((row) => row.revision === stored.revision && row.seq === stored.seq)) return;
    throw new HoldfastError("invalid_input", `records: log row ${stored.revision}.${stored.seq} comes after ${newest.revision}.${newest.seq}; rows must be in order`);
  }
  const row: Row = { ...stored, json: stored.json };
  space.log.push(row);
  space.revision = Math.max(space.revision, row.revision);
  space.clockMs = Math.max(space.clockMs, row.atMs);
  const was = space.entries.has(row.key);
  if (row.op === "put") {
    space.tombstones.delete(row.key);
    space.entries.set(row.key, row);
    if (!was) space.keys.splice(lowerBound(space.keys, row.key), 0, row.key);
    return;
  }
  if (was) space.keys.splice(lowerBound(space.keys, row.key), 1);
  space.entries.delete(row.key);
  space.tombstones.set(row.key, { version: row.version, revision: row.revision, seq: row.seq });
}

function loadKey(space: Namespace, { key, revision, seq, version, present, index }: StoredKey): void {
  const row = space.entries.get(key);
  if (!present) {
    // The log is authoritative for this key. A page of keys may have been read later than the log rows, but then the log brings the deletion too.
    if (row === undefined && !space.tombstones.has(key)) space.tombstones.set(key, { version, revision, seq });
    return;
  }
  // The page may be older than the log rows loaded since it was read. In that case a later page brings the text.
  if (row === undefined || row.revision !== revision || row.seq !== seq) return;
  const found: Row = { ...row, index };
  space.entries.set(key, found);
  space.log[space.log.indexOf(row)] = found;
}
