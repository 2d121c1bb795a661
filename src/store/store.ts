import type { Json } from "../kernel/json.ts";

/**
 * The store interface. Everything above uses a {@link Store}: position, read, commit, log, watch, over one namespace.
 * Everything below implements an {@link Engine}: the same operations for any namespace, with commits in batches.
 * Nothing in this file depends on what a lease or a workflow is.
 *
 * A namespace is one linear history of commits, numbered by revision 1, 2, 3 … without gaps.
 */
export type Revision = number;

/** Keys from `start` (inclusive) to `end` (exclusive; absent: no upper bound), in UTF-8 byte order. */
export interface Range {
  readonly start: string;
  readonly end?: string;
}

export interface Entry {
  readonly key: string;
  /** `null` when read with `values: false`. */
  readonly value: Json;
  /** Per key, from 1, and never reused: not after a delete, not after expiry. */
  readonly version: number;
  /** Revision of the last change. */
  readonly revision: Revision;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** The entry is live while the engine's clock is below this; absent: it never expires. */
  readonly expiresAtMs?: number;
  readonly writer: string;
  /** The label that the caller chose for itself, in addition to the writer. */
  readonly agent?: string;
}

export interface ReadOptions {
  /** Reads as of this past revision; throws `compacted` if it is no longer kept. Expiry is judged at that revision's time. */
  readonly at?: Revision;
  /** With `at`: expiry is judged at this time instead. It must not be before that revision's time. */
  readonly liveAtMs?: number;
  /** Entries over all ranges together. Default and maximum: `limits.readEntriesMax`. */
  readonly limit?: number;
  /** Descending key order; with several ranges, the last range first. */
  readonly reverse?: boolean;
  /** `false` skips reading the values, which makes listings much cheaper. */
  readonly values?: boolean;
  /** An in-process engine stops after the entry with which the values' JSON reaches this many characters, and returns the `rest` if there is one. */
  readonly charactersMax?: number;
}

/** The newest revision of a namespace, and the time. */
export interface StorePosition {
  readonly revision: Revision;
  /** The engine's clock when this was read; it never goes back. */
  readonly nowMs: number;
}

/** Live entries, with ranges in the requested order and keys in byte order, all as of one revision. */
export interface Snapshot extends StorePosition {
  readonly entries: readonly Entry[];
  /** `limit` cut the result short. */
  readonly more: boolean;
  /** `charactersMax` cut the result short: the remaining ranges, in the requested order. They contain at least one entry. */
  readonly rest?: readonly Range[];
}

/** A condition on one key. An expired entry counts as absent. Version 0 means absent. */
export type Check =
  | { readonly key: string; readonly version: number }
  | { readonly key: string; readonly revision: Revision }
  | { readonly key: string; readonly is: "absent" | "present" };

/** The history record of a change. A write without one is bookkeeping and is not shown. */
export interface HistoryRecord {
  readonly kind: string;
  readonly op: string;
  readonly subject: string;
}

export interface Put {
  readonly op: "put";
  readonly key: string;
  readonly value: Json;
  /** How long the entry lives after the commit, by the engine's clock. Absent: it never expires, even if it had an expiry before. */
  readonly ttlMs?: number;
  readonly record?: HistoryRecord;
  /** The history record to write when the entry expires. */
  readonly lapse?: HistoryRecord;
  /** Makes the entry findable from this commit until it is replaced, deleted or expired. */
  readonly index?: IndexedText;
}

/** The data of an entry that full-text search uses. Terms are opaque here: they are created above the store interface, in the same way for notes and queries. */
export interface IndexedText {
  /** A collection that is searched and counted separately. */
  readonly area: string;
  /** Each term once, with its weight in hundredths (a whole number above 0). */
  readonly terms: readonly (readonly [term: string, weight: number])[];
  /** The length in words, a whole number. Ranking discounts long texts by it. */
  readonly length: number;
}

/** A new text for an entry that is already findable. */
export interface NewText {
  readonly key: string;
  /** The revision of the entry that the text was made from. */
  readonly revision: Revision;
  readonly index: IndexedText;
}

export interface SearchQuery {
  readonly areas: readonly string[];
  /** Each term once. */
  readonly terms: readonly string[];
  /** Return only the hits with the most rare terms: this many, plus those equal to the last of them (`bestHits`). Absent: return all. */
  readonly hitsMax?: number;
  /** An in-process engine calls this between the parts of a long search and waits for the result, so that other callers are served in between. */
  readonly pause?: () => Promise<void> | undefined;
}

/** Counts and weights, not a ranking: ranking happens above the store interface, in the same way for every engine. */
export interface SearchAnswer {
  readonly revision: Revision;
  /** Indexed entries of the areas, and the sum of their lengths. */
  readonly documents: number;
  readonly totalLength: number;
  /** For each term of the query, the number of these documents that contain it. */
  readonly frequencies: readonly number[];
  /** Live entries with at least one of the query's rarer terms (`essentialTerms`), in no particular order. */
  readonly hits: readonly SearchHit[];
}

export interface SearchHit {
  readonly key: string;
  /** The revision of the entry's last change: of two equal hits, the newer one comes first. */
  readonly revision: Revision;
  readonly length: number;
  /** One weight per query term; 0 if the document does not contain it. */
  readonly weights: readonly number[];
}

export interface Delete {
  readonly op: "delete";
  readonly key: string;
  readonly record?: HistoryRecord;
}

export type Write = Put | Delete;

/** Makes a retry safe: the key, its effect and `note` are stored in the same commit. */
export interface RequestKey {
  readonly key: string;
  readonly fingerprint: string;
}

export interface Commit {
  readonly checks?: readonly Check[];
  /** Each key at most once. */
  readonly writes: readonly Write[];
  readonly writer: string;
  readonly agent?: string;
  /** `note`: the data that the caller needs, in addition to the commit's outcome, to return the first answer again. */
  readonly request?: RequestKey & { readonly note: Json };
}

export interface WriteOutcome {
  /** For a put, the new version. For a delete, the version removed, or 0 if there was no live entry. */
  readonly version: number;
  /** Whether there was a live entry before. */
  readonly existed: boolean;
  readonly expiresAtMs?: number;
}

export interface Committed {
  readonly ok: true;
  /** The new revision, or the current one if nothing changed (only deletes of absent keys). */
  readonly revision: Revision;
  readonly atMs: number;
  readonly writes: readonly WriteOutcome[];
  /** The request key was known: this is the first outcome again, and nothing was written this time. */
  readonly replayed: boolean;
  readonly note?: Json;
}

export interface FailedCheck {
  readonly check: Check;
  /** The live entry that failed the check, without its value (`null`): 256 checks may fail on a mebibyte each. To get values, read `at` the refusal's revision. */
  readonly entry?: Entry;
}

export type CommitResult =
  | Committed
  | { readonly ok: false; readonly reason: "checks"; readonly revision: Revision; readonly atMs: number; readonly failed: readonly FailedCheck[] }
  | { readonly ok: false; readonly reason: "request_key_reused"; readonly revision: Revision; readonly atMs: number };

/** One change of one key in the log. */
export interface LogRow {
  readonly revision: Revision;
  /** Position within the commit. */
  readonly seq: number;
  readonly key: string;
  readonly op: "put" | "delete" | "expire";
  /** For a put, the version written. For the other operations, the version that ended. */
  readonly version: number;
  /** `null` for delete and expire, and for reads with `values: false`. */
  readonly value: Json;
  readonly expiresAtMs?: number;
  readonly atMs: number;
  readonly writer: string;
  readonly agent?: string;
  readonly record?: HistoryRecord;
  /** If requested, the value that the previous row put under the key. `null` if that row ended the entry, is no longer kept or never existed. */
  readonly previous?: Json;
  /** The values of this row were left out, because of `valuesBytesMax`. */
  readonly unread?: true;
}

export interface LogQuery {
  readonly ranges: readonly Range[];
  /** Only revisions above this. Throws `compacted` if it is below the compacted revision, unless `lenient`. */
  readonly after?: Revision;
  /** Only revisions below this. */
  readonly before?: Revision;
  /** Newest first. */
  readonly reverse?: boolean;
  /** Default and maximum: `limits.logRowsMax`. A revision is never split. */
  readonly limit?: number;
  /** Only rows with a history record, of these kinds if given, by this writer or agent if given. */
  readonly recorded?: { readonly kinds?: readonly string[]; readonly writer?: string };
  readonly values?: boolean;
  /** Return each row with the previous value of its key too; not with `values: false`. */
  readonly previous?: boolean;
  /** In bytes of JSON, including previous values. Once the preceding rows have reached this size, a row comes without its values and is `unread`. */
  readonly valuesBytesMax?: number;
  /** Few rows match: search by key rather than by revision. */
  readonly narrow?: boolean;
  /** Return the remaining part of a compacted past instead of an error (for history listings; never for watch). */
  readonly lenient?: boolean;
}

export interface LogPage {
  readonly rows: readonly LogRow[];
  /** Every revision up to here (in reverse, down to here) has been examined; continue from it. */
  readonly through: Revision;
  /** There was nothing beyond `through` at the time of reading. */
  readonly done: boolean;
  readonly revision: Revision;
}

/** All rows of one revision in the watched range. */
export interface Change {
  readonly revision: Revision;
  readonly atMs: number;
  readonly rows: readonly LogRow[];
}

export interface Store {
  readonly namespace: string;
  /** The newest revision and the time, without reading any entry. */
  position(): Promise<StorePosition>;
  read(ranges: Range | readonly Range[], options?: ReadOptions): Promise<Snapshot>;
  /** Every check holds and all writes take effect at one new revision, or nothing changes. Durable before it resolves. */
  commit(commit: Commit): Promise<CommitResult>;
  /** The outcome of an earlier commit with this request key, if it is still kept. */
  readRequest(key: string): Promise<StoredRequest | undefined>;
  log(query: LogQuery): Promise<LogPage>;
  /**
   * Every change after a revision, in order, none skipped and none repeated, until the signal aborts. Throws `compacted` if the revision is too far back.
   * Pass `values: false` if you only need to know that something changed.
   */
  watch(range: Range, after: Revision, signal: AbortSignal, options?: Pick<LogQuery, "values">): AsyncIterable<Change>;
  /** Live entries in the range. */
  count(range: Range): Promise<number>;
  /** Full-text search, up to date with the last commit. */
  search(query: SearchQuery): Promise<SearchAnswer>;
  /**
   * Replaces the index terms of findable entries. The entries themselves do not change, and no revision is taken. An entry that changed since the given revision,
   * or that is not findable, is skipped. Each key at most once, `limits.commitWritesMax` in all. Returns the number of replaced texts.
   */
  reindex(texts: readonly NewText[]): Promise<number>;
}

export interface StoredRequest {
  readonly fingerprint: string;
  readonly outcome: Committed;
}

/** A commit that has passed `prepareCommit`: it is within limits, and values are JSON text. */
export interface PreparedCommit {
  readonly checks: readonly Check[];
  readonly writes: readonly PreparedWrite[];
  readonly writer: string;
  readonly agent?: string;
  readonly request?: RequestKey & { readonly note: Json };
  readonly bytes: number;
}
export type PreparedWrite = (Omit<Put, "value"> & { readonly json: string }) | Delete;

export interface RetentionPolicy {
  /** History older than this may be deleted. */
  readonly ageMs: number;
  /** The maximum number of revisions kept; older ones may be deleted. */
  readonly revisions: number;
  /** The number of deleted keys whose last version is stored; beyond it, the oldest share one common floor. */
  readonly tombstones: number;
}

export interface Compacted {
  /** The number of log rows deleted. */
  readonly removed: number;
  /** The run ended because of the limit rather than the policy, so there may be more to delete. */
  readonly more: boolean;
}

/**
 * The state of a namespace apart from its records. Two stores are equal if their facts and their records are.
 * `base` and `gaps` describe a history that went back (an old backup was restored, or a promoted replica lacked commits). Callers may still hold revisions and
 * versions from the lost part, so the namespace continues above every number that was handed out.
 */
export interface NamespaceFacts {
  readonly revision: Revision;
  /** The time of the last commit (reads do not advance it). The namespace's clock never shows an earlier time. */
  readonly clockMs: number;
  readonly compacted: Revision;
  /** The time of the compacted revision. */
  readonly compactedAtMs: number;
  /** New keys start above this version. */
  readonly versionFloor: number;
  /** The revision is at least this, and the next version of every key is above it. 0 if history never went back. */
  readonly base: Revision;
  /** Oldest first: revisions above the first number and below the second were either never assigned or lost. */
  readonly gaps: readonly (readonly [kept: Revision, base: Revision])[];
  readonly seal?: Seal;
}

/**
 * A namespace that is moving from one store to another. The seal applies to every process and survives restarts.
 * - `copying`: works as usual, but nothing is compacted until `untilMs` (by the engine's clock);
 * - `moving`: read-only for a short time; commits fail with `unavailable`;
 * - `moved`: everything fails with `moved`, naming `to`;
 * - `filling`: not complete yet; everything fails with `unavailable`. Only the mover uses `progress`.
 * `dump`, `load`, `seal` and `health` always work. Sweeping and compacting do nothing in the last three states.
 * `by` is a name that one run of one job chose, so that no job mistakes another job's seal for its own. Several jobs may hold a namespace as `copying`,
 * each until its own time; `untilMs` is the latest of them.
 */
export type Seal =
  | { readonly state: "copying"; readonly untilMs: number; readonly holds: Readonly<Record<string, number>> }
  | { readonly state: "moving"; readonly by: string; readonly to: string }
  | { readonly state: "moved"; readonly by?: string; readonly to: string }
  | { readonly state: "filling"; readonly by?: string; readonly progress: Json };

/** One stored part of a namespace, with enough data for another store to become equal. */
export type StoredRecord = StoredLogRow | StoredKey | StoredRequestKey;

export interface StoredLogRow {
  readonly kind: "log";
  readonly revision: Revision;
  readonly seq: number;
  readonly key: string;
  readonly op: LogRow["op"];
  readonly version: number;
  /** The value's JSON text; absent for delete and expire. */
  readonly json?: string;
  readonly expiresAtMs?: number;
  readonly createdAtMs: number;
  readonly atMs: number;
  readonly writer: string;
  readonly agent?: string;
  readonly record?: HistoryRecord;
  readonly lapse?: HistoryRecord;
}

/** Data that cannot be derived from the log: the index text of an entry, and the last version of a deleted key that is no longer in the log. */
export interface StoredKey {
  readonly kind: "key";
  readonly key: string;
  /** The revision of its newest log row, even if that row is no longer kept. */
  readonly revision: Revision;
  readonly seq: number;
  readonly version: number;
  /** Whether the entry exists, live or expired and not yet swept. `false`: only its last version is stored. */
  readonly present: boolean;
  /** Its terms in any order. */
  readonly index?: IndexedText;
}

export interface StoredRequestKey {
  readonly kind: "request";
  readonly key: string;
  readonly fingerprint: string;
  readonly keptUntilMs: number;
  readonly outcome: Committed;
}

export type DumpQuery =
  /** Every kept log row, including those below the compacted revision that live entries need. Complete revisions, in order. */
  | { readonly part: "log"; readonly after: Revision }
  /** Every key that exists or existed, in byte order; `after` undefined: from the first. */
  | { readonly part: "keys"; readonly after?: string }
  /** Request keys in the order in which they expire: those after this one. For the first page, those kept until `keptUntilMs` or longer. */
  | { readonly part: "requests"; readonly after: { readonly keptUntilMs: number; readonly key?: string } }
  /** Log rows after a revision, followed by the current state of the keys they touch. Throws `compacted` if the revision is too far back. */
  | { readonly part: "changes"; readonly after: Revision };

/** All as of one moment. About `limits.dumpRecordsMax` records or `limits.commitBytesMax` bytes, whichever comes first. */
export interface DumpPage {
  readonly facts: NamespaceFacts;
  readonly records: readonly StoredRecord[];
  /** There was nothing more at that moment. Otherwise, continue after the last record (for changes: after its last log row). */
  readonly done: boolean;
}

export interface EngineHealth {
  readonly engine: string;
  /** What an acknowledged write survives, in words that a person can check. */
  readonly durability: string;
  /** Engine-specific facts: versions, settings read back, sizes. Plain JSON. */
  readonly facts: Readonly<Record<string, Json>>;
  /** Settings that a person should change, if any. */
  readonly warnings: readonly EngineWarning[];
}

export interface EngineWarning {
  /** The subject, for code that handles one of these specifically. */
  readonly about: "clock" | "durability" | "file mode" | "history" | "eviction" | "memory" | "rights";
  readonly says: string;
}

/**
 * The interface of an engine. Every engine follows these rules (the memory engine is their specification):
 * - commits of one batch apply in order, each with its own checks, revision and outcome, all durable before the promise resolves;
 * - a commit that changes nothing takes no revision;
 * - a write to a key whose entry has expired first logs the expiry (writer `systemWriter`), in the same revision;
 * - expiry is judged by the engine's own clock, which never goes back within a namespace.
 */
export interface Engine extends AsyncDisposable {
  readonly name: string;
  /** One cheap read. Rejected if the seal forbids reads. */
  position(namespace: string): Promise<StorePosition>;
  read(namespace: string, ranges: readonly Range[], options: ReadOptions): Promise<Snapshot>;
  commit(namespace: string, batch: readonly PreparedCommit[]): Promise<readonly CommitResult[]>;
  readRequest(namespace: string, key: string): Promise<StoredRequest | undefined>;
  log(namespace: string, query: LogQuery): Promise<LogPage>;
  count(namespace: string, range: Range): Promise<number>;
  search(namespace: string, query: SearchQuery): Promise<SearchAnswer>;
  /** See {@link Store.reindex}. Does nothing while the seal forbids compacting, because a job that copies the namespace would miss the change. */
  reindex(namespace: string, texts: readonly NewText[]): Promise<number>;
  /** Calls `notify` soon after any process commits to the namespace. It may notify without a change, but never misses one. Returns a function that unsubscribes. */
  onChange(namespace: string, notify: () => void): () => void;
  /** Turns up to `limit` expired entries into history records, and deletes expired request keys. Returns the number of entries. */
  sweep(namespace: string, limit: number): Promise<number>;
  /** Examines about `limit` log rows that the policy releases and deletes those that no live entry needs. Live entries stay. */
  compact(namespace: string, policy: RetentionPolicy, limit: number): Promise<Compacted>;
  namespaces(): Promise<readonly string[]>;
  health(namespace: string): Promise<EngineHealth>;
  /**
   * Checks the files that the engine manages itself, across all namespaces, and lists the damage. Empty if there is none, or if a server manages the files.
   * `onRows` receives the number of rows read. Blocks its process until it is done.
   */
  checkFiles(onRows?: (rows: number) => void): Promise<readonly string[]>;
  /** One page of the namespace's records. */
  dump(namespace: string, query: DumpQuery): Promise<DumpPage>;
  /**
   * Loads records of another store, durably and all or nothing. Log rows come in order, and before the keys and requests that refer to them;
   * a live entry follows from its newest log row. Loading the same records again changes nothing. If `facts` is given, it replaces the namespace's facts (except the seal).
   * The namespace must be sealed as `filling`. If `by` is given, it must match the seal: `conflict` if another job has taken over.
   */
  load(namespace: string, records: readonly StoredRecord[], facts?: NamespaceFacts, by?: string): Promise<void>;
  /**
   * Sets or removes the seal if the current one is `expected` (undefined: no seal). Otherwise nothing changes, and a `conflict` reports the seal that was found.
   * Durable; takes effect for every process at once.
   */
  seal(namespace: string, seal: Seal | undefined, expected?: Seal): Promise<void>;
  /** Resets a namespace that is sealed as `filling` to one that was never used, removing the seal last. If interrupted, it is still sealed and can be cleared again. */
  clear(namespace: string): Promise<void>;
}

/** The writer of changes that the store makes itself. */
export const systemWriter = "holdfast";
