import { holds, nextVersion, requireRevisionLeft } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import { jumpEvery, logPositionOf, revisionAt } from "../../store/log-position.ts";
import { isLive } from "../../store/ranges.ts";
import type { Sum } from "../../store/record-sum.ts";
import { emptySum, entrySum, keyedSum, linkSum, logPositionSum, logRowSum, requireSum, sealValue, slotSum, textSum, tombstoneSum, versionSum } from "../../store/record-sum.ts";
import type {
  Check,
  CommitResult,
  Committed,
  FailedCheck,
  HistoryRecord,
  IndexedText,
  PreparedCommit,
  PreparedWrite,
  Seal,
  StoredLogRow,
  WriteOutcome,
} from "../../store/store.ts";
import { systemWriter } from "../../store/store.ts";
import type { CommitNote } from "./commit-notes.ts";
import type { Connection } from "./connection.ts";
import type { SqlStatement } from "./driver.ts";
import { logId } from "./log-id.ts";
import { keyName, lapseText, logColumns, opCode, parseLapse, requireLogRow, toEntry } from "./log-rows.ts";
import type { SqliteNamespaceClock } from "./namespace-clock.ts";
import type { SqliteNamespaceRow } from "./namespace-row.ts";
import { ensureNamespace, expectNewest, writeNamespace } from "./namespace-row.ts";
import { keepRequest, readStoredRequest } from "./stored-request.ts";
import { addDocument, removeDocument } from "./text-index.ts";

/** What lies under a key as the batch sees it: read once, changed in memory, written back once however many commits touch it. */
interface Slot {
  /** In `kv` when the batch began. */
  readonly stored: boolean;
  /** There now: live, or expired and not yet swept. */
  present: boolean;
  version: number;
  createdAtMs: number;
  expiresAtMs: number | undefined;
  /** Where its newest log row is (of a removed entry: the row that ended it); 0 when it never had one. */
  place: number;
  revision: number;
  /** Where its newest row with a jump is. */
  anchor: number | null;
  /** Last version of a removed key; undefined until looked up, 0 when there is none. */
  tombstone: number | undefined;
  tombstoneStored: boolean;
  changed: boolean;
  /** Of the last change made by the batch; without meaning before one. */
  atMs: number;
  writer: string;
  agent: string | null;
  readonly textOfKey: Sum;
  /** What its entry, its slot and its newest log row share of their checksums; without meaning before a change. */
  versionSum: Sum;
  sum: Sum;
  /** The full text index had it when the batch began, and what it is to have. */
  readonly wasFindable: boolean;
  index: IndexedText | undefined;
}

type SlotRow = [ver: number, created: number, exp: number | null, place: number, anchor: number | null, findable: number, slotSum: number];

function requireSlot(namespaceId: number, key: string, textOfKey: Sum, [ver, created, exp, logPosition, anchor, findable, sum]: SlotRow): void {
  requireSum(slotSum(versionSum(logPositionSum(namespaceId, logPosition), ver, exp, created), textOfKey, anchor, findable), sum, keyName, key);
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

/** Applies commits in order, each with its own checks, revision and outcome. Lives for one write transaction. */
export class Batch {
  readonly #connection: Connection;
  readonly #statements: BatchStatements;
  readonly #clock: SqliteNamespaceClock;
  readonly #namespace: string;
  readonly #space: SqliteNamespaceRow;
  readonly #slots = new Map<string, Slot>();
  readonly #before: number;
  readonly #tombstonesBefore: number;
  #requestsKept = false;
  #adopted = false;
  #seq = 0;
  #newest: Slot | undefined;

  constructor(connection: Connection, statements: BatchStatements, clock: SqliteNamespaceClock, namespace: string) {
    this.#connection = connection;
    this.#statements = statements;
    this.#clock = clock;
    this.#namespace = namespace;
    this.#space = ensureNamespace(connection, namespace);
    this.#before = this.#space.revision;
    this.#tombstonesBefore = this.#space.tombstones;
  }

  get seal(): Seal | undefined {
    return this.#space.seal;
  }

  get tookRevision(): boolean {
    return this.#space.revision > this.#before;
  }

  /** What is to be noted of the batch once it is durable. */
  get note(): CommitNote | undefined {
    return this.tookRevision ? { namespaceId: this.#space.id, revision: this.#space.revision } : undefined;
  }

  /** Writes back what changed. Says whether there is anything to make durable. */
  finish(): boolean {
    if (this.tookRevision || this.#adopted) {
      for (const [key, slot] of this.#slots) if (slot.changed) this.#writeBack(key, slot);
      if (this.#space.tombstones !== this.#tombstonesBefore) writeNamespace(this.#connection, this.#space);
      if (this.#newest !== undefined) expectNewest(this.#connection, this.#namespace, this.#newest.place, this.#newest.atMs);
    }
    return this.tookRevision || this.#adopted || this.#requestsKept;
  }

  apply(commit: PreparedCommit): CommitResult {
    const space = this.#space;
    const atMs = this.#clock.nowMs(this.#namespace, space);
    const { request } = commit;
    if (request !== undefined) {
      const known = readStoredRequest(this.#connection, space.id, request.key, atMs);
      if (known !== undefined)
        return known.fingerprint === request.fingerprint ? { ...known.outcome, replayed: true } : { ok: false, reason: "request_key_reused", revision: space.revision, atMs };
    }
    let failed: FailedCheck[] | undefined;
    for (const check of commit.checks) {
      const broken = this.#failedCheck(check, atMs);
      if (broken !== undefined) failed = [...(failed ?? []), broken];
    }
    if (failed !== undefined) return { ok: false, reason: "checks", revision: space.revision, atMs, failed };

    requireRevisionLeft(space.revision);
    this.#seq = 0;
    const writes = commit.writes.map((write) => this.#write(write, commit, atMs));
    if (this.#seq > 0) {
      space.revision += 1;
      space.clockMs = atMs;
    }
    const outcome: Committed = { ok: true, revision: space.revision, atMs, writes, replayed: false };
    if (request === undefined) return outcome;
    const noted: Committed = { ...outcome, note: request.note };
    this.#requestsKept = true;
    keepRequest(this.#connection, space.id, { key: request.key, fingerprint: request.fingerprint, keptUntilMs: atMs + limits.requestKeptMs, outcome: noted });
    return noted;
  }

  /** Removes an expired entry and writes the record of its lapse; the caller has made sure that it is expired. */
  expire(key: string, atMs: number): void {
    const slot = this.#slot(key);
    const { lapse } = requireLogRow(this.#space.id, slot.place, this.#statements.row.get(this.#space.id, slot.place));
    this.#end(key, slot, opCode.expire, atMs, systemWriter, undefined, parseLapse(lapse));
  }

  /** For rows that were not written by a commit: they take the next revision together. */
  takeRevision(atMs: number): void {
    this.#space.revision += 1;
    this.#space.clockMs = atMs;
  }

  /** Takes over a row as another store had it, at its own place in history; the caller has made sure that it is newer than all there is. */
  adopt(row: StoredLogRow): void {
    const slot = this.#slot(row.key);
    if (!slot.present) this.#tombstone(row.key, slot);
    if (slot.place >= logPositionOf(row.revision, row.seq)) {
      // The tombstone came ahead with the keys: the row it speaks of is still to come, and a chain only leads back.
      slot.place = 0;
      slot.anchor = null;
    }
    this.#adopted = true;
    this.#space.revision = row.revision - 1;
    this.#seq = row.seq;
    slot.present = row.op === "put";
    slot.version = row.version;
    slot.createdAtMs = row.createdAtMs;
    slot.expiresAtMs = row.expiresAtMs;
    slot.tombstone = slot.present ? 0 : row.version;
    slot.index = undefined;
    this.#append(row.key, slot, opCode[row.op], row.atMs, row.writer, row.agent, row.record, row.expiresAtMs, row.lapse, row.json);
    this.#space.revision = row.revision;
  }

  #write(write: PreparedWrite, commit: PreparedCommit, atMs: number): WriteOutcome {
    const slot = this.#slot(write.key);
    if (slot.present && !isLive(slot, atMs)) this.expire(write.key, atMs);
    const existed = slot.present;
    if (write.op === "delete") {
      if (!existed) return { version: 0, existed: false };
      this.#end(write.key, slot, opCode.delete, atMs, commit.writer, commit.agent, write.record);
      return { version: slot.version, existed: true };
    }
    const version = nextVersion(existed ? slot.version : this.#tombstone(write.key, slot) || undefined, this.#space);
    const expiresAtMs = write.ttlMs === undefined ? undefined : atMs + write.ttlMs;
    if (!existed) slot.createdAtMs = atMs;
    slot.present = true;
    slot.version = version;
    slot.expiresAtMs = expiresAtMs;
    slot.tombstone = 0;
    slot.index = write.index;
    this.#append(write.key, slot, opCode.put, atMs, commit.writer, commit.agent, write.record, expiresAtMs, write.lapse, write.json);
    return expiresAtMs === undefined ? { version, existed } : { version, existed, expiresAtMs };
  }

  #end(key: string, slot: Slot, op: number, atMs: number, writer: string, agent: string | undefined, record: HistoryRecord | undefined): void {
    slot.present = false;
    slot.tombstone = slot.version;
    slot.index = undefined;
    this.#append(key, slot, op, atMs, writer, agent, record);
  }

  #append(
    key: string,
    slot: Slot,
    op: number,
    atMs: number,
    writer: string,
    agent: string | undefined,
    record: HistoryRecord | undefined,
    expiresAtMs?: number,
    lapse?: HistoryRecord,
    json?: string,
  ): void {
    const prev = slot.place === 0 ? null : slot.place;
    const hasJump = op === opCode.put && slot.version % jumpEvery === 0;
    const jump = hasJump ? slot.anchor : null;
    slot.revision = this.#space.revision + 1;
    slot.place = logPositionOf(slot.revision, this.#seq);
    if (hasJump) slot.anchor = slot.place;
    slot.changed = true;
    slot.atMs = atMs;
    slot.writer = writer;
    slot.agent = agent ?? null;
    this.#seq += 1;
    this.#newest = slot;
    const { id } = this.#space;
    const lapsed = lapseText(lapse);
    const start = logPositionSum(id, slot.place);
    slot.versionSum = versionSum(start, slot.version, expiresAtMs, slot.createdAtMs);
    const entry = entrySum(slot.versionSum, atMs, writer, agent);
    slot.sum = keyedSum(entry, slot.textOfKey);
    this.#statements.append.get(
      id,
      slot.place,
      key,
      op,
      slot.version,
      expiresAtMs ?? null,
      slot.createdAtMs,
      atMs,
      prev,
      jump,
      writer,
      agent ?? null,
      record?.kind ?? null,
      record?.op ?? null,
      record?.subject ?? null,
      lapsed,
      linkSum(start, atMs, prev, jump),
      logRowSum(slot.sum, op, record?.kind, record?.op, record?.subject, lapsed),
      sealValue(entry, json),
    );
  }

  #failedCheck(check: Check, atMs: number): FailedCheck | undefined {
    const slot = this.#slot(check.key);
    const live = slot.present && isLive(slot, atMs);
    if (holds(check, live ? slot : undefined)) return undefined;
    return { check, entry: live ? toEntry(requireLogRow(this.#space.id, slot.place, this.#statements.row.get(this.#space.id, slot.place))) : undefined };
  }

  #slot(key: string): Slot {
    const known = this.#slots.get(key);
    if (known !== undefined) return known;
    const row = this.#statements.slot.get(this.#space.id, key) as SlotRow | undefined;
    const textOfKey = textSum(key);
    if (row !== undefined) requireSlot(this.#space.id, key, textOfKey, row);
    const slot: Slot =
      row === undefined
        ? {
            stored: false,
            present: false,
            version: 0,
            createdAtMs: 0,
            expiresAtMs: undefined,
            place: 0,
            revision: 0,
            anchor: null,
            tombstone: undefined,
            tombstoneStored: false,
            changed: false,
            atMs: 0,
            writer: "",
            agent: null,
            textOfKey,
            versionSum: emptySum,
            sum: emptySum,
            wasFindable: false,
            index: undefined,
          }
        : {
            stored: true,
            present: true,
            version: row[0],
            createdAtMs: row[1],
            expiresAtMs: row[2] ?? undefined,
            place: row[3],
            revision: revisionAt(row[3]),
            anchor: row[4],
            tombstone: 0,
            tombstoneStored: false,
            changed: false,
            atMs: 0,
            writer: "",
            agent: null,
            textOfKey,
            versionSum: emptySum,
            sum: emptySum,
            wasFindable: row[5] === 1,
            index: undefined,
          };
    this.#slots.set(key, slot);
    return slot;
  }

  #tombstone(key: string, slot: Slot): number {
    if (slot.tombstone !== undefined) return slot.tombstone;
    slot.tombstone = 0;
    if (this.#space.tombstones === 0) return 0;
    const row = this.#statements.tombstone.get(this.#space.id, key) as
      | { readonly ver: number; readonly place: number; readonly anchor: number | null; readonly sum: number }
      | undefined;
    if (row === undefined) return 0;
    requireSum(tombstoneSum(this.#space.id, key, row.place, row.anchor, row.ver), row.sum, keyName, key);
    slot.tombstoneStored = true;
    slot.tombstone = row.ver;
    slot.place = row.place;
    slot.anchor = row.anchor;
    return row.ver;
  }

  #writeBack(key: string, slot: Slot): void {
    const { id } = this.#space;
    if (slot.wasFindable) removeDocument(this.#connection, id, key);
    if (slot.index !== undefined) addDocument(this.#connection, id, key, slot.place, slot.index);
    if (slot.present) {
      this.#statements.put.get(
        id,
        key,
        slot.place,
        slot.anchor,
        slot.version,
        slot.createdAtMs,
        slot.expiresAtMs ?? null,
        slot.index === undefined ? 0 : 1,
        slot.atMs,
        slot.writer,
        slot.agent,
        slot.sum,
        slotSum(slot.versionSum, slot.textOfKey, slot.anchor, slot.index === undefined ? 0 : 1),
      );
      if (slot.tombstoneStored) {
        this.#statements.deleteTombstone.get(id, key);
        this.#space.tombstones -= 1;
      }
      return;
    }
    if (slot.stored) this.#statements.remove.get(id, key);
    this.#statements.writeTombstone.get(id, key, slot.place, slot.anchor, slot.version, tombstoneSum(id, key, slot.place, slot.anchor, slot.version));
    if (!slot.tombstoneStored) this.#space.tombstones += 1;
  }
}
