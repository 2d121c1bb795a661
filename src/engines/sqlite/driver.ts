import { HoldfastError } from "../../kernel/errors.ts";

/**
 * The small part of a synchronous SQLite driver that the engine needs. `node:sqlite` and `@photostructure/sqlite` both have this shape,
 * so no wrapper is needed, and choosing a driver costs nothing per call.
 */
export type SqlValue = null | number | string | Uint8Array;

export interface SqlStatement {
  /** For a write that needs the number of changed rows. `get` runs a write too, in two thirds of the time, because it reports nothing; the hot paths use it. */
  run(...values: SqlValue[]): { readonly changes: number | bigint };
  get(...values: SqlValue[]): unknown;
  all(...values: SqlValue[]): unknown[];
  /** Row by row, for callers that may stop early. More expensive than `all`. */
  iterate(...values: SqlValue[]): Iterable<unknown>;
  setReturnArrays(asArrays: boolean): void;
}

export interface SqlDatabase {
  exec(sql: string): void;
  prepare(sql: string): SqlStatement;
  close(): void;
}

export type DriverName = "node" | "photostructure";

export interface SqliteDriver {
  readonly name: DriverName;
  readonly sqliteVersion: string;
  open(path: string): SqlDatabase;
}

/** In older versions, several processes on one WAL file can corrupt it (the WAL-reset race). */
export const oldestSafeSqlite = "3.51.3";

interface DriverModule {
  readonly DatabaseSync: new (path: string, options: { readonly timeout: number }) => SqlDatabase;
}

/** `auto` uses the runtime's own SQLite if it can share a file safely, otherwise the packaged one. */
export async function loadSqliteDriver(wanted: DriverName | "auto" = "auto"): Promise<SqliteDriver> {
  if (wanted !== "photostructure") {
    const builtIn = loadBuiltIn();
    if (builtIn !== undefined && (wanted === "node" || (isSafeSqlite(builtIn.sqliteVersion) && hasFullText(builtIn)))) return requireSafe(builtIn);
    if (wanted === "node") throw new HoldfastError("store_unsupported", "This Node has no built-in SQLite.", { hint: "Use Node 22.23, 24.21 or newer, or the packaged driver." });
  }
  return requireSafe(await loadPackaged());
}

export function requireSafe(driver: SqliteDriver): SqliteDriver {
  if (isSafeSqlite(driver.sqliteVersion)) return driver;
  throw new HoldfastError("store_unsupported", `SQLite ${driver.sqliteVersion} can corrupt a file that several processes share; ${oldestSafeSqlite} or newer is needed.`, {
    hint: "Use Node 22.23, 24.21 or newer, or reinstall Holdfast so that its packaged SQLite is used.",
    details: { sqlite_version: driver.sqliteVersion },
  });
}

export function isSafeSqlite(version: string): boolean {
  const have = version.split(".").map(Number);
  const need = oldestSafeSqlite.split(".").map(Number);
  for (let i = 0; i < need.length; i += 1) {
    const difference = (have[i] ?? 0) - (need[i] as number);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

function loadBuiltIn(): SqliteDriver | undefined {
  // Loading prints an "experimental" warning on some Node lines, which should not be the first line of a server's standard error.
  const emitWarning = process.emitWarning;
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).includes("SQLite")) (emitWarning as (...all: unknown[]) => void).call(process, warning, ...rest);
  }) as typeof process.emitWarning;
  try {
    const module = process.getBuiltinModule("node:sqlite" as "node:fs") as unknown as DriverModule | undefined;
    return module === undefined ? undefined : driverOf("node", module);
  } finally {
    process.emitWarning = emitWarning;
  }
}

async function loadPackaged(): Promise<SqliteDriver> {
  let module: DriverModule;
  try {
    module = (await import("@photostructure/sqlite")) as unknown as DriverModule;
  } catch (error) {
    throw new HoldfastError("store_unsupported", "The packaged SQLite cannot be loaded on this machine.", {
      hint: "Reinstall Holdfast with its dependencies, or use Node 22.23, 24.21 or newer, which bring their own SQLite.",
      cause: error,
    });
  }
  return driverOf("photostructure", module);
}

function driverOf(name: DriverName, { DatabaseSync }: DriverModule): SqliteDriver {
  // A busy timeout of 0: the driver's own wait would block the event loop and starve other processes.
  const open = (path: string): SqlDatabase => new DatabaseSync(path, { timeout: 0 });
  return { name, sqliteVersion: ask(open, "SELECT sqlite_version() AS answer") as string, open };
}

const hasFullText = (driver: SqliteDriver): boolean => ask(driver.open, "SELECT sqlite_compileoption_used('ENABLE_FTS5') AS answer") === 1;

function ask(open: SqliteDriver["open"], sql: string): unknown {
  const database = open(":memory:");
  try {
    return (database.prepare(sql).get() as { readonly answer: unknown }).answer;
  } finally {
    database.close();
  }
}
