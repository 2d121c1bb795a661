import { HoldfastError } from "../../kernel/errors.ts";
import { pageOf, requireFilling, requireKept } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import { placeOf, revisionAt, seqAt } from "../../store/place.ts";
import { compareKeys } from "../../store/ranges.ts";
import type { Committed, DumpPage, DumpQuery, IndexedText, LogRow, NamespaceFacts, StoredKey, StoredLogRow, StoredRecord, StoredRequestKey } from "../../store/store.ts";
import type { Batch, BatchStatements } from "./commit-batch.ts";
import type { Connection } from "./connection.ts";
import { logId, placeIn } from "./log-id.ts";
import type { RawLogRow } from "./log-rows.ts";
import { logColumns, ops, parseLapse, recordOf } from "./log-rows.ts";
import type { NamespaceRow } from "./namespace-row.ts";
import { readNamespace, writeFacts, writeNamespace } from "./namespace-row.ts";
import { addDocument } from "./text-index.ts";

/** Rows fetched at once: a page is cut by its bytes, and values may be long. */
const rowsPerFetch = 32;

/** Inside one read transaction. */
export function dumpPage(connection: Connection, space: NamespaceRow, query: DumpQuery): DumpPage {
  const { id: _id, tombstones: _tombstones, ...facts } = space;
  if (query.part === "keys") return { facts, ...pageOf(keysAfter(connection, space.id, query.after)) };
  if (query.part === "requests") return { facts, ...pageOf(requestsAfter(connection, space.id, query.after)) };
  if (query.part === "log") return { facts, ...pageOf(rowsAfter(connection, space.id, query.after)) };
  requireKept(query.after, space);
  const page = pageOf(rowsAfter(connection, space.id, query.after));
  const touched = [...new Set(page.records.map(({ key }) => key))].sort(compareKeys);
  return { facts, records: [...page.records, ...touched.flatMap((key) => readKey(connection, space.id, key) ?? [])], done: page.done };
}

/** Fetches piece by piece, so that nobody reads more than a page takes. */
function* inPieces<Row>(fetch: (last: Row | undefined) => Row[]): Generator<Row> {
  for (let rows = fetch(undefined); rows.length > 0; rows = fetch(rows.at(-1))) {
    yield* rows;
    if (rows.length < rowsPerFetch) return;
  }
}

function* rowsAfter(connection: Connection, namespaceId: number, after: number): Generator<StoredLogRow> {
  type Row = RawLogRow & { readonly lapse: string | null };
  const page = connection.statement(
    `SELECT ${logColumns(true)}, log.lapse FROM log WHERE id >= ${logId("?1", "?2")} AND id < ${logId("(?1 + 1)", "0")} ORDER BY id LIMIT ${rowsPerFetch}`,
  );
  for (const row of inPieces<Row>((last) => page.all(namespaceId, last === undefined ? placeOf(after + 1) : last.place + 1) as Row[]))
    yield {
      kind: "log",
      revision: revisionAt(row.place),
      seq: seqAt(row.place),
      key: row.k,
      op: ops[row.op] as LogRow["op"],
      version: row.ver,
      json: row.v ?? undefined,
      expiresAtMs: row.exp ?? undefined,
      createdAtMs: row.created,
      atMs: row.at,
      writer: row.writer,
      agent: row.agent ?? undefined,
      record: recordOf(row),
      lapse: parseLapse(row.lapse),
    };
}

interface RawKey {
  readonly k: string;
  readonly place: number;
  readonly ver: number;
  readonly present: number;
  readonly findable: number;
}

const rawKeys = (where: string): string =>
  `SELECT k, place, ver, 1 AS present, findable FROM kv WHERE ns = ?1 AND ${where} UNION ALL SELECT k, place, ver, 0, 0 FROM tombstone WHERE ns = ?1 AND ${where}`;

function* keysAfter(connection: Connection, namespaceId: number, after: string | undefined): Generator<StoredKey> {
  const page = connection.statement(`${rawKeys("k > ?2")} ORDER BY k LIMIT ${rowsPerFetch}`);
  for (const row of inPieces<RawKey>((last) => page.all(namespaceId, last?.k ?? after ?? "") as RawKey[])) yield toKey(connection, namespaceId, row);
}

function readKey(connection: Connection, namespaceId: number, key: string): StoredKey | undefined {
  const row = connection.statement(rawKeys("k = ?2")).get(namespaceId, key) as RawKey | undefined;
  return row && toKey(connection, namespaceId, row);
}

const toKey = (connection: Connection, namespaceId: number, { k, place, ver, present, findable }: RawKey): StoredKey => ({
  kind: "key",
  key: k,
  revision: revisionAt(place),
  seq: seqAt(place),
  version: ver,
  present: present === 1,
  index: findable === 1 ? readIndex(connection, namespaceId, k) : undefined,
});

function readIndex(connection: Connection, namespaceId: number, key: string): IndexedText {
  const document = connection
    .statement("SELECT d.area, d.place, d.length, d.terms, a.name FROM document AS d JOIN area AS a ON a.id = d.area WHERE d.ns = ? AND d.k = ?")
    .get(namespaceId, key) as { readonly area: number; readonly place: number; readonly length: number; readonly terms: string; readonly name: string };
  const terms = connection
    .arrayStatement("SELECT t.value, p.weight FROM json_each(?) AS t CROSS JOIN posting AS p ON p.area = ? AND p.term = t.value AND p.place = ? ORDER BY t.key")
    .all(document.terms, document.area, document.place) as [string, number][];
  return { area: document.name, terms, length: document.length };
}

function* requestsAfter(connection: Connection, namespaceId: number, after: { readonly keptUntilMs: number; readonly key?: string }): Generator<StoredRequestKey> {
  type Row = { readonly key: string; readonly fingerprint: string; readonly kept_until: number; readonly outcome: string };
  const page = connection.statement(
    `SELECT key, fingerprint, kept_until, outcome FROM request INDEXED BY request_by_age WHERE ns = ? AND (kept_until, key) > (?, ?) ORDER BY kept_until, key LIMIT ${rowsPerFetch}`,
  );
  // No request key is empty.
  const rows = inPieces<Row>((last) => page.all(namespaceId, last?.kept_until ?? after.keptUntilMs, last?.key ?? after.key ?? "") as Row[]);
  for (const { key, fingerprint, kept_until, outcome } of rows) yield { kind: "request", key, fingerprint, keptUntilMs: kept_until, outcome: JSON.parse(outcome) as Committed };
}

/** Inside one write transaction. `batch` is of the same one. */
export function loadRecords(
  connection: Connection,
  statements: BatchStatements,
  batch: Batch,
  name: string,
  records: readonly StoredRecord[],
  facts: NamespaceFacts | undefined,
  by: string | undefined,
): void {
  requireFilling(batch.seal, by);
  loadRows(
    connection,
    batch,
    readNamespace(connection, name).id,
    records.filter((record) => record.kind === "log"),
  );
  batch.finish();
  const space = readNamespace(connection, name);
  const tombstones = space.tombstones;
  for (const record of records) {
    if (record.kind === "key") loadKey(connection, statements, space, record);
    else if (record.kind === "request") statements.keepRequest.run(space.id, record.key, record.fingerprint, record.keptUntilMs, JSON.stringify(record.outcome));
  }
  if (space.tombstones !== tombstones) writeNamespace(connection, space);
  if (facts === undefined) return;
  if (facts.revision > limits.revisionMax) throw new HoldfastError("limit_exceeded", `Revision ${facts.revision} is above what a SQLite store can number (${limits.revisionMax}).`);
  writeFacts(connection, space, facts);
}

function loadRows(connection: Connection, batch: Batch, namespaceId: number, rows: readonly StoredLogRow[]): void {
  const isThere = connection.statement(`SELECT 1 FROM log WHERE id = ${logId("?1", "?2")}`);
  const { place } = connection.statement(`SELECT ${placeIn("max(id)")} AS place FROM log WHERE id >= ${logId("?1", "0")} AND id < ${logId("(?1 + 1)", "0")}`).get(namespaceId) as {
    readonly place: number | null;
  };
  let newest = place ?? 0;
  for (const row of rows) {
    const wanted = placeOf(row.revision, row.seq);
    if (wanted > newest) {
      batch.adopt(row);
      newest = wanted;
    } else if (isThere.get(namespaceId, wanted) === undefined)
      throw new HoldfastError("invalid_input", `records: log row ${row.revision}.${row.seq} comes after ${revisionAt(newest)}.${seqAt(newest)}; rows must be in order`);
  }
}

function loadKey(connection: Connection, statements: BatchStatements, space: NamespaceRow, { key, revision, seq, version, present, index }: StoredKey): void {
  const place = placeOf(revision, seq);
  const found = connection.statement(rawKeys("k = ?2")).get(space.id, key) as RawKey | undefined;
  if (!present) {
    // What the log told of the key is never less right: a page of the walk may be of later, and then the log brings it too.
    if (found !== undefined) return;
    statements.bury.run(space.id, key, place, null, version);
    space.tombstones += 1;
    return;
  }
  // A page of the walk may be older than the log that was loaded since: then a later page brings the text.
  if (index === undefined || found?.place !== place || found.findable === 1) return;
  addDocument(connection, space.id, key, place, index);
  connection.statement("UPDATE kv SET findable = 1 WHERE ns = ? AND k = ?").run(space.id, key);
}

/** Rows removed of each table by one transaction. */
const clearedPerSlice = 2_000;

const ofArea = "area IN (SELECT id FROM area WHERE ns = ?1)";
const clearing: readonly (readonly [table: string, key: string, where: string])[] = [
  ["posting", "area, term, place", ofArea],
  ["term", "area, term", ofArea],
  ["document", "ns, k", "ns = ?1"],
  ["kv", "ns, k", "ns = ?1"],
  ["tombstone", "ns, k", "ns = ?1"],
  ["request", "ns, key", "ns = ?1"],
  ["log", "id", `id >= ${logId("?1", "0")} AND id < ${logId("(?1 + 1)", "0")}`],
];

/** Inside one write transaction: one slice. Says whether anything is left; the last slice takes the seal away. */
export function clearSlice(connection: Connection, space: NamespaceRow): { readonly more: boolean } {
  requireFilling(space.seal);
  const { id } = space;
  for (const [table, key, where] of clearing) {
    const removed = connection.statement(`DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${where} LIMIT ${clearedPerSlice})`).run(id);
    if (Number(removed.changes) > 0) return { more: true };
  }
  connection.statement("DELETE FROM area WHERE ns = ?").run(id);
  connection.statement("UPDATE namespace SET compacted = 0, compacted_at = 0, version_floor = 0, tombstones = 0, aside = NULL WHERE id = ?").run(id);
  return { more: false };
}
