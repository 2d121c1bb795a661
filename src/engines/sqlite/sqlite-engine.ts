import { resolve } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { systemClock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { silentLog } from "../../kernel/log.ts";
import { LedgerEngine } from "../../ledger/ledger-engine.ts";
import type { LockedRows, NamedRows, RowDecision, RowReads, Rows, SpaceRow, Work } from "../../ledger/rows.ts";
import { compareKeys } from "../../store/ranges.ts";
import type { Engine, EngineHealth, PreparedCommit } from "../../store/store.ts";
import { checkPages } from "./check-file.ts";
import { checkRecords } from "./check-records.ts";
import type { Connection } from "./connection.ts";
import type { DriverName, SqliteDriver } from "./driver.ts";
import { loadSqliteDriver, requireSafe } from "./driver.ts";
import { healthOf, readSettings } from "./engine-health.ts";
import { SqliteLockedRows } from "./locked-rows.ts";
import { logId } from "./log-id.ts";
import { clearSlice } from "./moving.ts";
import type { SqliteNamespaceRow } from "./namespace-row.ts";
import { ensureNamespace, readNamespace, SqliteNamespaceClock } from "./namespace-row.ts";
import { checkedWholeBytes as defaultCheckedWholeBytes } from "./open-checks.ts";
import type { Migration } from "./schema.ts";
import type { SqliteMoment } from "./sqlite-reads.ts";
import { sqliteReads } from "./sqlite-reads.ts";
import { StoreConnection } from "./store-connection.ts";
import type { FileSystemType } from "./store-file.ts";
import { prepareStoreFile } from "./store-file.ts";
import { StoreFileWatch } from "./store-file-watch.ts";

export interface SqliteEngineOptions {
  readonly path: string;
  readonly clock?: Clock;
  /** The name of a driver, or a driver that is ready to use. */
  readonly driver?: DriverName | "auto" | SqliteDriver;
  readonly log?: Log;
  /** Returns the type of a folder's file system. */
  readonly fileSystemType?: FileSystemType;
  /** Migration steps; only tests of the migration pass their own. */
  readonly migrations?: readonly Migration[];
  /** A store up to this size is checked completely when it is opened. */
  readonly checkedWholeBytes?: number;
}

/** Opens the store and creates it if it does not exist. Safe for any number of processes at once. */
export async function openSqliteEngine(options: SqliteEngineOptions): Promise<Engine> {
  const { clock = systemClock, log = silentLog, migrations, checkedWholeBytes = defaultCheckedWholeBytes } = options;
  const driver = typeof options.driver === "object" ? requireSafe(options.driver) : await loadSqliteDriver(options.driver);
  const named = resolve(options.path);
  const path = prepareStoreFile(named, options.fileSystemType);
  const store = new StoreConnection({ driver, path, fileWatch: new StoreFileWatch(path, named), clock, log, migrations, checkedWholeBytes });
  try {
    // The whole open is retried: with many processes on a new file, any step can run into a lock.
    await store.perform(() => undefined);
  } catch (error) {
    await store.close();
    throw error;
  }
  return new LedgerEngine(new SqliteRows(driver, path, store, clock));
}

/** Everything is synchronous, in one transaction of one connection: work runs to its end, and starts again if SQLite was busy. */
class SqliteRows implements Rows {
  readonly name = "sqlite";
  readonly #driver: SqliteDriver;
  readonly #path: string;
  readonly #store: StoreConnection;
  readonly #host: Clock;
  readonly #clock: SqliteNamespaceClock;
  readonly #moment = {} as SqliteMoment;
  readonly #reads: RowReads;

  constructor(driver: SqliteDriver, path: string, store: StoreConnection, clock: Clock) {
    this.#driver = driver;
    this.#path = path;
    this.#store = store;
    this.#host = clock;
    this.#clock = new SqliteNamespaceClock(clock);
    this.#reads = sqliteReads(this.#moment, this.#clock);
  }

  ask<T>(namespace: string, look: (reads: RowReads) => Work<T>): Promise<T> {
    return this.#store.reading((connection) => {
      this.#begin(connection, readNamespace(connection, namespace, this.#clock));
      return runThrough(look(this.#reads));
    });
  }

  /** A search yields only to pause: other callers are served meanwhile, and the search continues in another transaction. */
  async read<T>(namespace: string, look: (reads: RowReads) => Work<T>): Promise<T> {
    let work: Work<T> | undefined;
    const resume = (connection: Connection): IteratorResult<unknown, T> => {
      try {
        this.#begin(connection, readNamespace(connection, namespace, this.#clock));
        work ??= look(this.#reads);
        return work.next();
      } catch (error) {
        work = undefined;
        throw error;
      }
    };
    for (;;) {
      const step = await this.#store.reading(resume);
      if (step.done) return step.value;
      await step.value;
    }
  }

  #begin(connection: Connection, space: SqliteNamespaceRow): void {
    this.#moment.connection = connection;
    this.#moment.space = space;
  }

  async commit<T>(namespace: string, _batch: readonly PreparedCommit[], decide: (locked: LockedRows) => RowDecision<T>): Promise<T> {
    return (await this.#write(namespace, decide)).result;
  }

  change<T>(namespace: string, _named: NamedRows, decide: (locked: LockedRows) => Work<RowDecision<T>>): Promise<{ readonly result: T; readonly removed: number }> {
    return this.#write(namespace, (locked) => runThrough(decide(locked)));
  }

  async #write<T>(namespace: string, decide: (locked: LockedRows) => RowDecision<T>): Promise<{ readonly result: T; readonly removed: number }> {
    const { decision, removed, note } = await this.#store.writing(({ connection, statements }) => {
      const space = ensureNamespace(connection, namespace, this.#clock);
      this.#begin(connection, space);
      const locked = new SqliteLockedRows(connection, statements, this.#reads, space);
      const decision = decide(locked);
      const { changes, notifies } = decision;
      const removed = changes === undefined ? 0 : locked.apply(changes);
      const note = notifies && changes?.plan !== undefined ? { namespaceId: space.id, revision: space.revision } : undefined;
      return { keep: changes !== undefined, result: { decision, removed, note }, note };
    });
    // Callers of this commit get their answer first; watchers in this process are notified a moment later.
    if (note !== undefined) this.#store.changeSignal.notifySoon(namespace, this.#host);
    else if (decision.notifies) this.#store.changeSignal.notify(namespace);
    return { result: decision.result, removed };
  }

  async clear(namespace: string, requireClearable: (space: SpaceRow) => void): Promise<void> {
    const { id } = await this.#store.reading((connection) => readNamespace(connection, namespace));
    if (id > 0) this.#store.changeSignal.forget(id);
    for (let more = true; more; )
      more = await this.#store.writing(({ connection }) => {
        const space = ensureNamespace(connection, namespace);
        requireClearable(space);
        return { keep: true, result: clearSlice(connection, space) };
      });
  }

  onChange(namespace: string, notify: () => void): () => void {
    return this.#store.changeSignal.listen(namespace, notify);
  }

  async namespaces(): Promise<readonly string[]> {
    const hasRows = `EXISTS (SELECT 1 FROM log WHERE log.id >= ${logId("namespace.id", "0")} AND log.id < ${logId("(namespace.id + 1)", "0")})`;
    const rows = await this.#store.reading((connection) => connection.statement(`SELECT name FROM namespace WHERE compacted > 0 OR aside IS NOT NULL OR ${hasRows}`).all());
    return (rows as { readonly name: string }[]).map(({ name }) => name).sort(compareKeys);
  }

  async health(namespace: string): Promise<EngineHealth> {
    this.#store.lookAgain();
    const { space, settings } = await this.#store.reading((connection) => ({ space: readNamespace(connection, namespace, this.#clock), settings: readSettings(connection) }));
    return healthOf(this.#driver, this.#path, space, settings, space.nowMs - this.#host.nowMs());
  }

  checkFiles(onRows?: (rows: number) => void): Promise<readonly string[]> {
    return this.#store.reading((connection) => [...checkPages(connection.database), ...checkRecords(connection, onRows)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store.close();
  }
}

/** Only a search pauses, so other work ends in one step. */
function runThrough<T>(work: Work<T>): T {
  const step = work.next();
  if (!step.done) throw new RangeError("Work on rows waited for an answer that it already had.");
  return step.value;
}
