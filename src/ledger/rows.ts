import type {
  Engine,
  Entry,
  IndexedText,
  LogQuery,
  LogRow,
  NamespaceFacts,
  PreparedCommit,
  Range,
  ReadOptions,
  SearchQuery,
  Snapshot,
  StoredKey,
  StoredLogRow,
  StoredRecord,
  StoredRequest,
  StoredRequestKey,
} from "../store/store.ts";
import type { FoundEntries } from "./found-entries.ts";
import type { LoadedLog, RecordLoadPlan } from "./load-plan.ts";
import type { RevisionSpan } from "./log-paging.ts";
import type { BatchPlan, BatchSource, Tombstone } from "./plan-batch.ts";
import type { Compaction, PastRow } from "./reclaim.ts";
import type { Posting } from "./search-candidates.ts";

/**
 * The row interface: what an engine that stores a namespace in rows implements. `LedgerEngine` decides what the rows mean, once for all such engines.
 * Below this interface are statements, transactions, connections and the translation of errors.
 */
export interface Rows extends AsyncDisposable, Pick<Engine, "name" | "onChange" | "namespaces" | "health" | "checkFiles"> {
  /** Runs work that reads. Each question sees one moment; different questions may see different ones. */
  ask<T>(namespace: string, look: (reads: RowReads) => Work<T>): Promise<T>;
  /** Runs work whose questions all see one moment. Only the pause of a search may end that moment. */
  read<T>(namespace: string, look: (reads: RowReads) => Work<T>): Promise<T>;
  /** The live entry under one key, for a driver that combines such reads of several callers. */
  readKey?(namespace: string, key: string, hasValue: boolean): Promise<FoundKey>;
  /**
   * Locks the namespace, calls `decide` and applies its changes: all or nothing, durably. The batch names the rows that the decision needs.
   * Several batches may share a transaction; an error thrown by `decide` concerns its own batch alone.
   */
  commit<T>(namespace: string, batch: readonly PreparedCommit[], decide: (locked: LockedRows) => RowDecision<T>): Promise<T>;
  /** The same for a decision that asks more questions under the lock. `removed`: how many log rows were deleted. */
  change<T>(namespace: string, named: NamedRows, decide: (locked: LockedRows) => Work<RowDecision<T>>): Promise<{ readonly result: T; readonly removed: number }>;
  /** Deletes all rows of a namespace in slices, its own row last. Calls the check under the lock, before each slice. */
  clear(namespace: string, requireClearable: (space: SpaceRow) => void): Promise<void>;
}

/**
 * Work on rows, in steps: `yield*` returns the answer to a question. A driver that answers at once yields nothing. A driver that has to wait yields what it
 * waits for, and is resumed with the answer; only the driver knows what that is. So one text serves a synchronous and an asynchronous driver.
 */
export type Work<T> = Generator<unknown, T, never>;

/** Work of a driver that has the answer already. */
// biome-ignore lint/correctness/useYield: there is nothing to wait for.
export function* answered<T>(answer: T): Work<T> {
  return answer;
}

type Mutable<T> = { -readonly [P in keyof T]: T[P] };

/** The row of a namespace. Decisions change it, and the driver writes it back. */
export interface SpaceRow extends Mutable<NamespaceFacts> {
  /** 0: nothing was ever committed to the namespace. */
  id: number;
  /** How many tombstones are stored. */
  tombstones: number;
  /** The namespace's clock when the row was read; it never goes back. */
  nowMs: number;
}

/** An answer together with the namespace's row at the same moment. */
export type AtMoment<T> = T & { readonly space: SpaceRow };

export type FoundKey = AtMoment<{ readonly entry: Entry | undefined; readonly reads: RowReads }>;

/** Single keys in reading order, or one range. */
export type PastPart = { readonly keys: readonly string[] } | { readonly range: Range };

export interface Area {
  readonly id: number;
  readonly documents: number;
  readonly length: number;
}

/** Terms whose weights a search looks up. `weigh` names a term by its index in `terms`. */
export interface Probe extends Pick<SearchQuery, "pause"> {
  readonly areas: readonly Area[];
  readonly terms: readonly { readonly term: string; readonly frequency: number }[];
  readonly weigh: (logPosition: number, term: number, weight: number) => void;
  /** The log positions in groups, best first. Call it only after everything has been weighed. */
  readonly groups: () => Iterable<readonly number[]>;
  /** Live documents of later groups may be left out once there are this many. */
  readonly hitsMax: number;
}

/** Records of a dump, read only as far as a page needs them. `isWhole`: there are no others; otherwise these are more than a page. */
export interface Fetched<R extends StoredRecord> {
  readonly records: Iterable<R>;
  readonly isWhole: boolean;
}

/** Queries on one namespace. A `space` that is passed in comes from an earlier answer. */
export interface RowReads {
  /** Records for this process that a caller has seen this revision and this time (or only one of them). Neither goes back afterwards. */
  noteShown(space: SpaceRow, only?: "revision" | "time"): void;
  space(): Work<SpaceRow>;

  /** Entries that are live at the time of the space. `rest` is returned only because of `charactersMax`. */
  live(ranges: readonly Range[], options: ReadOptions): Work<AtMoment<Pick<Snapshot, "entries" | "more" | "rest">>>;
  count(range: Range): Work<AtMoment<{ readonly count: number }>>;
  /** A request that is still kept at the time of the space. */
  request(key: string): Work<AtMoment<{ readonly request: StoredRequest | undefined }>>;

  /** The time of the newest log row below the bound. */
  timeBefore(space: SpaceRow, bound: number): Work<number | undefined>;
  /** Offers to `found` the newest row below the bound of each key, if that row is a put. Returns the key of the first entry that `found` did not take. */
  past(space: SpaceRow, part: PastPart, bound: number, options: ReadOptions, found: FoundEntries): Work<string | undefined>;

  /** Up to `count` rows, from the nearest revision that has any. `examined`: as `LogPaging.spanFrom` defines it. */
  logBySpan(query: LogQuery, count: number): Work<AtMoment<{ readonly rows: readonly LogRow[]; readonly examined?: RevisionSpan }>>;
  /** Up to `count` rows along the chains of the keys in the ranges; `rows` is undefined if those chains have more than `narrowRowsMax` rows. */
  logByKey(query: LogQuery, count: number): Work<AtMoment<{ readonly rows: readonly LogRow[] | undefined }>>;
  /** The values of a page, if `boundsValues` holds and the rows came without them. */
  logValues(space: SpaceRow, rows: readonly LogRow[], query: LogQuery): Work<readonly LogRow[]>;

  /** The areas of these names that have documents, and how many of their documents contain each term. */
  termCounts(areas: readonly string[], terms: readonly string[]): Work<AtMoment<{ readonly areas: readonly Area[]; readonly frequencies: readonly number[] }>>;
  /** For each term, the newest `limits.searchCandidatesMax` postings of every area. */
  postings(space: SpaceRow, areas: readonly Area[], terms: readonly { readonly term: string; readonly frequency: number }[]): Work<readonly (readonly Posting[])[]>;
  /**
   * Reports the weights of terms in these documents, then returns the documents that are live.
   * An in-process driver may pause in between; the returned space is the one at the end.
   */
  probe(space: SpaceRow, documents: readonly number[], probe: Probe): Work<AtMoment<{ readonly live: readonly (readonly [logPosition: number, key: string])[] }>>;

  /** Whether an entry or a request key has expired. */
  isSweepDue(): Work<AtMoment<{ readonly isDue: boolean }>>;
  pastRows(space: SpaceRow, rows: Compaction["rowsToRead"]): Work<readonly PastRow[]>;
  oldTombstones(space: SpaceRow, tombstones: Compaction["tombstonesToRead"]): Work<readonly (Pick<Tombstone, "version"> & { readonly key: string })[]>;

  /** Log rows after this revision: at least a page, and only complete revisions. */
  storedRows(space: SpaceRow, after: number): Work<Fetched<StoredLogRow>>;
  /** In byte order: the keys after this one, or those of the named keys that exist. */
  storedKeys(space: SpaceRow, which: { readonly after?: string } | { readonly only: readonly string[] }): Work<Fetched<StoredKey>>;
  storedRequests(space: SpaceRow, after: { readonly keptUntilMs: number; readonly key?: string }): Work<Fetched<StoredRequestKey>>;
}

/** The rows that a decision needs, so that a driver can read them in the round trip that takes the lock. */
export interface NamedRows {
  readonly keys?: ReadonlySet<string>;
  readonly requestKeys?: readonly string[];
  /** Log rows whose existence the decision depends on. */
  readonly logPositions?: readonly number[];
}

/** Rows under the lock of their namespace. */
export interface LockedRows {
  readonly reads: Pick<RowReads, "noteShown" | "pastRows" | "oldTombstones">;
  readonly space: SpaceRow;
  /** Answers for the named keys and request keys, and for the keys that `expired` returned. */
  readonly source: BatchSource;
  /** Answers for the named log positions. */
  readonly log: LoadedLog;
  /** Keys of expired entries, in the order in which they expired. */
  expired(count: number): Work<readonly string[]>;
  /** Call this before assigning revisions. If the store's history went back, the namespace continues above every revision that may be lost. */
  continueHistory(): void;
}

export interface RowDecision<T> {
  readonly result: T;
  /** Absent: nothing is written. */
  readonly changes?: RowChanges;
  /** Notify watchers once the changes are durable. */
  readonly notifies?: boolean;
}

/** A text for the index, for the entry whose newest log row is at this position. */
export interface AddedText {
  readonly key: string;
  readonly logPosition: number;
  readonly index: IndexedText;
}

export interface RowChanges {
  /** Log rows to append, slots to write and request keys to keep. */
  readonly plan?: BatchPlan;
  /** Texts and tombstones of another store, in addition to the plan. */
  readonly load?: RecordLoadPlan;
  /** Texts that replace the existing ones of the same entries. */
  readonly texts?: readonly AddedText[];
  /** Delete up to `count` expired request keys, oldest first. */
  readonly requestsPast?: { readonly nowMs: number; readonly count: number };
  /** Positions of log rows to delete; some may be deleted already. */
  readonly rows?: readonly number[];
  /** Keys whose tombstones are deleted. */
  readonly tombstones?: readonly string[];
  /** Write every column of the namespace's row. By default, only the columns that `plan` changes are written. */
  readonly space?: boolean;
}
