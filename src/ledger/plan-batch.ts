import { holds, nextVersion, requireRevisionLeft } from "../store/engine-rules.ts";
import { limits } from "../store/limits.ts";
import { isLive } from "../store/ranges.ts";
import type {
  Check,
  CommitResult,
  Committed,
  Entry,
  FailedCheck,
  HistoryRecord,
  IndexedText,
  LogRow,
  NamespaceFacts,
  PreparedCommit,
  PreparedWrite,
  Revision,
  StoredLogRow,
  StoredRequest,
  WriteOutcome,
} from "../store/store.ts";
import { systemWriter } from "../store/store.ts";
import { jumpEvery, logPositionOf, revisionAt } from "./log-position.ts";

/** The record of a key: the position of its newest log row, which may have been compacted since, and the heads of its chain (see log-position.ts). */
export interface Tombstone {
  readonly logPosition: number;
  readonly version: number;
  readonly anchor?: number;
}

/** The entry stored under a key: live, or expired and not yet swept. */
export interface StoredSlot extends Tombstone {
  readonly createdAtMs: number;
  readonly expiresAtMs?: number;
  /** Whether the full-text index contains the entry. */
  readonly findable: boolean;
}

/** How a plan reads stored data. Each key is read at most once. An asynchronous engine loads everything that the batch names beforehand. */
export interface BatchSource {
  readSlot(key: string): StoredSlot | undefined;
  /** For a key without an entry. */
  readTombstone(key: string): Tombstone | undefined;
  /** Returns the request only if it is still kept at `nowMs`. */
  readRequest(key: string, nowMs: number): StoredRequest | undefined;
  /** The history record to write when the entry expires. */
  readLapse(key: string, slot: StoredSlot): HistoryRecord | undefined;
  /** A live entry that the batch has not changed, without its value: reported when a check fails because of it. */
  readEntry(key: string, slot: StoredSlot): Entry;
}

/** All keys and request keys in these commits: everything that their plan may read. */
export function namedBy(commits: readonly PreparedCommit[]): { readonly keys: ReadonlySet<string>; readonly requestKeys: readonly string[] } {
  const keys = new Set<string>();
  const requestKeys: string[] = [];
  for (const { checks, writes, request } of commits) {
    for (const { key } of checks) keys.add(key);
    for (const { key } of writes) keys.add(key);
    if (request !== undefined) requestKeys.push(request.key);
  }
  return { keys, requestKeys };
}

/** A log row to append. */
export interface PlannedRow extends Omit<LogRow, "value"> {
  /** The value's JSON text; absent for delete and expire. */
  readonly json?: string;
  readonly createdAtMs: number;
  readonly lapse?: HistoryRecord;
  readonly logPosition: number;
  /** The position of the previous row of the same key. */
  readonly previous?: number;
  /** The key's anchor before this row. `jumps` decides whether the row points to it and becomes the next anchor. */
  readonly anchor?: number;
}

export const jumps = ({ op, version }: Pick<PlannedRow, "op" | "version">): boolean => op === "put" && version % jumpEvery === 0;

/** The state of a key within the batch: read once, changed in memory, and written back once however many commits touch it. */
export interface Slot {
  /** The stored state when the batch begins: an entry, or the tombstone of a deleted key (read only when needed). */
  readonly stored: StoredSlot | undefined;
  tombstone: Tombstone | undefined;
  /** Whether the entry exists now: live, or expired and not yet swept. */
  present: boolean;
  version: number;
  createdAtMs: number;
  expiresAtMs: number | undefined;
  /** The positions of its newest log row and of its newest row with a jump (see log-position.ts); undefined if there is none. */
  logPosition: number | undefined;
  anchor: number | undefined;
  /** Its newest row in this batch; undefined until the batch changes the key. */
  row: PlannedRow | undefined;
  index: IndexedText | undefined;
}

export interface ChangedSlot extends Slot {
  row: PlannedRow;
}

export interface PlannedRequest {
  readonly key: string;
  readonly fingerprint: string;
  readonly keptUntilMs: number;
  readonly outcome: Committed;
}

/** The facts of the namespace that a plan reads and advances. */
export interface PlannedSpace extends Pick<NamespaceFacts, "versionFloor" | "base"> {
  revision: Revision;
  clockMs: number;
}

/**
 * Decides a batch: commits in order, each with its own checks, revision and outcome. The plan itself writes nothing. In one transaction, an engine writes `rows` to
 * its log, the changed `slots` to its entries, and `requests`.
 */
export class BatchPlan {
  readonly rows: PlannedRow[] = [];
  readonly requests: PlannedRequest[] = [];
  readonly #source: BatchSource;
  readonly #space: PlannedSpace;
  readonly #nowMs: number;
  readonly #slots = new Map<string, Slot>();
  readonly #slotOfRow: Slot[] = [];
  readonly #kept = new Map<string, PlannedRequest>();
  #seq = 0;

  constructor(source: BatchSource, space: PlannedSpace, nowMs: number) {
    this.#source = source;
    this.#space = space;
    this.#nowMs = nowMs;
  }

  /** Slots that the batch changed, by key. */
  *changed(): Generator<[key: string, slot: ChangedSlot]> {
    for (const [key, slot] of this.#slots) if (slot.row !== undefined) yield [key, slot as ChangedSlot];
  }

  /** The slot that `rows[i]` changed last; undefined when a later row of its key changed it again. */
  slotOf(i: number): ChangedSlot | undefined {
    const slot = this.#slotOfRow[i] as Slot;
    return slot.row === this.rows[i] ? (slot as ChangedSlot) : undefined;
  }

  apply(commit: PreparedCommit): CommitResult {
    const space = this.#space;
    const atMs = this.#nowMs;
    const { request } = commit;
    if (request !== undefined) {
      const known = this.#kept.get(request.key) ?? this.#source.readRequest(request.key, atMs);
      if (known !== undefined)
        return known.fingerprint === request.fingerprint ? { ...known.outcome, replayed: true } : { ok: false, reason: "request_key_reused", revision: space.revision, atMs };
    }
    let failed: FailedCheck[] | undefined;
    for (const check of commit.checks) {
      const broken = this.#failedCheck(check);
      if (broken !== undefined) failed = [...(failed ?? []), broken];
    }
    if (failed !== undefined) return { ok: false, reason: "checks", revision: space.revision, atMs, failed };

    requireRevisionLeft(space.revision);
    this.#seq = 0;
    const writes = commit.writes.map((write) => this.#write(write, commit));
    if (this.#seq > 0) this.takeRevision();
    if (request === undefined) return { ok: true, revision: space.revision, atMs, writes, replayed: false };
    const outcome: Committed = { ok: true, revision: space.revision, atMs, writes, replayed: false, note: request.note };
    const kept = { key: request.key, fingerprint: request.fingerprint, keptUntilMs: atMs + limits.requestKeptMs, outcome };
    this.#kept.set(request.key, kept);
    this.requests.push(kept);
    return outcome;
  }

  /** Ends an expired entry and records its lapse. The caller must have checked that it has expired. */
  expire(key: string): void {
    const slot = this.#slot(key);
    // An entry that this batch put cannot have expired yet, so the entry is a stored one.
    this.#end(key, slot, "expire", systemWriter, undefined, this.#source.readLapse(key, slot.stored as StoredSlot));
  }

  /** Assigns the next revision to all rows appended since the last one. */
  takeRevision(): void {
    this.#space.revision += 1;
    this.#space.clockMs = this.#nowMs;
  }

  /** The state of a key. For a key without an entry, this includes its tombstone. */
  find(key: string): Slot {
    const slot = this.#slot(key);
    if (slot.logPosition === undefined) this.#readTombstone(key, slot);
    return slot;
  }

  /** Adds a row of another store at its original position in history. The caller must have checked that it is newer than every existing row. */
  adopt(row: StoredLogRow): void {
    const { key, revision, seq, op, version, expiresAtMs, createdAtMs, atMs } = row;
    const slot = this.find(key);
    const logPosition = logPositionOf(revision, seq);
    if (slot.logPosition !== undefined && slot.logPosition >= logPosition) {
      // The tombstone was loaded before the rows that it refers to, and a chain may only point backwards.
      slot.logPosition = undefined;
      slot.anchor = undefined;
    }
    slot.present = op === "put";
    slot.version = version;
    slot.createdAtMs = createdAtMs;
    slot.expiresAtMs = expiresAtMs;
    slot.index = undefined;
    const { json, writer, agent, record, lapse } = row;
    this.#push(slot, {
      logPosition,
      revision,
      seq,
      key,
      op,
      version,
      json,
      expiresAtMs,
      createdAtMs,
      atMs,
      writer,
      agent,
      record,
      lapse,
      previous: slot.logPosition,
      anchor: slot.anchor,
    });
    this.#space.revision = Math.max(this.#space.revision, revision);
    this.#space.clockMs = Math.max(this.#space.clockMs, atMs);
  }

  #write(write: PreparedWrite, commit: PreparedCommit): WriteOutcome {
    const slot = this.#slot(write.key);
    if (slot.present && !isLive(slot, this.#nowMs)) this.expire(write.key);
    const existed = slot.present;
    if (write.op === "delete") {
      if (!existed) return { version: 0, existed: false };
      this.#end(write.key, slot, "delete", commit.writer, commit.agent, write.record);
      return { version: slot.version, existed: true };
    }
    const expiresAtMs = write.ttlMs === undefined ? undefined : this.#nowMs + write.ttlMs;
    slot.version = nextVersion(existed ? slot.version : this.#lastVersion(write.key, slot), this.#space);
    if (!existed) slot.createdAtMs = this.#nowMs;
    slot.present = true;
    slot.expiresAtMs = expiresAtMs;
    slot.index = write.index;
    this.#append(write.key, slot, "put", commit.writer, commit.agent, write.record, write.lapse, write.json);
    return expiresAtMs === undefined ? { version: slot.version, existed } : { version: slot.version, existed, expiresAtMs };
  }

  #end(key: string, slot: Slot, op: "delete" | "expire", writer: string, agent: string | undefined, record: HistoryRecord | undefined): void {
    slot.present = false;
    slot.expiresAtMs = undefined;
    slot.index = undefined;
    this.#append(key, slot, op, writer, agent, record);
  }

  /** The fields are spelled out because this runs for every write of every commit, where destructuring would be most of the cost. */
  #append(key: string, slot: Slot, op: LogRow["op"], writer: string, agent: string | undefined, record: HistoryRecord | undefined, lapse?: HistoryRecord, json?: string): void {
    const revision = this.#space.revision + 1;
    this.#push(slot, {
      logPosition: logPositionOf(revision, this.#seq),
      revision,
      seq: this.#seq,
      key,
      op,
      version: slot.version,
      json,
      expiresAtMs: slot.expiresAtMs,
      createdAtMs: slot.createdAtMs,
      atMs: this.#nowMs,
      writer,
      agent,
      record,
      lapse,
      previous: slot.logPosition,
      anchor: slot.anchor,
    });
    this.#seq += 1;
  }

  #push(slot: Slot, row: PlannedRow): void {
    slot.logPosition = row.logPosition;
    if (jumps(row)) slot.anchor = row.logPosition;
    slot.row = row;
    this.rows.push(row);
    this.#slotOfRow.push(slot);
  }

  #failedCheck(check: Check): FailedCheck | undefined {
    const slot = this.#slot(check.key);
    const live = slot.present && isLive(slot, this.#nowMs) ? { version: slot.version, revision: revisionAt(slot.logPosition as number) } : undefined;
    if (holds(check, live)) return undefined;
    if (live === undefined) return { check, entry: undefined };
    return { check, entry: slot.row === undefined ? this.#source.readEntry(check.key, slot.stored as StoredSlot) : entryOf(slot.row) };
  }

  /** The last version of a key without an entry: removed by this batch, remembered in a tombstone, or undefined if never seen. */
  #lastVersion(key: string, slot: Slot): number | undefined {
    if (slot.logPosition === undefined) this.#readTombstone(key, slot);
    return slot.logPosition === undefined ? undefined : slot.version;
  }

  #readTombstone(key: string, slot: Slot): void {
    const tombstone = this.#source.readTombstone(key);
    if (tombstone === undefined) return;
    slot.tombstone = tombstone;
    slot.version = tombstone.version;
    slot.logPosition = tombstone.logPosition;
    slot.anchor = tombstone.anchor;
  }

  #slot(key: string): Slot {
    const known = this.#slots.get(key);
    if (known !== undefined) return known;
    const stored = this.#source.readSlot(key);
    const slot: Slot = {
      stored,
      tombstone: undefined,
      present: stored !== undefined,
      version: stored?.version ?? 0,
      createdAtMs: stored?.createdAtMs ?? 0,
      expiresAtMs: stored?.expiresAtMs,
      logPosition: stored?.logPosition,
      anchor: stored?.anchor,
      row: undefined,
      index: undefined,
    };
    this.#slots.set(key, slot);
    return slot;
  }
}

const entryOf = (row: PlannedRow): Entry => ({
  key: row.key,
  value: null,
  version: row.version,
  revision: row.revision,
  createdAtMs: row.createdAtMs,
  updatedAtMs: row.atMs,
  expiresAtMs: row.expiresAtMs,
  writer: row.writer,
  agent: row.agent,
});
