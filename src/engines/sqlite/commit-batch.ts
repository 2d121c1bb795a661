import type { RecordLoadPlan } from "../../ledger/load-plan.ts";
import type { BatchSource, ChangedSlot, PlannedRow, StoredSlot, Tombstone } from "../../ledger/plan-batch.ts";
import { BatchPlan, jumps } from "../../ledger/plan-batch.ts";
import { entrySum, keyedSum, linkSum, logPositionSum, logRowSum, requireSum, sealValue, slotSum, textSum, tombstoneSum, versionSum } from "../../ledger/record-sum.ts";
import { lapseText, opCode, parseLapse } from "../../ledger/stored-row.ts";
import type { Entry, HistoryRecord, StoredRequest } from "../../store/store.ts";
import type { CommitNote } from "./commit-notes.ts";
import type { Connection } from "./connection.ts";
import type { SqlStatement } from "./driver.ts";
import { logId } from "./log-id.ts";
import type { SqliteLogRow } from "./log-rows.ts";
import { keyName, logColumns, requireLogRow, toEntry } from "./log-rows.ts";
import type { SqliteNamespaceClock } from "./namespace-clock.ts";
import type { SqliteNamespaceRow } from "./namespace-row.ts";
import { ensureNamespace, expectNewest, writeNamespace } from "./namespace-row.ts";
import { keepRequest, readStoredRequest } from "./stored-request.ts";
import { addDocument, removeDocument } from "./text-index.ts";

type SlotTuple = [ver: number, created: number, exp: number | null, place: number, anchor: number | null, findable: number, slotSum: number];

interface TombstoneRow {
  readonly ver: number;
  readonly place: number;
  readonly anchor: number | null;
  readonly sum: number;
}

/** The statements of the hot path, prepared once per connection and used without a lookup. */
export class BatchStatements {
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

/** The rows that a plan asks for, each verified against its checksum, and those that it changes. Lives for one write transaction. */
export class Batch implements BatchSource {
  readonly plan: BatchPlan;
  readonly #connection: Connection;
  readonly #statements: BatchStatements;
  readonly #space: SqliteNamespaceRow;
  readonly #tombstonesBefore: number;

  constructor(connection: Connection, statements: BatchStatements, clock: SqliteNamespaceClock, namespace: string) {
    this.#connection = connection;
    this.#statements = statements;
    this.#space = ensureNamespace(connection, namespace);
    this.#tombstonesBefore = this.#space.tombstones;
    this.plan = new BatchPlan(this, this.#space, clock.nowMs(namespace, this.#space));
  }

  /** As the batch leaves it. */
  get space(): SqliteNamespaceRow {
    return this.#space;
  }

  get tookRevision(): boolean {
    return this.plan.rows.length > 0;
  }

  /** What is to be noted of the batch once it is durable. */
  get note(): CommitNote | undefined {
    return this.tookRevision ? { namespaceId: this.#space.id, revision: this.#space.revision } : undefined;
  }

  readSlot(key: string): StoredSlot | undefined {
    const row = this.#statements.slot.get(this.#space.id, key) as SlotTuple | undefined;
    if (row === undefined) return undefined;
    // By position: taking an array apart costs as much as the checksum.
    const slot: StoredSlot = {
      logPosition: row[3],
      version: row[0],
      anchor: row[4] ?? undefined,
      createdAtMs: row[1],
      expiresAtMs: row[2] ?? undefined,
      findable: row[5] === 1,
    };
    const sum = slotSum(versionSum(logPositionSum(this.#space.id, slot.logPosition), slot.version, slot.expiresAtMs, slot.createdAtMs), textSum(key), slot.anchor, row[5]);
    requireSum(sum, row[6], keyName, key);
    return slot;
  }

  readTombstone(key: string): Tombstone | undefined {
    if (this.#space.tombstones === 0) return undefined;
    const row = this.#statements.tombstone.get(this.#space.id, key) as TombstoneRow | undefined;
    if (row === undefined) return undefined;
    requireSum(tombstoneSum(this.#space.id, key, row.place, row.anchor, row.ver), row.sum, keyName, key);
    return { logPosition: row.place, version: row.ver, anchor: row.anchor ?? undefined };
  }

  readRequest(key: string, nowMs: number): StoredRequest | undefined {
    return readStoredRequest(this.#connection, this.#space.id, key, nowMs);
  }

  readLapse(_key: string, slot: StoredSlot): HistoryRecord | undefined {
    return parseLapse(this.#requireRow(slot).lapse);
  }

  readEntry(_key: string, slot: StoredSlot): Entry {
    return toEntry(this.#requireRow(slot));
  }

  #requireRow({ logPosition }: StoredSlot): SqliteLogRow {
    return requireLogRow(this.#space.id, logPosition, this.#statements.row.get(this.#space.id, logPosition));
  }

  /** Writes what the plan changed. Says whether there is anything to make durable. */
  write(): boolean {
    const { rows, requests } = this.plan;
    for (let i = 0; i < rows.length; i += 1) this.#append(rows[i] as PlannedRow, this.plan.slotOf(i));
    if (this.#space.tombstones !== this.#tombstonesBefore) writeNamespace(this.#connection, this.#space);
    for (const request of requests) keepRequest(this.#connection, this.#space.id, request);
    const newest = rows.at(-1);
    if (newest !== undefined) expectNewest(this.#connection, this.#space.name, newest.logPosition, newest.atMs);
    return rows.length > 0 || requests.length > 0;
  }

  /** The row, and what becomes of its key where no later row decides that: their checksums have much in common. */
  #append(row: PlannedRow, slot: ChangedSlot | undefined): void {
    const { id } = this.#space;
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
      if (slot.tombstone === undefined) this.#space.tombstones += 1;
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
    this.#space.tombstones -= 1;
  }

  /** Writes what only keys of another store say. To be called before `write`. */
  writeLoaded({ texts, tombstones }: RecordLoadPlan): void {
    const { id } = this.#space;
    for (const { key, ...tombstone } of tombstones) this.#writeTombstone(key, tombstone);
    this.#space.tombstones += tombstones.length;
    for (const { key, slot, index } of texts) {
      addDocument(this.#connection, id, key, slot.logPosition, index);
      const sum = slotSum(versionSum(logPositionSum(id, slot.logPosition), slot.version, slot.expiresAtMs, slot.createdAtMs), textSum(key), slot.anchor, 1);
      this.#connection.statement("UPDATE kv SET findable = 1, slot_sum = ? WHERE ns = ? AND k = ?").run(sum, id, key);
    }
  }

  #writeTombstone(key: string, tombstone: Tombstone): void {
    const { id } = this.#space;
    const { logPosition, version } = tombstone;
    const anchor = tombstone.anchor ?? null;
    this.#statements.writeTombstone.get(id, key, logPosition, anchor, version, tombstoneSum(id, key, logPosition, anchor, version));
  }
}
