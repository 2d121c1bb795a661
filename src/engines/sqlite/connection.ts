import { pathToFileURL } from "node:url";
import { HoldfastError } from "../../kernel/errors.ts";
import type { SqlDatabase, SqliteDriver, SqlStatement } from "./driver.ts";
import type { Migration } from "./schema.ts";
import { migrate, migrations, readPragma, rollback } from "./schema.ts";

const cacheKibibytes = 32_768;
/** Pages of the write-ahead log after which it is folded back. Nothing else is served meanwhile: more pages would be written less often, and stop everybody for longer. */
const checkpointPages = 1_000;
const keptWalBytes = 64 * 1_048_576;
const cachedStatementsMax = 200;

/** One open file with the settings read back, and its statements prepared once. */
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

  /** Rows as arrays, a third cheaper where there are many. */
  arrayStatement(sql: string): SqlStatement {
    const known = this.#arrayStatements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#prepare(this.#arrayStatements, sql);
    statement.setReturnArrays(true);
    return statement;
  }

  #prepare(kept: Map<string, SqlStatement>, sql: string): SqlStatement {
    // Only log queries vary in text, and only in how many ranges and kinds they name.
    if (kept.size >= cachedStatementsMax) kept.clear();
    const statement = this.database.prepare(sql);
    kept.set(sql, statement);
    return statement;
  }

  /** Several statements that must see one state of the store. */
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

  /** `work` answers whether there is anything to keep; without it nothing is written and no disk is waited for. */
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
   * Folds the write-ahead log back first, if nobody else is in the way: one of the drivers leaves it behind when statements are still
   * in memory, and a file that is then moved or replaced must not meet a log that belongs to another state of it.
   */
  close(): void {
    this.#statements.clear();
    this.#arrayStatements.clear();
    try {
      this.database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // A failing disk or a lock: the log stays, and the next opening reads it.
    }
    this.database.close();
  }

  /**
   * For a file that has lost its name. SQLite alone would leave the last commits in the write-ahead log, which keeps the name; leaving that
   * mode takes them into the file first, wherever it is now, removes the log, and does neither unless nobody else has the file open.
   */
  takeLogAlong(): void {
    try {
      this.database.exec("PRAGMA journal_mode = DELETE");
    } catch {
      // Always: the mode itself is noted in the file by way of its name. The commits are in it by then, or somebody else is to see to it.
    }
  }

  /** Without touching the log or the file. */
  drop(): void {
    this.#statements.clear();
    this.#arrayStatements.clear();
    this.database.close();
  }
}

/** The transaction's last step failed: whether it reached the disk needs a second look. */
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

/** One attempt: throws SQLite's busy errors as they are, for the caller to try the whole open again. */
export function openConnection({ driver, path, backUp, migrations: steps = migrations }: ConnectionOptions): Connection {
  // By URL, for its mode: a file that was removed a moment ago must not be made anew, empty.
  const database = driver.open(`${pathToFileURL(path).href}?mode=rw`);
  try {
    migrate(database, (label) => backUp(database, label), steps);
    // Each setting in its own call and read back: given together, a later one has been seen not to hold.
    if (readPragma(database, "journal_mode = WAL") !== "wal")
      throw new HoldfastError("store_unsupported", "The store's file system does not support SQLite's write-ahead log.", { hint: "Put the store on a local disk." });
    database.exec("PRAGMA synchronous = FULL");
    requireFullSync(readPragma(database, "synchronous"));
    database.exec(`PRAGMA cache_size = -${cacheKibibytes}`);
    database.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
    database.exec(`PRAGMA journal_size_limit = ${keptWalBytes}`);
    // The first look into the file in this mode makes the log and its index; from here on all three files are there.
    readPragma(database, "user_version");
    return new Connection(database);
  } catch (error) {
    database.close();
    throw error;
  }
}

/** 2 is FULL: a commit is answered after its fsync. Anything less could forget acknowledged writes at power loss. */
export function requireFullSync(synchronous: number | string): void {
  if (synchronous !== 2)
    throw new HoldfastError("store_unsupported", "SQLite did not accept synchronous=FULL, so acknowledged writes could be lost at power loss.", { details: { synchronous } });
}
