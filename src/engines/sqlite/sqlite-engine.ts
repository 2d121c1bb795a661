import { resolve } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { systemClock } from "../../kernel/clock.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { silentLog } from "../../kernel/log.ts";
import { requireSeal, requireUnsealed, restsFrom } from "../../store/engine-rules.ts";
import { compareKeys } from "../../store/ranges.ts";
import type {
  CommitResult,
  Compacted,
  DumpPage,
  DumpQuery,
  Engine,
  EngineHealth,
  LogPage,
  LogQuery,
  NamespaceFacts,
  NewText,
  PreparedCommit,
  Range,
  ReadOptions,
  RetentionPolicy,
  Seal,
  SearchAnswer,
  SearchQuery,
  Snapshot,
  StoredRecord,
  StoredRequest,
  StorePosition,
} from "../../store/store.ts";
import { writeBackup } from "./backup-file.ts";
import { SqliteChangeSignal } from "./change-signal.ts";
import { checkPages, readSchemaSum, schemaSum } from "./check-file.ts";
import { checkRecords } from "./check-records.ts";
import { Batch, BatchStatements } from "./commit-batch.ts";
import type { CommitNote } from "./commit-notes.ts";
import { readCommitNotes } from "./commit-notes.ts";
import type { Connection } from "./connection.ts";
import { CommitFailure, openConnection } from "./connection.ts";
import type { DriverName, SqliteDriver } from "./driver.ts";
import { loadSqliteDriver, requireSafe } from "./driver.ts";
import { healthOf, readSettings } from "./engine-health.ts";
import { logId } from "./log-id.ts";
import { clearSlice, dumpPage, loadRecords } from "./moving.ts";
import { SqliteNamespaceClock } from "./namespace-clock.ts";
import type { SqliteNamespaceRow } from "./namespace-row.ts";
import { ensureNamespace, readNamespace, writeSeal } from "./namespace-row.ts";
import { checkedWholeBytes as defaultCheckedWholeBytes, requireAcknowledged, requireSound } from "./open-checks.ts";
import { countLive, readEntries } from "./read-entries.ts";
import { readLog } from "./read-log.ts";
import { compactSlice, hasSomethingToCompact, hasSomethingToSweep, sweepSlice } from "./reclaim.ts";
import { retryBusy } from "./retry-busy.ts";
import type { Migration } from "./schema.ts";
import { readPragma } from "./schema.ts";
import { damagedError, isBusy, isIoError, isSuspect, mayBeDamage, translateSqliteError } from "./sqlite-errors.ts";
import type { FileSystemType } from "./store-file.ts";
import { prepareStoreFile, rememberOpened } from "./store-file.ts";
import type { FileState } from "./store-file-watch.ts";
import { lostCommitError, lostError, StoreFileWatch } from "./store-file-watch.ts";
import { readStoredRequest } from "./stored-request.ts";
import type { TextSearch } from "./text-index.ts";
import { beginSearch, finishSearch, probeTerms, replaceTexts } from "./text-index.ts";

/** How old the last look at the store's names may be when something is read; what is written is looked after each time. */
const lookEveryMs = 100;
const openAttemptsMax = 3;

export interface SqliteEngineOptions {
  readonly path: string;
  readonly clock?: Clock;
  /** By name, or one that is ready to use. */
  readonly driver?: DriverName | "auto" | SqliteDriver;
  readonly log?: Log;
  /** Asks what kind of file system a folder is on. */
  readonly fileSystemType?: FileSystemType;
  /** Steps of the schema; another list only in tests of the migration itself. */
  readonly migrations?: readonly Migration[];
  /** A store up to this size is checked whole when it is opened. */
  readonly checkedWholeBytes?: number;
}

interface Open {
  readonly connection: Connection;
  readonly statements: BatchStatements;
}

/** Opens the store, making it first where there is none. Safe for any number of processes at once. */
export async function openSqliteEngine(options: SqliteEngineOptions): Promise<Engine> {
  const driver = typeof options.driver === "object" ? requireSafe(options.driver) : await loadSqliteDriver(options.driver);
  const named = resolve(options.path);
  const path = prepareStoreFile(named, options.fileSystemType);
  const engine = new SqliteEngine(driver, path, new StoreFileWatch(path, named), options);
  // The whole open is tried again: with many processes on a new file, every step of it can meet a lock.
  await engine.ready();
  return engine;
}

class SqliteEngine implements Engine {
  readonly name = "sqlite";
  readonly #driver: SqliteDriver;
  readonly #path: string;
  readonly #fileWatch: StoreFileWatch;
  readonly #host: Clock;
  readonly #clock: SqliteNamespaceClock;
  readonly #log: Log;
  readonly #migrations: readonly Migration[] | undefined;
  readonly #checkedWholeBytes: number;
  readonly #changeSignal: SqliteChangeSignal;
  #open: Open | undefined;
  /** The disk failed: what is opened next has to prove itself first. */
  #mustVerify = false;
  #dataVersion: number | string | undefined;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #fileState: FileState = "in place";
  #closed = false;

  constructor(
    driver: SqliteDriver,
    path: string,
    fileWatch: StoreFileWatch,
    { clock = systemClock, log = silentLog, migrations, checkedWholeBytes = defaultCheckedWholeBytes }: SqliteEngineOptions,
  ) {
    this.#driver = driver;
    this.#path = path;
    this.#fileWatch = fileWatch;
    this.#host = clock;
    this.#clock = new SqliteNamespaceClock(clock);
    this.#log = log;
    this.#migrations = migrations;
    this.#checkedWholeBytes = checkedWholeBytes;
    this.#changeSignal = new SqliteChangeSignal(path, () => this.#hasChangedElsewhere(), log);
  }

  async ready(): Promise<void> {
    try {
      await this.#perform(() => undefined);
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
  }

  position(namespace: string): Promise<StorePosition> {
    return this.#using(namespace, (_connection, space) => ({ revision: space.revision, nowMs: this.#clock.nowMs(namespace, space) }));
  }

  read(namespace: string, ranges: readonly Range[], options: ReadOptions): Promise<Snapshot> {
    return this.#using(namespace, (connection, space) => readEntries(connection, space, this.#clock.nowMs(namespace, space), ranges, options));
  }

  async commit(namespace: string, commits: readonly PreparedCommit[]): Promise<readonly CommitResult[]> {
    const { results, notifies } = await this.#writing(({ connection, statements }) => {
      const batch = new Batch(connection, statements, this.#clock, namespace);
      requireUnsealed(batch.space.seal, "commit");
      const results = commits.map((commit) => batch.plan.apply(commit));
      return { keep: batch.write(), result: { results, notifies: batch.tookRevision }, note: batch.note };
    });
    // Whoever waits for this commit is answered first; whoever watches here hears of it a moment later.
    if (notifies) this.#changeSignal.notifySoon(namespace, this.#host);
    return results;
  }

  readRequest(namespace: string, key: string): Promise<StoredRequest | undefined> {
    return this.#using(namespace, (connection, space) => readStoredRequest(connection, space.id, key, this.#clock.nowMs(namespace, space)));
  }

  log(namespace: string, query: LogQuery): Promise<LogPage> {
    return this.#using(namespace, (connection, space) => readLog(connection, space, query));
  }

  count(namespace: string, range: Range): Promise<number> {
    return this.#using(namespace, (connection, space) => countLive(connection, space.id, range, this.#clock.nowMs(namespace, space)));
  }

  async search(namespace: string, query: SearchQuery): Promise<SearchAnswer> {
    let search: TextSearch | undefined;
    for (;;) {
      const step = await this.#using(namespace, (connection, space) => {
        search ??= beginSearch(connection, space, query);
        const turn = probeTerms(connection, search, query.pause);
        return turn === undefined ? finishSearch(connection, space, this.#clock.nowMs(namespace, space), search) : { turn };
      });
      if (!("turn" in step)) return step;
      await step.turn;
    }
  }

  reindex(namespace: string, texts: readonly NewText[]): Promise<number> {
    return this.#writing(({ connection }) => {
      const space = ensureNamespace(connection, namespace);
      if (restsFrom(space.seal, "compact", this.#clock.nowMs(namespace, space))) return { keep: false, result: 0 };
      const result = replaceTexts(connection, space.id, texts);
      return { keep: result > 0, result };
    });
  }

  onChange(namespace: string, notify: () => void): () => void {
    return this.#changeSignal.listen(namespace, notify);
  }

  async sweep(namespace: string, limit: number): Promise<number> {
    // Most sweeps find nothing: look before asking for the write lock.
    const isNeeded = await this.#reading((connection) => {
      const space = readNamespace(connection, namespace);
      const nowMs = this.#clock.nowMs(namespace, space);
      return !restsFrom(space.seal, "sweep", nowMs) && hasSomethingToSweep(connection, space, nowMs);
    });
    if (!isNeeded) return 0;
    const swept = await this.#writing(({ connection, statements }) => {
      const space = ensureNamespace(connection, namespace);
      const nowMs = this.#clock.nowMs(namespace, space);
      if (restsFrom(space.seal, "sweep", nowMs)) return { keep: false, result: 0 };
      const batch = new Batch(connection, statements, this.#clock, namespace);
      const result = sweepSlice(connection, batch.plan, space, nowMs, limit);
      batch.write();
      return { keep: true, result, note: batch.note };
    });
    if (swept > 0) this.#changeSignal.notifySoon(namespace, this.#host);
    return swept;
  }

  async compact(namespace: string, policy: RetentionPolicy, limit: number): Promise<Compacted> {
    const isNeeded = await this.#reading((connection) => {
      const space = readNamespace(connection, namespace);
      const nowMs = this.#clock.nowMs(namespace, space);
      return !restsFrom(space.seal, "compact", nowMs) && hasSomethingToCompact(connection, space, policy, nowMs);
    });
    if (!isNeeded) return { removed: 0, more: false };
    return this.#writing(({ connection }) => {
      const space = ensureNamespace(connection, namespace);
      const nowMs = this.#clock.nowMs(namespace, space);
      if (restsFrom(space.seal, "compact", nowMs)) return { keep: false, result: { removed: 0, more: false } };
      return { keep: true, result: compactSlice(connection, space, policy, nowMs, limit) };
    });
  }

  async namespaces(): Promise<readonly string[]> {
    const rows = await this.#reading(
      (connection) =>
        connection
          .statement(
            `SELECT name FROM namespace WHERE compacted > 0 OR aside IS NOT NULL OR EXISTS (SELECT 1 FROM log WHERE log.id >= ${logId("namespace.id", "0")} AND log.id < ${logId("(namespace.id + 1)", "0")})`,
          )
          .all() as { readonly name: string }[],
    );
    return rows.map(({ name }) => name).sort(compareKeys);
  }

  async health(namespace: string): Promise<EngineHealth> {
    // Whoever asks for it wants to know of now.
    this.#lookedMs = Number.NEGATIVE_INFINITY;
    const { space, settings } = await this.#reading((connection) => ({ space: readNamespace(connection, namespace), settings: readSettings(connection) }));
    return healthOf(this.#driver, this.#path, space, settings, this.#clock.aheadMs(namespace, space));
  }

  checkFiles(onRows?: (rows: number) => void): Promise<readonly string[]> {
    return this.#reading((connection) => [...checkPages(connection.database), ...checkRecords(connection, onRows)]);
  }

  dump(namespace: string, query: DumpQuery): Promise<DumpPage> {
    return this.#reading((connection) => dumpPage(connection, readNamespace(connection, namespace), query));
  }

  load(namespace: string, records: readonly StoredRecord[], facts?: NamespaceFacts, by?: string): Promise<void> {
    return this.#writing(({ connection, statements }) => {
      loadRecords(connection, new Batch(connection, statements, this.#clock, namespace), records, facts, by);
      return { keep: true, result: undefined };
    });
  }

  async seal(namespace: string, seal: Seal | undefined, expected?: Seal): Promise<void> {
    await this.#writing(({ connection }) => {
      const space = ensureNamespace(connection, namespace);
      requireSeal(space.seal, expected);
      writeSeal(connection, space, seal);
      return { keep: true, result: undefined };
    });
    this.#changeSignal.notify(namespace);
  }

  async clear(namespace: string): Promise<void> {
    const { id } = await this.#reading((connection) => readNamespace(connection, namespace));
    if (id > 0) this.#changeSignal.forget(id);
    for (let more = true; more; ) ({ more } = await this.#writing(({ connection }) => ({ keep: true, result: clearSlice(connection, ensureNamespace(connection, namespace)) })));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#changeSignal.close();
    this.#close();
  }

  #reading<T>(work: (connection: Connection) => T): Promise<T> {
    return this.#perform(({ connection }) => connection.reading(() => work(connection)));
  }

  /** Reading what the namespace's seal may keep closed. */
  #using<T>(namespace: string, work: (connection: Connection, space: SqliteNamespaceRow) => T): Promise<T> {
    return this.#reading((connection) => {
      const space = readNamespace(connection, namespace);
      requireUnsealed(space.seal, "read");
      return work(connection, space);
    });
  }

  /** Nobody is answered when the file has lost its name meanwhile: what was written would be found by nobody. */
  #writing<T>(work: (open: Open) => { readonly keep: boolean; readonly result: T; readonly note?: CommitNote }): Promise<T> {
    return this.#perform((open) => {
      let kept = false;
      let note: CommitNote | undefined;
      const result = open.connection.writing(() => {
        const written = work(open);
        kept = written.keep;
        note = written.note;
        return written;
      });
      const fileState = this.#fileWatch.checkQuickly();
      if (fileState === "in place") {
        if (kept && note !== undefined) this.#changeSignal.acknowledge(note);
        return result;
      }
      const lost = this.#lose(fileState);
      throw kept ? lostCommitError() : lost;
    });
  }

  /** Every call of SQLite: waits for locks, turns its errors into ours, and stops trusting a connection that met a failing disk. */
  #perform<T>(work: (open: Open) => T): Promise<T> {
    return retryBusy(() => {
      if (this.#closed) throw new HoldfastError("unavailable", "The store is closed.");
      try {
        return work(this.#requireOpen());
      } catch (error) {
        if (isBusy(error)) throw error;
        throw this.#judge(error);
      }
    });
  }

  #requireOpen(): Open {
    const nowMs = performance.now();
    const open = this.#open;
    if (open !== undefined && nowMs - this.#lookedMs < lookEveryMs) return open;
    if (open !== undefined) {
      const fileState = this.#fileWatch.check();
      if (fileState !== "in place") throw this.#lose(fileState);
    }
    this.#open ??= this.#connect();
    this.#lookedMs = nowMs;
    return this.#open;
  }

  /** The file has lost its name. While that is nobody else's it is kept open: it may come back, and no other file can be taken for it. */
  #lose(fileState: Exclude<FileState, "in place">): HoldfastError {
    this.#lookedMs = Number.NEGATIVE_INFINITY;
    if (this.#fileState !== fileState) this.#log("error", "store_file_lost", { fileState });
    this.#fileState = fileState;
    if (fileState !== "gone" && fileState !== "elsewhere") this.#close();
    return lostError(fileState);
  }

  #connect(): Open {
    for (let attempt = 1; ; attempt += 1) {
      const file = this.#fileWatch.requireOpenable();
      rememberOpened(file);
      // Read before SQLite looks at its log: whatever was noted by then must be in the store afterwards.
      requireAcknowledged(this.#driver, this.#path, readCommitNotes(this.#changeSignal.path, this.#path));
      const connection = this.#openFile();
      const fileState = this.#fileWatch.remember(file);
      if (fileState === "in place") return this.#prove(connection);
      connection.drop();
      // Some file systems give a file another number when it is first written to: once more tells that from a file that was replaced.
      if (attempt === openAttemptsMax) throw lostError(fileState);
    }
  }

  #prove(connection: Connection): Open {
    try {
      requireSound(connection, this.#migrations === undefined, this.#checkedWholeBytes);
      if (this.#mustVerify) settle(connection);
      this.#mustVerify = false;
      this.#dataVersion = undefined;
      this.#fileState = "in place";
      return { connection, statements: new BatchStatements(connection) };
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  #openFile(): Connection {
    return openConnection({
      driver: this.#driver,
      path: this.#path,
      backUp: (database, label) => void writeBackup(database, this.#path, label, this.#host.nowMs()),
      migrations: this.#migrations,
    });
  }

  #judge(error: unknown): unknown {
    const cause = error instanceof CommitFailure ? error.cause : error;
    if (isBusy(cause)) return cause;
    if (cause instanceof HoldfastError) return cause;
    const fileState = this.#fileWatch.check();
    if (fileState === "gone" || (fileState !== "in place" && this.#open !== undefined)) {
      const lost = this.#lose(fileState);
      return error instanceof CommitFailure ? lostCommitError() : lost;
    }
    const failure = error instanceof CommitFailure && isIoError(cause) ? this.#judgeLostCommit(cause) : translateSqliteError(cause);
    if (failure.code === "internal" && mayBeDamage(cause) && this.#isDamaged()) return damagedError("The store's file is damaged.", cause);
    if (isSuspect(cause)) {
      this.#log("error", "store_suspect", { reason: (cause as Error).message });
      this.#close();
      this.#mustVerify = true;
    }
    return failure;
  }

  /** Asks SQLite, on a connection of its own: the one that failed may be none. */
  #isDamaged(): boolean {
    try {
      const database = this.#driver.open(this.#path);
      try {
        return (this.#migrations === undefined && readSchemaSum(database) !== schemaSum) || checkPages(database, 1).length > 0;
      } finally {
        database.close();
      }
    } catch (error) {
      return !isBusy(error);
    }
  }

  /**
   * An fsync that fails leaves the commit in the write-ahead log without being part of the store, and a crash could bring it to life.
   * Writing over it settles the matter; if that fails too, nobody knows.
   */
  #judgeLostCommit(cause: unknown): HoldfastError {
    try {
      settle((this.#open as Open).connection);
      return translateSqliteError(cause);
    } catch {
      return new HoldfastError("outcome_unknown", "The disk failed while a commit was being made durable.", {
        hint: "Check the disk, then read, or ask again with the same request key.",
        cause,
      });
    }
  }

  #close(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    try {
      this.#closeAs(this.#fileWatch.check(), open.connection);
    } catch (error) {
      this.#log("debug", "store_close_failed", { reason: (error as Error).message });
    }
  }

  /** Checkpoints the log into the file, wherever that is now, unless another log has the name: then another process may be at work. */
  #closeAs(fileState: FileState, connection: Connection): void {
    if (fileState !== "gone" && fileState !== "replaced" && fileState !== "mixed") return connection.close();
    if (fileState !== "mixed" && this.#fileWatch.isAlone()) connection.takeLogAlong();
    if (fileState === "replaced") this.#fileWatch.setCompanionsAside();
    connection.drop();
  }

  #hasChangedElsewhere(): boolean {
    try {
      if (this.#open === undefined || this.#fileWatch.checkQuickly() !== "in place") return true;
      const before = this.#dataVersion;
      this.#dataVersion = readDataVersion(this.#open.connection);
      return before !== this.#dataVersion;
    } catch {
      // Listeners read again by themselves and retry.
      return true;
    }
  }
}

const readDataVersion = (connection: Connection): number => (connection.statement("PRAGMA data_version").get() as { readonly data_version: number }).data_version;

/** A write that changes nothing: proves that the disk takes writes, and overwrites what a failed commit left behind. */
function settle(connection: Connection): void {
  connection.writing(() => {
    connection.database.exec(`PRAGMA user_version = ${readPragma(connection.database, "user_version")}`);
    return { keep: true, result: undefined };
  });
}
