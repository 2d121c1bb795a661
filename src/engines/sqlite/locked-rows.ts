import type { LoadedLog, RecordLoadPlan } from "../../ledger/load-plan.ts";
import type { BatchPlan, BatchSource, ChangedSlot, PlannedRow, StoredSlot, Tombstone } from "../../ledger/plan-batch.ts";
import { jumps } from "../../ledger/plan-batch.ts";
import { entrySum, keyedSum, linkSum, logPositionSum, logRowSum, requireSum, sealValue, slotSum, textSum, tombstoneSum, versionSum } from "../../ledger/record-sum.ts";
import type { LockedRows, RowChanges, RowReads, Work } from "../../ledger/rows.ts";
import { answered } from "../../ledger/rows.ts";
import { lapseText, opCode, parseLapse } from "../../ledger/stored-row.ts";
import type { Entry, HistoryRecord, StoredRequest } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import type { SqlStatement } from "./driver.ts";
import { logId, positionIn } from "./log-id.ts";
import type { SqliteLogRow } from "./log-rows.ts";
import { keyName, logColumns, requireLogRow, toEntry } from "./log-rows.ts";
import type { SqliteNamespaceRow } from "./namespace-row.ts";
import { expectNewest, writeNamespace, writeWholeNamespace } from "./namespace-row.ts";
import { expiredKeys } from "./reclaim.ts";
import { forgetRequests, keepRequest, readStoredRequest } from "./stored-request.ts";
import { addDocument, removeDocument } from "./text-index.ts";

type SlotTuple = [ver: number, created: number, exp: number | null, place: number, anchor: number | null, findable: number, slotSum: number];

interface TombstoneRow {
  readonly ver: number;
  readonly place: number;
  readonly anchor: number | null;
  readonly sum: number;
}

/** The statements of the hot path, prepared once per connection so that they need no lookup. */
export class RowStatements {
  readonly slot: SqlStatement;
  readonly tombstone: SqlStatement;
  readonly append: SqlStatement;
  readonly put: SqlStatement;
  readonly remove: SqlStatement;
  readonly writeTombstone: SqlStatement;
  readonly deleteTombstone: SqlStatement;
  /** A log row without its value. */
  readonly row: SqlStatement;

  constructor({ database }: Connection) {
    this.slot = database.prepare("SELECT ver, created, exp, place, anchor, findable, slot_sum FROM kv WHERE ns = ? AND k = ?");
    this.slot.setReturnArrays(true);
    this.tombstone = database.prepare("SELECT ver, place, anchor, sum FROM tombstone WHERE ns = ? AND k = ?");
    this.append = database.prepare(`INSERT INTO log VALUES (${logId("?", "?")}${", ?".repeat(17)})`);
    this.put = database.prepare(
      `INSERT INTO kv VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET place = excluded.place, anchor = excluded.anchor, ver = excluded.ver, created = excluded.created,
        exp = excluded.exp, findable = excluded.findable, at = excluded.at, writer = excluded.writer, agent = excluded.agent, sum = excluded.sum, slot_sum = excluded.slot_sum`,
    );
    this.remove = database.prepare("DELETE FROM kv WHERE ns = ? AND k = ?");
    this.writeTombstone = database.prepare("INSERT OR REPLACE INTO tombstone VALUES (?, ?, ?, ?, ?, ?)");
    this.deleteTombstone = database.prepare("DELETE FROM tombstone WHERE ns = ? AND k = ?");
    this.row = database.prepare(`SELECT ${logColumns(false)} FROM log WHERE id = ${logId("?", "?")}`);
  }
}

/** The rows that a decision reads, each verified against its checksum, and those that it changes. Valid for one write transaction. */
export class SqliteLockedRows implements LockedRows, BatchSource, LoadedLog {
  readonly reads: RowReads;
  readonly space: SqliteNamespaceRow;
  readonly #connection: Connection;
  readonly #statements: RowStatements;
  readonly #tombstonesBefore: number;

  constructor(connection: Connection, statements: RowStatements, reads: RowReads, space: SqliteNamespaceRow) {
    this.reads = reads;
    this.space = space;
    this.#connection = connection;
    this.#statements = statements;
    this.#tombstonesBefore = space.tombstones;
  }

  get source(): BatchSource {
    return this;
  }

  get log(): LoadedLog {
    return this;
  }

  get newest(): number {
    const { newest } = this.#connection
      .statement(`SELECT ${positionIn("max(id)")} AS newest FROM log WHERE id >= ${logId("?1", "0")} AND id < ${logId("(?1 + 1)", "0")}`)
      .get(this.space.id) as { readonly newest: number | null };
    return newest ?? 0;
  }

  has(logPosition: number): boolean {
    return this.#connection.statement(`SELECT 1 FROM log WHERE id = ${logId("?1", "?2")}`).get(this.space.id, logPosition) !== undefined;
  }

  expired(count: number): Work<readonly string[]> {
    return answered(expiredKeys(this.#connection, this.space, count));
  }

  /** A file has one history. A replaced file is detected when it is opened, and by the commit notes. */
  continueHistory(): void {}

  readSlot(key: string): StoredSlot | undefined {
    const row = this.#statements.slot.get(this.space.id, key) as SlotTuple | undefined;
    if (row === undefined) return undefined;
    // Accessed by index, because destructuring an array costs as much as the checksum.
    const slot: StoredSlot = {
      logPosition: row[3],
      version: row[0],
      anchor: row[4] ?? undefined,
      createdAtMs: row[1],
      expiresAtMs: row[2] ?? undefined,
      findable: row[5] === 1,
    };
    const sum = slotSum(versionSum(logPositionSum(this.space.id, slot.logPosition), slot.version, slot.expiresAtMs, slot.createdAtMs), textSum(key), slot.anchor, row[5]);
    requireSum(sum, row[6], keyName, key);
    return slot;
  }

  readTombstone(key: string): Tombstone | undefined {
    if (this.space.tombstones === 0) return undefined;
    const row = this.#statements.tombstone.get(this.space.id, key) as TombstoneRow | undefined;
    if (row === undefined) return undefined;
    requireSum(tombstoneSum(this.space.id, key, row.place, row.anchor, row.ver), row.sum, keyName, key);
    return { logPosition: row.place, version: row.ver, anchor: row.anchor ?? undefined };
  }

  readRequest(key: string, nowMs: number): StoredRequest | undefined {
    return readStoredRequest(this.#connection, this.space.id, key, nowMs);
  }

  readLapse(_key: string, slot: StoredSlot): HistoryRecord | undefined {
    return parseLapse(this.#requireRow(slot).lapse);
  }

  readEntry(_key: string, slot: StoredSlot): Entry {
    return toEntry(this.#requireRow(slot));
  }

  #requireRow({ logPosition }: StoredSlot): SqliteLogRow {
    return requireLogRow(this.space.id, logPosition, this.#statements.row.get(this.space.id, logPosition));
  }

  /** Returns the number of log rows removed. */
  apply({ plan, load, texts = [], requestsPast, rows = [], tombstones = [], space: isWhole = false }: RowChanges): number {
    const { id } = this.space;
    const connection = this.#connection;
    if (load !== undefined) this.#writeLoaded(load);
    if (plan !== undefined) this.#writePlan(plan);
    for (const { key, logPosition, index } of texts) {
      removeDocument(connection, id, key);
      addDocument(connection, id, key, logPosition, index);
    }
    if (requestsPast !== undefined) forgetRequests(connection, id, requestsPast);
    let removed = 0;
    for (const logPosition of rows) removed += Number(connection.statement(`DELETE FROM log WHERE id = ${logId("?1", "?2")}`).run(id, logPosition).changes);
    for (const key of tombstones) this.#statements.deleteTombstone.get(id, key);
    if (isWhole) writeWholeNamespace(connection, this.space);
    else if (this.space.tombstones !== this.#tombstonesBefore) writeNamespace(connection, this.space);
    return removed;
  }

  #writePlan(plan: BatchPlan): void {
    const { rows, requests } = plan;
    for (let i = 0; i < rows.length; i += 1) this.#append(rows[i] as PlannedRow, plan.slotOf(i));
    for (const request of requests) keepRequest(this.#connection, this.space.id, request);
    const newest = rows.at(-1);
    if (newest !== undefined) expectNewest(this.#connection, this.space.name, newest.logPosition, newest.atMs);
  }

  /** Writes the row, and the new state of its key unless a later row decides that: their checksums share most of the work. */
  #append(row: PlannedRow, slot: ChangedSlot | undefined): void {
    const { id } = this.space;
    const { logPosition, key, version, createdAtMs, atMs, writer, agent, record } = row;
    const op = opCode[row.op];
    const previous = row.previous ?? null;
    const jump = jumps(row) ? (row.anchor ?? null) : null;
    const lapse = lapseText(row.lapse);
    const start = logPositionSum(id, logPosition);
    const ofKey = textSum(key);
    const ofVersion = versionSum(start, version, row.expiresAtMs, createdAtMs);
    const ofEntry = entrySum(ofVersion, atMs, writer, agent);
    const keyed = keyedSum(ofEntry, ofKey);
    this.#statements.append.get(
      id,
      logPosition,
      key,
      op,
      version,
      row.expiresAtMs ?? null,
      createdAtMs,
      atMs,
      previous,
      jump,
      writer,
      agent ?? null,
      record?.kind ?? null,
      record?.op ?? null,
      record?.subject ?? null,
      lapse,
      linkSum(start, atMs, previous, jump),
      logRowSum(keyed, op, record?.kind, record?.op, record?.subject, lapse),
      sealValue(ofEntry, row.json),
    );
    if (slot === undefined) return;
    if (slot.stored?.findable) removeDocument(this.#connection, id, key);
    if (slot.index !== undefined) addDocument(this.#connection, id, key, logPosition, slot.index);
    if (!slot.present) {
      if (slot.stored !== undefined) this.#statements.remove.get(id, key);
      this.#writeTombstone(key, { logPosition, version, anchor: slot.anchor });
      if (slot.tombstone === undefined) this.space.tombstones += 1;
      return;
    }
    const anchor = slot.anchor ?? null;
    const findable = slot.index === undefined ? 0 : 1;
    this.#statements.put.get(
      id,
      key,
      logPosition,
      anchor,
      version,
      createdAtMs,
      row.expiresAtMs ?? null,
      findable,
      atMs,
      writer,
      agent ?? null,
      keyed,
      slotSum(ofVersion, ofKey, anchor, findable),
    );
    if (slot.tombstone === undefined) return;
    this.#statements.deleteTombstone.get(id, key);
    this.space.tombstones -= 1;
  }

  /** Writes the parts of a load that only key records contain. Called before the rows. */
  #writeLoaded({ texts, tombstones }: RecordLoadPlan): void {
    const { id } = this.space;
    for (const { key, ...tombstone } of tombstones) this.#writeTombstone(key, tombstone);
    this.space.tombstones += tombstones.length;
    for (const { key, slot, index } of texts) {
      addDocument(this.#connection, id, key, slot.logPosition, index);
      const sum = slotSum(versionSum(logPositionSum(id, slot.logPosition), slot.version, slot.expiresAtMs, slot.createdAtMs), textSum(key), slot.anchor, 1);
      this.#connection.statement("UPDATE kv SET findable = 1, slot_sum = ? WHERE ns = ? AND k = ?").run(sum, id, key);
    }
  }

  #writeTombstone(key: string, tombstone: Tombstone): void {
    const { id } = this.space;
    const { logPosition, version } = tombstone;
    const anchor = tombstone.anchor ?? null;
    this.#statements.writeTombstone.get(id, key, logPosition, anchor, version, tombstoneSum(id, key, logPosition, anchor, version));
  }
}
