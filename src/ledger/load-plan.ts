import { HoldfastError } from "../kernel/errors.ts";
import { limits } from "../store/limits.ts";
import type { IndexedText, NamespaceFacts, StoredKey, StoredLogRow, StoredRecord } from "../store/store.ts";
import { logPositionOf, revisionAt, seqAt } from "./log-position.ts";
import type { BatchPlan, StoredSlot, Tombstone } from "./plan-batch.ts";

/** The log before records are taken over. */
export interface LoadedLog {
  /** Where its newest row is; 0 when there is none. */
  readonly newest: number;
  /** Is this row, which is not above the newest, there? */
  has(logPosition: number): boolean;
}

/**
 * Decides what records of another store change: log rows and request keys by way of a batch plan, which an engine writes as it writes any batch;
 * and what keys say that no row says.
 */
export class RecordLoadPlan {
  /** Entries that were there before and become findable. */
  readonly texts: { readonly key: string; readonly slot: StoredSlot; readonly index: IndexedText }[] = [];
  /** Keys that are gone, and of which nothing was known. */
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

  /** The same rows again change nothing; older ones that are not there would be out of order. */
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
      // What the log said of the key is never less right: a page of the walk may be of later, and then the log brings it too.
      if (slot.logPosition !== undefined) return;
      slot.logPosition = logPosition;
      slot.version = version;
      this.tombstones.push({ key, logPosition, version });
      return;
    }
    // A page of the walk may be older than the log that was loaded since: then a later page brings the text.
    if (index === undefined || !slot.present || slot.logPosition !== logPosition) return;
    // The same row has the same text: what is findable already stays as it is.
    if (slot.row === undefined && slot.stored?.findable === false && slot.index === undefined) this.texts.push({ key, slot: slot.stored, index });
    slot.index = index;
  }
}

/** The facts of another store, without its seal, if this one can continue from them. */
export function requireLoadable({ seal: _seal, ...facts }: NamespaceFacts): Omit<NamespaceFacts, "seal"> {
  if (facts.revision > limits.revisionMax) throw new HoldfastError("limit_exceeded", `facts.revision: must be at most ${limits.revisionMax} (got ${facts.revision})`);
  return facts;
}
