import { logPositionOf, revisionAt, seqAt } from "../../ledger/log-position.ts";
import { damagedRecord, postingSum, requestSum, requireSum, sealedJson, termSum } from "../../ledger/record-sum.ts";
import { opOf, parseLapse, recordOf } from "../../ledger/stored-row.ts";
import type { Committed, IndexedText, StoredKey, StoredLogRow, StoredRequestKey } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import type { RawHead } from "./key-chain.ts";
import { headRows, readHead, requireHead } from "./key-chain.ts";
import { logId } from "./log-id.ts";
import type { SqliteLogRow } from "./log-rows.ts";
import { keyName, logColumns, requireIntact } from "./log-rows.ts";
import type { SqliteNamespaceRow } from "./namespace-row.ts";
import { resetNamespaceRow } from "./namespace-row.ts";
import { requestName } from "./stored-request.ts";
import { readAreas, requireDocument } from "./text-index.ts";

/** Rows per fetch. Small, because a page is cut by its bytes and values may be long. */
const rowsPerFetch = 32;

/** Fetches in small parts, so that a caller does not read more than a page needs. */
function* inPieces<Row>(fetch: (last: Row | undefined) => Row[]): Generator<Row> {
  for (let rows = fetch(undefined); rows.length > 0; rows = fetch(rows.at(-1))) {
    yield* rows;
    if (rows.length < rowsPerFetch) return;
  }
}

export function* readStoredRows(connection: Connection, namespaceId: number, after: number): Generator<StoredLogRow> {
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

export function* readKeysAfter(connection: Connection, namespaceId: number, after: string | undefined): Generator<StoredKey> {
  const page = connection.statement(`${headRows("k > ?2")} ORDER BY k LIMIT ${rowsPerFetch}`);
  for (const row of inPieces<RawHead>((last) => page.all(namespaceId, last?.k ?? after ?? "") as RawHead[])) yield toKey(connection, namespaceId, requireHead(namespaceId, row));
}

export function readStoredKey(connection: Connection, namespaceId: number, key: string): StoredKey | undefined {
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

export function* readStoredRequests(connection: Connection, namespaceId: number, after: { readonly keptUntilMs: number; readonly key?: string }): Generator<StoredRequestKey> {
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

/** Rows that one transaction removes from each table. */
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

/** Inside one write transaction: clears one slice. Returns whether anything is left; the last slice removes the seal. */
export function clearSlice(connection: Connection, space: SqliteNamespaceRow): boolean {
  const { id } = space;
  for (const [table, key, where] of clearing) {
    const removed = connection.statement(`DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${where} LIMIT ${clearedPerSlice})`).run(id);
    if (Number(removed.changes) > 0) return true;
  }
  connection.statement("DELETE FROM area WHERE ns = ?").run(id);
  resetNamespaceRow(connection, space);
  return false;
}
