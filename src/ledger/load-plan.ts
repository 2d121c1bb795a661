import { HoldfastError } from "../kernel/errors.ts";
import { limits } from "../store/limits.ts";
import type { IndexedText, NamespaceFacts, StoredKey, StoredLogRow, StoredRecord } from "../store/store.ts";
import { logPositionOf, revisionAt, seqAt } from "./log-position.ts";
import type { BatchPlan, StoredSlot, Tombstone } from "./plan-batch.ts";

/** The log before the records are loaded. */
export interface LoadedLog {
  /** The position of its newest row; 0 if the log is empty. */
  readonly newest: number;
  /** Whether the log has this row. The position must not be above the newest. */
  has(logPosition: number): boolean;
}

/**
 * Decides which changes the records of another store make. Log rows and request keys go through a batch plan, which an engine writes like any other batch.
 * Tombstones and index texts, which no log row contains, are listed here.
 */
export class RecordLoadPlan {
  /** Entries that existed before the load and become findable. */
  readonly texts: { readonly key: string; readonly slot: StoredSlot; readonly index: IndexedText }[] = [];
  /** Deleted keys that this store did not know about. */
  readonly tombstones: (Tombstone & { readonly key: string })[] = [];
  readonly #batch: BatchPlan;

  constructor(batch: BatchPlan, records: readonly StoredRecord[], log: LoadedLog) {
    this.#batch = batch;
    this.#takeRows(
      records.filter((record) => record.kind === "log"),
      log,
    );
    for (const record of records) {
      if (record.kind === "key") this.#takeKey(record);
      else if (record.kind === "request") batch.requests.push(record);
    }
  }

  /** Loading the same rows again changes nothing. Older rows that are missing from the log are rejected, because they would be out of order. */
  #takeRows(rows: readonly StoredLogRow[], log: LoadedLog): void {
    let { newest } = log;
    for (const row of rows) {
      const logPosition = logPositionOf(row.revision, row.seq);
      if (logPosition > newest) {
        this.#batch.adopt(row);
        newest = logPosition;
      } else if (!log.has(logPosition))
        throw new HoldfastError("invalid_input", `records: log row ${row.revision}.${row.seq} comes after ${revisionAt(newest)}.${seqAt(newest)}; rows must be in order`);
    }
  }

  #takeKey({ key, revision, seq, version, present, index }: StoredKey): void {
    const slot = this.#batch.find(key);
    const logPosition = logPositionOf(revision, seq);
    if (!present) {
      // The log is authoritative for this key. A page of keys may have been read later than the log rows, but then the log brings the deletion too.
      if (slot.logPosition !== undefined) return;
      slot.logPosition = logPosition;
      slot.version = version;
      this.tombstones.push({ key, logPosition, version });
      return;
    }
    // The page may be older than the log rows loaded since it was read. In that case a later page brings the text.
    if (index === undefined || !slot.present || slot.logPosition !== logPosition) return;
    // The same row always has the same text, so an entry that is already findable stays as it is.
    if (slot.row === undefined && slot.stored?.findable === false && slot.index === undefined) this.texts.push({ key, slot: slot.stored, index });
    slot.index = index;
  }
}

/** Returns the facts of another store without its seal, or throws if this store cannot continue from them. */
export function requireLoadable({ seal: _seal, ...facts }: NamespaceFacts): Omit<NamespaceFacts, "seal"> {
  if (facts.revision > limits.revisionMax) throw new HoldfastError("limit_exceeded", `facts.revision: must be at most ${limits.revisionMax} (got ${facts.revision})`);
  return facts;
}
