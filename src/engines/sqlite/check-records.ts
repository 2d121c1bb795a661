import { logPositionOf, revisionAt, seqAt } from "../../ledger/log-position.ts";
import { damagedRecord, postingSum, requestSum, requireSum, termSum } from "../../ledger/record-sum.ts";
import { opCode } from "../../ledger/stored-row.ts";
import { follower } from "../../store/log-order.ts";
import type { Connection } from "./connection.ts";
import type { RawHead, RawLink } from "./key-chain.ts";
import { headRows, requireHead, requireLink } from "./key-chain.ts";
import { logId, positionIn } from "./log-id.ts";
import type { SqliteLogRow } from "./log-rows.ts";
import { keyName, logColumns, requireIntact, rowName } from "./log-rows.ts";
import type { SqliteNamespaceRow } from "./namespace-row.ts";
import { namespaceName, readNamespace } from "./namespace-row.ts";
import type { LiveRow } from "./read-entries.ts";
import { requireLive, summedLiveColumns } from "./read-entries.ts";
import { requestName } from "./stored-request.ts";
import { areaName, readAreas, requireDocument, termName } from "./text-index.ts";

const rowsPerFetch = 500;
/** The maximum number of damaged records in a report; with more than this, only a backup helps. */
const damagedMax = 50;

/** Receives the number of rows read since the last call. */
export type OnRows = (rows: number) => void;

/**
 * Inside one read transaction: reads every record, checks it against its checksum and against the records that must agree with it, and lists those that are
 * damaged or missing. The log and the entries are redundant, so a row missing from one of them shows up in the other.
 */
export function checkRecords(connection: Connection, onRows: OnRows = () => {}): readonly string[] {
  const damage = new Damage();
  // Without the index on names, because a damaged index would hide a namespace.
  const names = connection.statement("SELECT name FROM namespace NOT INDEXED ORDER BY id").all() as { readonly name: string }[];
  for (const { name } of names) {
    let space: SqliteNamespaceRow | undefined;
    damage.catch(() => {
      space = requireNamespaceRow(connection, name);
    });
    if (space === undefined) continue;
    checkHeads(connection, space, damage, onRows);
    checkEntries(connection, space, damage);
    checkLog(connection, space, damage, onRows);
    checkRequests(connection, space, damage, onRows);
    checkIndex(connection, space, damage, onRows);
  }
  return damage.records;
}

/** Looks the namespace up by name, as all other code does: a damaged name or index leads nowhere, or to another namespace. */
export function requireNamespaceRow(connection: Connection, name: string): SqliteNamespaceRow {
  const space = readNamespace(connection, name);
  if (space.id === 0) throw damagedRecord(namespaceName(name));
  return space;
}

/** Records that are being loaded from another store agree with each other only when all of them are there. */
const isFilling = ({ seal }: SqliteNamespaceRow): boolean => seal?.state === "filling";

class Damage {
  readonly #records = new Set<string>();

  get records(): readonly string[] {
    return [...this.#records];
  }

  /** Continues after a damaged record, up to `damagedMax` records. */
  catch(check: () => unknown): void {
    if (this.#records.size >= damagedMax) return;
    try {
      check();
    } catch (error) {
      const record = (error as { readonly details?: { readonly record?: unknown } }).details?.record;
      if (typeof record !== "string") throw error;
      this.#records.add(record);
    }
  }

  add(isWrong: boolean, record: string): void {
    if (isWrong && this.#records.size < damagedMax) this.#records.add(record);
  }
}

function checkHeads(connection: Connection, space: SqliteNamespaceRow, damage: Damage, onRows: OnRows): void {
  const page = connection.statement(`${headRows("k > ?2")} ORDER BY k LIMIT ${rowsPerFetch}`);
  let tombstones = 0;
  for (let after = "", more = true; more; ) {
    const heads = page.all(space.id, after) as RawHead[];
    for (const head of heads) {
      if (head.findable === null) tombstones += 1;
      damage.catch(() => checkHead(connection, space, head));
    }
    onRows(heads.length);
    after = heads.at(-1)?.k ?? "";
    more = heads.length === rowsPerFetch;
  }
  damage.add(tombstones !== space.tombstones, namespaceName(space.name));
  if (isFilling(space)) return;
  // Compared in SQL, because the rows themselves are verified one by one, here and by `checkLog`.
  const differing = connection
    .statement(
      `SELECT kv.k FROM kv LEFT JOIN log ON log.id = ${logId("kv.ns", "kv.place")} WHERE kv.ns = ?1 AND (log.id IS NULL OR log.k <> kv.k OR log.ver <> kv.ver OR log.op <> ${opCode.put})
       UNION ALL SELECT t.k FROM tombstone AS t LEFT JOIN log ON log.id = ${logId("t.ns", "t.place")}
       WHERE t.ns = ?1 AND iif(log.id IS NULL, t.place >= ?2, log.k <> t.k OR log.ver <> t.ver OR log.op = ${opCode.put}) LIMIT ${damagedMax}`,
    )
    // Compaction deletes rows that only record that a key was deleted.
    .all(space.id, logPositionOf(space.compacted + 1)) as { readonly k: string }[];
  for (const { k } of differing) damage.add(true, keyName(k));
}

/** Checks the part of the entries that reads return, which has its own sum. The rows were already counted as heads. */
function checkEntries(connection: Connection, { id }: SqliteNamespaceRow, damage: Damage): void {
  const page = connection.arrayStatement(`SELECT ${summedLiveColumns} FROM kv WHERE kv.ns = ? AND kv.k > ? ORDER BY kv.k LIMIT ${rowsPerFetch}`);
  for (let after = "", more = true; more; ) {
    const rows = page.all(id, after) as LiveRow[];
    for (const row of rows) damage.catch(() => requireLive(id, row, false));
    after = rows.at(-1)?.[1] ?? "";
    more = rows.length === rowsPerFetch;
  }
}

function checkHead(connection: Connection, space: SqliteNamespaceRow, head: RawHead): void {
  const { k, place, findable } = requireHead(space.id, head);
  if (findable === 1 && requireDocument(connection, space.id, k).place !== place) throw damagedRecord(keyName(k));
}

function checkLog(connection: Connection, space: SqliteNamespaceRow, damage: Damage, onRows: OnRows): void {
  const page = connection.statement(
    `SELECT ${logColumns(true)}, log.prev, log.jump, log.link_sum FROM log WHERE id > ${logId("?1", "?2")} AND id < ${logId("(?1 + 1)", "0")} ORDER BY id LIMIT ${rowsPerFetch}`,
  );
  const fits = follower(space, space.compacted);
  for (let after = 0, more = true; more; ) {
    const rows = page.all(space.id, after) as (SqliteLogRow & RawLink)[];
    for (const row of rows) {
      damage.add(!isFilling(space) && !fits(revisionAt(row.place), seqAt(row.place)), rowName(row.place));
      damage.catch(() => {
        requireLink(space.id, requireIntact(space.id, row) as SqliteLogRow & RawLink);
      });
    }
    onRows(rows.length);
    after = rows.at(-1)?.place ?? 0;
    more = rows.length === rowsPerFetch;
  }
  if (isFilling(space)) return;
  // Every key in the log has an entry or a tombstone, at its newest row.
  const headless = connection
    .statement(
      `SELECT DISTINCT log.k FROM log LEFT JOIN kv ON kv.ns = ?1 AND kv.k = log.k LEFT JOIN tombstone AS t ON t.ns = ?1 AND t.k = log.k
       WHERE log.id >= ${logId("?1", "0")} AND log.id < ${logId("(?1 + 1)", "0")} AND coalesce(kv.place, t.place, -1) < ${positionIn("log.id")} LIMIT ${damagedMax}`,
    )
    .all(space.id) as { readonly k: string }[];
  for (const { k } of headless) damage.add(true, keyName(k));
}

function checkRequests(connection: Connection, { id }: SqliteNamespaceRow, damage: Damage, onRows: OnRows): void {
  const page = connection.statement(`SELECT key, fingerprint, kept_until, outcome, sum FROM request WHERE ns = ? AND key > ? ORDER BY key LIMIT ${rowsPerFetch}`);
  for (let after = "", more = true; more; ) {
    const rows = page.all(id, after) as { readonly key: string; readonly fingerprint: string; readonly kept_until: number; readonly outcome: string; readonly sum: number }[];
    for (const { key, fingerprint, kept_until, outcome, sum } of rows) damage.catch(() => requireSum(requestSum(id, key, fingerprint, kept_until, outcome), sum, requestName, key));
    onRows(rows.length);
    after = rows.at(-1)?.key ?? "";
    more = rows.length === rowsPerFetch;
  }
}

interface PostingRow {
  readonly term: string;
  readonly place: number;
  readonly weight: number;
  readonly length: number;
  readonly sum: number;
}

function checkIndex(connection: Connection, { id }: SqliteNamespaceRow, damage: Damage, onRows: OnRows): void {
  damage.catch(() => {
    for (const area of readAreas(connection, id)) checkArea(connection, area, damage, onRows);
  });
}

function checkArea(
  connection: Connection,
  area: { readonly id: number; readonly name: string; readonly documents: number; readonly length: number },
  damage: Damage,
  onRows: OnRows,
): void {
  const page = connection.statement(`SELECT term, place, weight, length, sum FROM posting WHERE area = ?1 AND (term, place) > (?2, ?3) ORDER BY term, place LIMIT ${rowsPerFetch}`);
  for (let [term, logPosition, more] = ["", 0, true]; more; ) {
    const rows = page.all(area.id, term, logPosition) as PostingRow[];
    for (const row of rows) damage.catch(() => requireSum(postingSum(termSum(area.id, row.term), row.place, row.weight, row.length), row.sum, termName, row.term));
    onRows(rows.length);
    term = rows.at(-1)?.term ?? "";
    logPosition = rows.at(-1)?.place ?? 0;
    more = rows.length === rowsPerFetch;
  }
  checkTerms(connection, area.id, damage, onRows);
  const { documents } = connection.statement("SELECT count(*) AS documents FROM document WHERE area = ?").get(area.id) as { readonly documents: number };
  damage.add(documents !== area.documents, areaName(area.name));
}

function checkTerms(connection: Connection, areaId: number, damage: Damage, onRows: OnRows): void {
  const counted = "SELECT count(*) FROM posting WHERE posting.area = term.area AND posting.term = term.term";
  const page = connection.statement(`SELECT term, documents, sum, (${counted}) AS counted FROM term WHERE area = ? AND term > ? ORDER BY term LIMIT ${rowsPerFetch}`);
  for (let after = "", more = true; more; ) {
    const rows = page.all(areaId, after) as { readonly term: string; readonly documents: number; readonly sum: number; readonly counted: number }[];
    for (const { term, documents, sum, counted: found } of rows)
      damage.catch(() => {
        requireSum(termSum(areaId, term) - documents, sum, termName, term);
        if (found !== documents) throw damagedRecord(termName(term));
      });
    onRows(rows.length);
    after = rows.at(-1)?.term ?? "";
    more = rows.length === rowsPerFetch;
  }
}
