import type { Json } from "../kernel/json.ts";

/**
 * The store interface. Everything above speaks to a {@link Store}: position, read, commit, log, watch, over one namespace.
 * Everything below implements an {@link Engine}: the same operations for any namespace, commits in batches.
 * No word in this file knows what a lease or a workflow is.
 *
 * A namespace is one linear history of commits, numbered by revision 1, 2, 3 … without gaps.
 */
export type Revision = number;

/** Keys from `start` (inclusive) to `end` (exclusive; absent = no upper end), in UTF-8 byte order. */
export interface Range {
  readonly start: string;
  readonly end?: string;
}

export interface Entry {
  readonly key: string;
  /** `null` when read with `values: false`. */
  readonly value: Json;
  /** Per key, from 1, never given twice: not after delete, not after expiry. */
  readonly version: number;
  /** Revision of the last change. */
  readonly revision: Revision;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** The entry is live while the engine's clock is below this; absent = for ever. */
  readonly expiresAtMs?: number;
  readonly writer: string;
  /** The label the caller gave itself, beside the writer. */
  readonly agent?: string;
}

export interface ReadOptions {
  /** As of this past revision; `compacted` when it is no longer kept. Expiry is judged as of that revision's time. */
  readonly at?: Revision;
  /** With `at`: expiry is judged as of this time instead, which is not before that revision's. */
  readonly liveAtMs?: number;
  /** Entries over all ranges together. Default and maximum: `limits.readEntriesMax`. */
  readonly limit?: number;
  /** Descending key order; with several ranges, the last range first. */
  readonly reverse?: boolean;
  /** `false` leaves values unread: far cheaper for listings. */
  readonly values?: boolean;
  /** An engine that works in this process stops after the entry with which the values' JSON reaches so many characters, and gives the `rest` where there is one. */
  readonly charactersMax?: number;
}

/** How far a namespace has got: its newest revision, and the time. */
export interface StorePosition {
  readonly revision: Revision;
  /** The engine's clock when this was read; never goes back. */
  readonly nowMs: number;
}

/** Live entries, ranges in the order asked, keys in byte order, all as of one revision. */
export interface Snapshot extends StorePosition {
  readonly entries: readonly Entry[];
  /** The limit cut the answer short. */
  readonly more: boolean;
  /** `charactersMax` cut the answer short: the ranges that are left, in the order asked. They hold at least one entry. */
  readonly rest?: readonly Range[];
}

/** A condition on one key. An expired entry counts as absent. Version 0 means absent. */
export type Check =
  | { readonly key: string; readonly version: number }
  | { readonly key: string; readonly revision: Revision }
  | { readonly key: string; readonly is: "absent" | "present" };

/** What history will say of a change. A write without one is bookkeeping and is not shown. */
export interface HistoryRecord {
  readonly kind: string;
  readonly op: string;
  readonly subject: string;
}

export interface Put {
  readonly op: "put";
  readonly key: string;
  readonly value: Json;
  /** Live for this long from the commit, by the engine's clock. Absent = for ever, also if it had an expiry before. */
  readonly ttlMs?: number;
  readonly record?: HistoryRecord;
  /** What history will say when the entry expires. */
  readonly lapse?: HistoryRecord;
  /** Makes the entry findable, from this commit on until it is replaced, deleted or expired. */
  readonly index?: IndexedText;
}

/** What full text search knows of an entry. Terms are opaque here: they are made, for notes and questions alike, above the store interface. */
export interface IndexedText {
  /** A collection searched and counted for itself. */
  readonly area: string;
  /** Each term once, with its weight in hundredths (a whole number above 0). */
  readonly terms: readonly (readonly [term: string, weight: number])[];
  /** In words: long texts are discounted by it. A whole number. */
  readonly length: number;
}

/** Another text for an entry that is findable already. */
export interface NewText {
  readonly key: string;
  /** Of the entry as the text was made from it. */
  readonly revision: Revision;
  readonly index: IndexedText;
}

export interface SearchQuery {
  readonly areas: readonly string[];
  /** Each term once. */
  readonly terms: readonly string[];
  /** An engine that works in this process calls it between the parts of a long search, and waits for what it gives: others are served in between. */
  readonly pause?: () => Promise<void> | undefined;
}

/** Counts and weights, not a ranking: the ranking is made above the store interface, the same for every engine. */
export interface SearchAnswer {
  readonly revision: Revision;
  /** Indexed entries of the areas, and the sum of their lengths. */
  readonly documents: number;
  readonly totalLength: number;
  /** In how many of them each term of the query stands. */
  readonly frequencies: readonly number[];
  /** Live entries with at least one of the query's rarer terms (`essentialTerms`), in no particular order. */
  readonly hits: readonly SearchHit[];
}

export interface SearchHit {
  readonly key: string;
  /** Of the entry's last change: the newer of two equal answers stands first. */
  readonly revision: Revision;
  readonly length: number;
  /** By term of the query; 0 where it is missing. */
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
  /** `note`: what the caller needs, beside the commit's own outcome, to give the first answer again. */
  readonly request?: RequestKey & { readonly note: Json };
}

export interface WriteOutcome {
  /** Of a put: the new version. Of a delete: the version removed, 0 if nothing live was there. */
  readonly version: number;
  /** A live entry was there before. */
  readonly existed: boolean;
  readonly expiresAtMs?: number;
}

export interface Committed {
  readonly ok: true;
  /** The new revision; the current one when nothing changed (only deletes of absent keys). */
  readonly revision: Revision;
  readonly atMs: number;
  readonly writes: readonly WriteOutcome[];
  /** The request key was known: this is the first outcome again, and nothing was written now. */
  readonly replayed: boolean;
  readonly note?: Json;
}

export interface FailedCheck {
  readonly check: Check;
  /** The live entry that broke the check, without its value (`null`): 256 checks may be broken by a mebibyte each. Read `at` the refusal's revision for values. */
  readonly entry?: Entry;
}

export type CommitResult =
  | Committed
  | { readonly ok: false; readonly reason: "checks"; readonly revision: Revision; readonly atMs: number; readonly failed: readonly FailedCheck[] }
  | { readonly ok: false; readonly reason: "request_key_reused"; readonly revision: Revision; readonly atMs: number };

/** One change of one key, as the log keeps it. */
export interface LogRow {
  readonly revision: Revision;
  /** Position within the commit. */
  readonly seq: number;
  readonly key: string;
  readonly op: "put" | "delete" | "expire";
  /** Of a put: the version written. Of the others: the version that ended. */
  readonly version: number;
  /** `null` for delete and expire, and when asked with `values: false`. */
  readonly value: Json;
  readonly expiresAtMs?: number;
  readonly atMs: number;
  readonly writer: string;
  readonly agent?: string;
  readonly record?: HistoryRecord;
  /** Where it was asked for: what the row before this one put under the key. `null` when that row ended it, is no longer kept or never was. */
  readonly previous?: Json;
  /** The values of this row were left out, because of `valuesBytesMax`. */
  readonly unread?: true;
}

export interface LogQuery {
  readonly ranges: readonly Range[];
  /** Only revisions above this. Below the compacted revision: `compacted`, unless `lenient`. */
  readonly after?: Revision;
  /** Only revisions below this. */
  readonly before?: Revision;
  /** Newest first. */
  readonly reverse?: boolean;
  /** Default and maximum: `limits.logRowsMax`. A revision is never cut in two. */
  readonly limit?: number;
  /** Only rows with a history record, of these kinds if given, by this writer or agent if given. */
  readonly recorded?: { readonly kinds?: readonly string[]; readonly writer?: string };
  readonly values?: boolean;
  /** Every row also with the value that its key had before; not with `values: false`. */
  readonly previous?: boolean;
  /** In bytes of JSON, previous values included: once the rows before it have reached so many, a row comes without its values and is `unread`. */
  readonly valuesBytesMax?: number;
  /** Few rows match: search by key rather than by revision. */
  readonly narrow?: boolean;
  /** Give what is left of a compacted past instead of an error (history listings; never watch). */
  readonly lenient?: boolean;
}

export interface LogPage {
  readonly rows: readonly LogRow[];
  /** Every revision up to here (down to here in reverse) has been looked at; continue from it. */
  readonly through: Revision;
  /** Nothing is left beyond `through` at the time of reading. */
  readonly done: boolean;
  readonly revision: Revision;
}

/** Everything of one revision that lies in the watched range. */
export interface Change {
  readonly revision: Revision;
  readonly atMs: number;
  readonly rows: readonly LogRow[];
}

export interface Store {
  readonly namespace: string;
  /** The newest revision and the time, without reading an entry. */
  position(): Promise<StorePosition>;
  read(ranges: Range | readonly Range[], options?: ReadOptions): Promise<Snapshot>;
  /** Every check holds and all writes take effect at one new revision, or nothing changes. Durable before it resolves. */
  commit(commit: Commit): Promise<CommitResult>;
  /** The outcome of an earlier commit with this request key, if it is still kept. */
  readRequest(key: string): Promise<StoredRequest | undefined>;
  log(query: LogQuery): Promise<LogPage>;
  /** Every change after a revision, in order, none skipped, none twice, until the signal aborts. Throws `compacted` when too far back. `values: false` for who only needs to know that something changed. */
  watch(range: Range, after: Revision, signal: AbortSignal, options?: Pick<LogQuery, "values">): AsyncIterable<Change>;
  /** Live entries in the range. */
  count(range: Range): Promise<number>;
  /** Full text, as fresh as the last commit. */
  search(query: SearchQuery): Promise<SearchAnswer>;
  /**
   * Makes findable entries found by other terms; the entries themselves stay as they are, and nothing takes a revision. One that has been changed since the revision
   * given, or is not findable, is left alone. Each key at most once, `limits.commitWritesMax` together. Answers how many were replaced.
   */
  reindex(texts: readonly NewText[]): Promise<number>;
}

export interface StoredRequest {
  readonly fingerprint: string;
  readonly outcome: Committed;
}

/** A commit that has passed `prepareCommit`: limits hold, values are JSON text. */
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
  /** History older than this may be forgotten. */
  readonly ageMs: number;
  /** Revisions kept at most; the older ones may be forgotten. */
  readonly revisions: number;
  /** Deleted keys whose last version is remembered; beyond it the oldest share one common floor. */
  readonly tombstones: number;
}

export interface Compacted {
  /** Log rows forgotten. */
  readonly removed: number;
  /** The limit ended it, not the policy: there may be more to forget. */
  readonly more: boolean;
}

/**
 * What a namespace is beside its records: where it stands. Another store is equal when its facts and its records are.
 * `base` and `gaps` describe a history that went back (an old backup restored, a replica promoted that lacked commits): the revisions and versions
 * given in the lost part may be in somebody's hands, so the namespace goes on above anything they can hold.
 */
export interface NamespaceFacts {
  readonly revision: Revision;
  /** The time of the last commit (reading does not move it); the namespace's clock never shows less. */
  readonly clockMs: number;
  readonly compacted: Revision;
  /** The time of the compacted revision. */
  readonly compactedAtMs: number;
  /** New keys start above this version. */
  readonly versionFloor: number;
  /** The revision is at least this, and the next version of every key stands above it. 0 where history never went back. */
  readonly base: Revision;
  /** Oldest first: revisions above the first number and below the second were never given, or given and lost. */
  readonly gaps: readonly (readonly [kept: Revision, base: Revision])[];
  readonly seal?: Seal;
}

/**
 * A namespace on its way from one store to another. The seal holds for every process and survives restarts.
 * - `copying`: works as ever, but nothing is compacted until `untilMs` (by the engine's clock);
 * - `moving`: read only for a moment, commits get `unavailable`;
 * - `moved`: everything is refused with `moved`, naming `to`;
 * - `filling`: not complete yet, everything is refused with `unavailable`; `progress` is the mover's own.
 * `dump`, `load`, `seal` and `health` work at all times; sweeping and compacting a namespace under the last three does nothing.
 * `by` is a name that one run of one job gave itself: nobody takes the seal of another for its own. Several may hold a namespace as `copying`, each until its own
 * time; `untilMs` is the latest of them.
 */
export type Seal =
  | { readonly state: "copying"; readonly untilMs: number; readonly holds: Readonly<Record<string, number>> }
  | { readonly state: "moving"; readonly by: string; readonly to: string }
  | { readonly state: "moved"; readonly by?: string; readonly to: string }
  | { readonly state: "filling"; readonly by?: string; readonly progress: Json };

/** One part of what a namespace is made of, as stored: enough for another store to become equal. */
export type StoredRecord = StoredLogRow | StoredKey | StoredRequestKey;

export interface StoredLogRow {
  readonly kind: "log";
  readonly revision: Revision;
  readonly seq: number;
  readonly key: string;
  readonly op: LogRow["op"];
  readonly version: number;
  /** The value's text; absent for delete and expire. */
  readonly json?: string;
  readonly expiresAtMs?: number;
  readonly createdAtMs: number;
  readonly atMs: number;
  readonly writer: string;
  readonly agent?: string;
  readonly record?: HistoryRecord;
  readonly lapse?: HistoryRecord;
}

/** What does not follow from the log: the text by which an entry is found, and the last version of what is gone and no longer in the log. */
export interface StoredKey {
  readonly kind: "key";
  readonly key: string;
  /** Of its newest log row, be it kept or not. */
  readonly revision: Revision;
  readonly seq: number;
  readonly version: number;
  /** In the namespace, live or expired and not yet swept; `false`: only its last version is remembered. */
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
  /** Every log row that is kept, also those below the compacted revision that live entries need. Whole revisions, in order. */
  | { readonly part: "log"; readonly after: Revision }
  /** Every key there is or was, in byte order; `after` undefined = from the first. */
  | { readonly part: "keys"; readonly after?: string }
  /** Request keys in the order in which they are forgotten: those after this one, and for the first page those kept until `keptUntilMs` or longer. */
  | { readonly part: "requests"; readonly after: { readonly keptUntilMs: number; readonly key?: string } }
  /** Log rows after a revision and then the keys they touch, as those are now. `compacted` when too far back. */
  | { readonly part: "changes"; readonly after: Revision };

/** Of one moment. About `limits.dumpRecordsMax` records or `limits.commitBytesMax` bytes, whichever comes first. */
export interface DumpPage {
  readonly facts: NamespaceFacts;
  readonly records: readonly StoredRecord[];
  /** Nothing was left at that moment. Otherwise ask again after the last record (for changes: after its last log row). */
  readonly done: boolean;
}

export interface EngineHealth {
  readonly engine: string;
  /** What an acknowledged write survives, in words a person can check. */
  readonly durability: string;
  /** Engine-specific facts: versions, settings read back, sizes. Plain JSON. */
  readonly facts: Readonly<Record<string, Json>>;
  /** What a person should change, if anything. */
  readonly warnings: readonly EngineWarning[];
}

export interface EngineWarning {
  /** What it is about, for whoever looks into one of these more closely. */
  readonly about: "clock" | "durability" | "file mode" | "history" | "eviction" | "memory" | "rights";
  readonly says: string;
}

/**
 * What an engine implements. Rules every engine keeps (the memory engine is their specification):
 * - commits of one batch apply in order, each with its own checks, revision and outcome, all durable before the promise resolves;
 * - a commit that changes nothing takes no revision;
 * - a write that meets an expired entry first logs its expiry (writer `systemWriter`), in the same revision;
 * - expiry is judged by the engine's own clock, which never goes back within a namespace.
 */
export interface Engine extends AsyncDisposable {
  readonly name: string;
  /** One cheap read. Refused where a seal refuses reading. */
  position(namespace: string): Promise<StorePosition>;
  read(namespace: string, ranges: readonly Range[], options: ReadOptions): Promise<Snapshot>;
  commit(namespace: string, batch: readonly PreparedCommit[]): Promise<readonly CommitResult[]>;
  readRequest(namespace: string, key: string): Promise<StoredRequest | undefined>;
  log(namespace: string, query: LogQuery): Promise<LogPage>;
  count(namespace: string, range: Range): Promise<number>;
  search(namespace: string, query: SearchQuery): Promise<SearchAnswer>;
  /** See {@link Store.reindex}. Does nothing while the seal forbids compacting: whoever copies the namespace would miss it. */
  reindex(namespace: string, texts: readonly NewText[]): Promise<number>;
  /** Calls `notify` soon after any process commits to the namespace. It may notify for nothing, but never misses a change. Returns a function that unsubscribes. */
  onChange(namespace: string, notify: () => void): () => void;
  /** Turns up to `limit` expired entries into history records, and forgets request keys past their time. Returns how many. */
  sweep(namespace: string, limit: number): Promise<number>;
  /** Looks at about `limit` log rows that the policy lets go and forgets what nothing live needs. Live entries stay. */
  compact(namespace: string, policy: RetentionPolicy, limit: number): Promise<Compacted>;
  namespaces(): Promise<readonly string[]>;
  health(namespace: string): Promise<EngineHealth>;
  /**
   * Reads the files that the engine keeps itself, every namespace, and names what is damaged; empty when nothing is, or where a server keeps them. `onRows` is told how many rows
   * were read. Blocks its process until it is done.
   */
  checkFiles(onRows?: (rows: number) => void): Promise<readonly string[]>;
  /** One page of everything the namespace is made of. */
  dump(namespace: string, query: DumpQuery): Promise<DumpPage>;
  /**
   * Takes over records as another store had them, durably and all or nothing. Log rows come in order and before the keys and requests that speak of them;
   * a live entry follows from its newest log row. The same records again change nothing. `facts`, when given, are then the namespace's (without the seal).
   * Only for a namespace that is sealed as `filling`, and, where `by` is given, by just that one: `conflict` when another has taken over.
   */
  load(namespace: string, records: readonly StoredRecord[], facts?: NamespaceFacts, by?: string): Promise<void>;
  /**
   * Sets the seal, or takes it away, if the one that is there is `expected` (none: there is none); otherwise nothing changes and a `conflict` says what was found.
   * Durable; holds for every process at once.
   */
  seal(namespace: string, seal: Seal | undefined, expected?: Seal): Promise<void>;
  /** Takes a namespace that is sealed as `filling` back to one that was never used, the seal last. Broken off, it is still sealed and can be cleared again. */
  clear(namespace: string): Promise<void>;
}

/** The writer of what the store does by itself. */
export const systemWriter = "holdfast";
