import { pathToFileURL } from "node:url";
import { HoldfastError } from "../../kernel/errors.ts";
import type { SqlDatabase, SqliteDriver, SqlStatement } from "./driver.ts";
import type { Migration } from "./schema.ts";
import { migrate, migrations, readPragma, rollback } from "./schema.ts";

const cacheKibibytes = 32_768;
/**
 * The write-ahead log is checkpointed after this many pages. The process serves nothing else meanwhile: a larger number would make checkpoints rarer, but each pause
 * longer.
 */
const checkpointPages = 1_000;
const keptWalBytes = 64 * 1_048_576;
const cachedStatementsMax = 200;

/** One open file whose settings have been read back, with its prepared statements. */
export class Connection {
  readonly database: SqlDatabase;
  readonly #statements = new Map<string, SqlStatement>();
  readonly #arrayStatements = new Map<string, SqlStatement>();

  constructor(database: SqlDatabase) {
    this.database = database;
  }

  /** Rows as objects. */
  statement(sql: string): SqlStatement {
    return this.#statements.get(sql) ?? this.#prepare(this.#statements, sql);
  }

  /** Rows as arrays, which is a third cheaper for many rows. */
  arrayStatement(sql: string): SqlStatement {
    const known = this.#arrayStatements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#prepare(this.#arrayStatements, sql);
    statement.setReturnArrays(true);
    return statement;
  }

  #prepare(kept: Map<string, SqlStatement>, sql: string): SqlStatement {
    // Only log queries vary in text, and only in the number of ranges and kinds.
    if (kept.size >= cachedStatementsMax) kept.clear();
    const statement = this.database.prepare(sql);
    kept.set(sql, statement);
    return statement;
  }

  /** Runs several statements that must see one state of the store. */
  reading<T>(work: () => T): T {
    this.statement("BEGIN").get();
    try {
      const result = work();
      this.statement("COMMIT").get();
      return result;
    } catch (error) {
      rollback(this.database);
      throw error;
    }
  }

  /** `work` returns whether there is anything to commit. If not, nothing is written and there is no wait for the disk. */
  writing<T>(work: () => { readonly keep: boolean; readonly result: T }): T {
    this.statement("BEGIN IMMEDIATE").get();
    try {
      const { keep, result } = work();
      if (!keep) {
        this.statement("ROLLBACK").run();
        return result;
      }
      try {
        this.statement("COMMIT").get();
      } catch (error) {
        throw new CommitFailure(error);
      }
      return result;
    } catch (error) {
      rollback(this.database);
      throw error;
    }
  }

  /**
   * Checkpoints the write-ahead log first, if no other process prevents it. One of the drivers leaves the log behind while statements are still
   * in memory, and a file that is then moved or replaced must not be combined with a log from another state.
   */
  close(): void {
    this.#statements.clear();
    this.#arrayStatements.clear();
    try {
      this.database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // A failing disk or a lock: the log stays, and the next open reads it.
    }
    this.database.close();
  }

  /**
   * For a file that has lost its name. SQLite alone would leave the last commits in the write-ahead log, which keeps the name. Leaving WAL mode
   * first writes them to the file, wherever it is now, and removes the log. SQLite does neither unless no other process has the file open.
   */
  takeLogAlong(): void {
    try {
      this.database.exec("PRAGMA journal_mode = DELETE");
    } catch {
      // This always fails, because SQLite records the mode in the file by its name. By then the commits are in the file, or another process will write them.
    }
  }

  /** Closes without changing the log or the file. */
  drop(): void {
    this.#statements.clear();
    this.#arrayStatements.clear();
    this.database.close();
  }
}

/** The last step of the transaction failed: whether it reached the disk must be checked. */
export class CommitFailure extends Error {
  constructor(cause: unknown) {
    super("The transaction could not be completed.", { cause });
  }
}

export interface ConnectionOptions {
  readonly driver: SqliteDriver;
  readonly path: string;
  readonly backUp: (database: SqlDatabase, label: string) => void;
  readonly migrations?: readonly Migration[];
}

/** One attempt: throws SQLite's busy errors unchanged, so that the caller can retry the whole open. */
export function openConnection({ driver, path, backUp, migrations: steps = migrations }: ConnectionOptions): Connection {
  // Opened by URL in order to set the mode: a file that was removed a moment ago must not be created again, empty.
  const database = driver.open(`${pathToFileURL(path).href}?mode=rw`);
  try {
    migrate(database, (label) => backUp(database, label), steps);
    // Each setting is a separate call and is read back: when set together, a later one was seen not to take effect.
    if (readPragma(database, "journal_mode = WAL") !== "wal")
      throw new HoldfastError("store_unsupported", "The store's file system does not support SQLite's write-ahead log.", { hint: "Put the store on a local disk." });
    database.exec("PRAGMA synchronous = FULL");
    requireFullSync(readPragma(database, "synchronous"));
    database.exec(`PRAGMA cache_size = -${cacheKibibytes}`);
    database.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
    database.exec(`PRAGMA journal_size_limit = ${keptWalBytes}`);
    // The first read in this mode creates the log and its index, so from here on all three files exist.
    readPragma(database, "user_version");
    return new Connection(database);
  } catch (error) {
    database.close();
    throw error;
  }
}

/** 2 is FULL: a commit returns after its fsync. Anything less could lose acknowledged writes in a power loss. */
export function requireFullSync(synchronous: number | string): void {
  if (synchronous !== 2)
    throw new HoldfastError("store_unsupported", "SQLite did not accept synchronous=FULL, so acknowledged writes could be lost at power loss.", { details: { synchronous } });
}
