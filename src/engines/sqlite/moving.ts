import { RecordLoadPlan, requireLoadable } from "../../ledger/load-plan.ts";
import { logPositionOf, revisionAt, seqAt } from "../../ledger/log-position.ts";
import { damagedRecord, postingSum, requestSum, requireSum, sealedJson, termSum } from "../../ledger/record-sum.ts";
import { opOf, parseLapse, recordOf } from "../../ledger/stored-row.ts";
import { pageOf, requireFilling, requireKept } from "../../store/engine-rules.ts";
import { compareKeys } from "../../store/ranges.ts";
import type { Committed, DumpPage, DumpQuery, IndexedText, NamespaceFacts, StoredKey, StoredLogRow, StoredRecord, StoredRequestKey } from "../../store/store.ts";
import type { Batch } from "./commit-batch.ts";
import type { Connection } from "./connection.ts";
import type { RawHead } from "./key-chain.ts";
import { headRows, readHead, requireHead } from "./key-chain.ts";
import { logId, positionIn } from "./log-id.ts";
import type { SqliteLogRow } from "./log-rows.ts";
import { keyName, logColumns, requireIntact } from "./log-rows.ts";
import type { SqliteNamespaceRow } from "./namespace-row.ts";
import { resetNamespaceRow, writeFacts } from "./namespace-row.ts";
import { requestName } from "./stored-request.ts";
import { readAreas, requireDocument } from "./text-index.ts";

/** Rows fetched at once: a page is cut by its bytes, and values may be long. */
const rowsPerFetch = 32;

/** Inside one read transaction. */
export function dumpPage(connection: Connection, space: SqliteNamespaceRow, query: DumpQuery): DumpPage {
  const { id: _id, name: _name, tombstones: _tombstones, ...facts } = space;
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
  const page = connection.statement(`SELECT ${logColumns(true)} FROM log WHERE id >= ${logId("?1", "?2")} AND id < ${logId("(?1 + 1)", "0")} ORDER BY id LIMIT ${rowsPerFetch}`);
  for (const row of inPieces<SqliteLogRow>((last) => page.all(namespaceId, last === undefined ? logPositionOf(after + 1) : last.place + 1) as SqliteLogRow[])) {
    requireIntact(namespaceId, row);
    yield {
      kind: "log",
      revision: revisionAt(row.place),
      seq: seqAt(row.place),
      key: row.k,
      op: opOf(row.op),
      version: row.ver,
      json: sealedJson(row.v as string),
      expiresAtMs: row.exp ?? undefined,
      createdAtMs: row.created,
      atMs: row.at,
      writer: row.writer,
      agent: row.agent ?? undefined,
      record: recordOf(row.kind, row.act, row.subject),
      lapse: parseLapse(row.lapse),
    };
  }
}

function* keysAfter(connection: Connection, namespaceId: number, after: string | undefined): Generator<StoredKey> {
  const page = connection.statement(`${headRows("k > ?2")} ORDER BY k LIMIT ${rowsPerFetch}`);
  for (const row of inPieces<RawHead>((last) => page.all(namespaceId, last?.k ?? after ?? "") as RawHead[])) yield toKey(connection, namespaceId, requireHead(namespaceId, row));
}

function readKey(connection: Connection, namespaceId: number, key: string): StoredKey | undefined {
  const row = readHead(connection, namespaceId, key);
  return row && toKey(connection, namespaceId, row);
}

const toKey = (connection: Connection, namespaceId: number, { k, place, ver, findable }: RawHead): StoredKey => ({
  kind: "key",
  key: k,
  revision: revisionAt(place),
  seq: seqAt(place),
  version: ver,
  present: findable !== null,
  index: findable === 1 ? readIndex(connection, namespaceId, k) : undefined,
});

function readIndex(connection: Connection, namespaceId: number, key: string): IndexedText {
  const document = requireDocument(connection, namespaceId, key);
  const area = readAreas(connection, namespaceId).find(({ id }) => id === document.area);
  if (area === undefined) throw damagedRecord(keyName(key));
  const terms = connection
    .arrayStatement("SELECT t.value, p.weight, p.length, p.sum FROM json_each(?) AS t LEFT JOIN posting AS p ON p.area = ? AND p.term = t.value AND p.place = ? ORDER BY t.key")
    .all(document.terms, document.area, document.place) as [string, number, number, number][];
  for (const [term, weight, length, sum] of terms) requireSum(postingSum(termSum(document.area, term), document.place, weight, length), sum, keyName, key);
  return { area: area.name, terms: terms.map(([term, weight]) => [term, weight]), length: document.length };
}

function* requestsAfter(connection: Connection, namespaceId: number, after: { readonly keptUntilMs: number; readonly key?: string }): Generator<StoredRequestKey> {
  type Row = { readonly key: string; readonly fingerprint: string; readonly kept_until: number; readonly outcome: string; readonly sum: number };
  const page = connection.statement(
    `SELECT key, fingerprint, kept_until, outcome, sum FROM request INDEXED BY request_by_age WHERE ns = ? AND (kept_until, key) > (?, ?) ORDER BY kept_until, key LIMIT ${rowsPerFetch}`,
  );
  // No request key is empty.
  const rows = inPieces<Row>((last) => page.all(namespaceId, last?.kept_until ?? after.keptUntilMs, last?.key ?? after.key ?? "") as Row[]);
  for (const { key, fingerprint, kept_until, outcome, sum } of rows) {
    requireSum(requestSum(namespaceId, key, fingerprint, kept_until, outcome), sum, requestName, key);
    yield { kind: "request", key, fingerprint, keptUntilMs: kept_until, outcome: JSON.parse(outcome) as Committed };
  }
}

/** Inside one write transaction. `batch` is of the same one. */
export function loadRecords(connection: Connection, batch: Batch, records: readonly StoredRecord[], facts: NamespaceFacts | undefined, by: string | undefined): void {
  const { space } = batch;
  requireFilling(space.seal, by);
  const isThere = connection.statement(`SELECT 1 FROM log WHERE id = ${logId("?1", "?2")}`);
  const { newest } = connection
    .statement(`SELECT ${positionIn("max(id)")} AS newest FROM log WHERE id >= ${logId("?1", "0")} AND id < ${logId("(?1 + 1)", "0")}`)
    .get(space.id) as {
    readonly newest: number | null;
  };
  batch.writeLoaded(new RecordLoadPlan(batch.plan, records, { newest: newest ?? 0, has: (logPosition) => isThere.get(space.id, logPosition) !== undefined }));
  batch.write();
  if (facts !== undefined) writeFacts(connection, space, requireLoadable(facts));
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
export function clearSlice(connection: Connection, space: SqliteNamespaceRow): { readonly more: boolean } {
  requireFilling(space.seal);
  const { id } = space;
  for (const [table, key, where] of clearing) {
    const removed = connection.statement(`DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${where} LIMIT ${clearedPerSlice})`).run(id);
    if (Number(removed.changes) > 0) return { more: true };
  }
  connection.statement("DELETE FROM area WHERE ns = ?").run(id);
  resetNamespaceRow(connection, space);
  return { more: false };
}
