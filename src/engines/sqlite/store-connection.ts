import type { Clock } from "../../kernel/clock.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { writeBackup } from "./backup-file.ts";
import { SqliteChangeSignal } from "./change-signal.ts";
import { checkPages, readSchemaSum, schemaSum } from "./check-file.ts";
import type { CommitNote } from "./commit-notes.ts";
import { readCommitNotes } from "./commit-notes.ts";
import type { Connection } from "./connection.ts";
import { CommitFailure, openConnection } from "./connection.ts";
import type { SqliteDriver } from "./driver.ts";
import { RowStatements } from "./locked-rows.ts";
import { requireAcknowledged, requireSound } from "./open-checks.ts";
import { retryBusy } from "./retry-busy.ts";
import type { Migration } from "./schema.ts";
import { readPragma } from "./schema.ts";
import { damagedError, isBusy, isIoError, isSuspect, mayBeDamage, translateSqliteError } from "./sqlite-errors.ts";
import { rememberOpened } from "./store-file.ts";
import type { FileState, StoreFileWatch } from "./store-file-watch.ts";
import { lostCommitError, lostError } from "./store-file-watch.ts";

/** How old the last check of the store's file names may be for a read; after a write, they are always checked. */
const lookEveryMs = 100;
const openAttemptsMax = 3;

export interface StoreConnectionOptions {
  readonly driver: SqliteDriver;
  readonly path: string;
  readonly fileWatch: StoreFileWatch;
  readonly clock: Clock;
  readonly log: Log;
  readonly migrations: readonly Migration[] | undefined;
  readonly checkedWholeBytes: number;
}

interface Open {
  readonly connection: Connection;
  readonly statements: RowStatements;
}

/** The connection to the store's file: opened when needed, closed when the file is lost or the disk fails, then opened again. It translates SQLite's errors. */
export class StoreConnection {
  readonly changeSignal: SqliteChangeSignal;
  readonly #options: StoreConnectionOptions;
  readonly #fileWatch: StoreFileWatch;
  readonly #log: Log;
  #open: Open | undefined;
  /** The disk failed, so the next connection must be verified first. */
  #mustVerify = false;
  #dataVersion: number | string | undefined;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #fileState: FileState = "in place";
  #closed = false;

  constructor(options: StoreConnectionOptions) {
    this.#options = options;
    this.#fileWatch = options.fileWatch;
    this.#log = options.log;
    this.changeSignal = new SqliteChangeSignal(options.path, () => this.#hasChangedElsewhere(), options.log);
  }

  /** Makes the next call check the file again. */
  lookAgain(): void {
    this.#lookedMs = Number.NEGATIVE_INFINITY;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.changeSignal.close();
    this.#close();
  }

  reading<T>(work: (connection: Connection) => T): Promise<T> {
    return this.perform(({ connection }) => connection.reading(() => work(connection)));
  }

  /** Throws if the file has lost its name meanwhile, because no process would find the written data again. */
  writing<T>(work: (open: Open) => { readonly keep: boolean; readonly result: T; readonly note?: CommitNote }): Promise<T> {
    return this.perform((open) => {
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
        if (kept && note !== undefined) this.changeSignal.acknowledge(note);
        return result;
      }
      const lost = this.#lose(fileState);
      throw kept ? lostCommitError() : lost;
    });
  }

  /** Every use of SQLite goes through this: it waits for locks, translates errors, and stops trusting a connection after a disk failure. */
  perform<T>(work: (open: Open) => T): Promise<T> {
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

  /** The file has lost its name. Until another file takes the name, this one stays open: it may come back, and no other file can be mistaken for it. */
  #lose(fileState: Exclude<FileState, "in place">): HoldfastError {
    this.#lookedMs = Number.NEGATIVE_INFINITY;
    if (this.#fileState !== fileState) this.#log("error", "store_file_lost", { fileState });
    this.#fileState = fileState;
    if (fileState !== "gone" && fileState !== "elsewhere") this.#close();
    return lostError(fileState);
  }

  #connect(): Open {
    const { driver, path } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const file = this.#fileWatch.requireOpenable();
      rememberOpened(file);
      // Read before SQLite opens its log: every revision noted by then must be in the store afterwards.
      requireAcknowledged(driver, path, readCommitNotes(this.changeSignal.path, path));
      const connection = this.#openFile();
      const fileState = this.#fileWatch.remember(file);
      if (fileState === "in place") return this.#prove(connection);
      connection.drop();
      // Some file systems change a file's number when it is first written to. Another attempt distinguishes that from a replaced file.
      if (attempt === openAttemptsMax) throw lostError(fileState);
    }
  }

  #prove(connection: Connection): Open {
    try {
      requireSound(connection, this.#options.migrations === undefined, this.#options.checkedWholeBytes);
      if (this.#mustVerify) settle(connection);
      this.#mustVerify = false;
      this.#dataVersion = undefined;
      this.#fileState = "in place";
      return { connection, statements: new RowStatements(connection) };
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  #openFile(): Connection {
    const { driver, path, clock, migrations } = this.#options;
    return openConnection({ driver, path, backUp: (database, label) => void writeBackup(database, path, label, clock.nowMs()), migrations });
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

  /** Asks SQLite on a separate connection, because the one that failed may be unusable. */
  #isDamaged(): boolean {
    const { driver, path, migrations } = this.#options;
    try {
      const database = driver.open(path);
      try {
        return (migrations === undefined && readSchemaSum(database) !== schemaSum) || checkPages(database, 1).length > 0;
      } finally {
        database.close();
      }
    } catch (error) {
      return !isBusy(error);
    }
  }

  /**
   * A failed fsync leaves the commit in the write-ahead log without being part of the store, and a crash could bring it back.
   * Overwriting it settles the outcome; if that fails too, the outcome is unknown.
   */
  #judgeLostCommit(cause: unknown): HoldfastError {
    try {
      settle((this.#open as Open).connection);
      return translateSqliteError(cause);
    } catch {
      return new HoldfastError("outcome_unknown", "The disk failed while a commit was being made durable.", {
        hint: "Check the disk, then read, or retry with the same request key.",
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

  /** Checkpoints the log into the file, wherever it is now, unless another log has the name: then another process may be using it. */
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
      // Listeners read again and retry by themselves.
      return true;
    }
  }
}

const readDataVersion = (connection: Connection): number => (connection.statement("PRAGMA data_version").get() as { readonly data_version: number }).data_version;

/** A write that changes nothing: proves that the disk accepts writes, and overwrites the remains of a failed commit. */
function settle(connection: Connection): void {
  connection.writing(() => {
    connection.database.exec(`PRAGMA user_version = ${readPragma(connection.database, "user_version")}`);
    return { keep: true, result: undefined };
  });
}
