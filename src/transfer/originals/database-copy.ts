import { copyFile, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SqlDatabase } from "../../engines/sqlite/driver.ts";
import { loadSqliteDriver } from "../../engines/sqlite/driver.ts";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";

const attemptsMax = 5;
/** The files that SQLite keeps next to a database that is in use or was not closed properly. */
const companions = ["-wal", "-journal"] as const;

/**
 * Reads a private copy of another program's database. Opening the file itself, even read-only, would leave a `-shm` file next to it
 * and could merge its write-ahead log into it. The original must not change by a single byte.
 */
export async function readDatabaseCopy<Answer>(path: string, read: (database: SqlDatabase) => Answer): Promise<Answer> {
  const driver = await loadSqliteDriver();
  const folder = await mkdtemp(join(tmpdir(), "holdfast-import-"));
  try {
    const copy = join(folder, "original.db");
    await copyWhole(path, copy);
    const database = driver.open(copy);
    try {
      // Only a read shows whether the file is a database at all.
      tablesOf(database);
      return read(database);
    } finally {
      database.close();
    }
  } catch (error) {
    if (isNoDatabase(error)) throw Object.assign(invalidInput("<path>", "is not a SQLite database that can be read"), { cause: error });
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The files are consistent only if none changed while they were copied. */
async function copyWhole(from: string, to: string): Promise<void> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const before = await stateOf(from);
    await copyFile(from, to);
    for (const ending of companions) {
      await rm(to + ending, { force: true });
      await copyFile(from + ending, to + ending).catch(absent);
    }
    if ((await stateOf(from)) === before) return;
  }
  throw new HoldfastError("unavailable", "The database is being written to; nothing was read.", { hint: "Stop the server that uses it, then try again." });
}

const stateOf = async (path: string): Promise<string> =>
  JSON.stringify(await Promise.all(["", ...companions].map(async (ending) => stat(path + ending).then(({ size, mtimeMs }) => [size, mtimeMs], absent))));

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}

const notADatabase = 26;
const corrupt = 11;
const isNoDatabase = (error: unknown): boolean => [notADatabase, corrupt].includes(Number((error as { readonly errcode?: unknown }).errcode) & 0xff);

type Row = Readonly<Record<string, unknown>>;
interface Rows {
  readonly rows: readonly Row[];
  readonly problem?: { readonly where: string; readonly reason: string };
}

/**
 * The rows of one table, or why they cannot be read, so that a damaged table does not hide the others. Text is fetched as bytes:
 * otherwise it would end at its first NUL, and one key would be mistaken for another.
 */
export function rowsOf(database: SqlDatabase, table: string, columns: readonly string[], orderBy: string): Rows {
  const selected = columns.map((column) => `CASE typeof(${column}) WHEN 'text' THEN CAST(${column} AS BLOB) WHEN 'blob' THEN NULL ELSE ${column} END AS ${column}`);
  try {
    const { encoding } = database.prepare("PRAGMA encoding").get() as { readonly encoding: string };
    const decoder = new TextDecoder(encoding, { ignoreBOM: true });
    const plain = (value: unknown): unknown => (value instanceof Uint8Array ? decoder.decode(value) : value);
    const rows = database.prepare(`SELECT ${selected.join(", ")} FROM ${table} ORDER BY ${orderBy}`).all() as Row[];
    return { rows: rows.map((row) => Object.fromEntries(Object.entries(row).map(([column, value]) => [column, plain(value)]))) };
  } catch (error) {
    return { rows: [], problem: { where: `table ${table}`, reason: `cannot be read: ${error instanceof Error ? error.message : String(error)}` } };
  }
}

/** Returns 0 if the table cannot be read. */
export function countRows(database: SqlDatabase, table: string): number {
  try {
    return (database.prepare(`SELECT count(*) AS count FROM ${table}`).get() as { readonly count: number }).count;
  } catch {
    return 0;
  }
}

export const tablesOf = (database: SqlDatabase): ReadonlySet<string> =>
  new Set((database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all() as { readonly name: string }[]).map(({ name }) => name));
