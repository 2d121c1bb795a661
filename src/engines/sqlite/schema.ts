import { HoldfastError } from "../../kernel/errors.ts";
import { addSums } from "./add-sums.ts";
import type { SqlDatabase } from "./driver.ts";
import { damagedError, foreignError } from "./sqlite-errors.ts";

/** "HFST": identifies the owner in the file's header, so that another program's database is never changed. */
export const applicationId = 0x48465354;

/** SQL, or work that SQL alone cannot do. */
export type Migration = string | ((database: SqlDatabase) => void);

/**
 * Step n brings a store from schema n to n + 1, inside one transaction. Released steps are never edited; the list only grows.
 *
 * `log` is the history and the only copy of every value. `kv` has the entries that are live (or expired and not yet swept) and points into the log by position
 * (see log-id.ts). `kv` repeats the columns of a listing without values: adjacent keys are far apart in the log, so each key of a page would cost a page of the file.
 *
 * `tombstone` remembers the last version of deleted keys. `area`, `document`, `posting` and `term` are the full-text index (see text-index.ts).
 * `prev`, `jump` and `anchor` make a key's history a chain (see key-chain.ts).
 * Every row has a checksum of its columns (see ledger/record-sum.ts), verified whenever the row is read.
 * `v` is the value, prefixed with its checksum. It is the last column, so that the others can be read without walking a long value.
 * Keys compare by their UTF-8 bytes (BINARY).
 */
export const migrations: readonly Migration[] = [
  `
  CREATE TABLE namespace (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    compacted INTEGER NOT NULL, compacted_at INTEGER NOT NULL, version_floor INTEGER NOT NULL, tombstones INTEGER NOT NULL,
    aside TEXT
  ) STRICT;
  CREATE TABLE log (
    id INTEGER PRIMARY KEY, k TEXT NOT NULL, op INTEGER NOT NULL, ver INTEGER NOT NULL, exp INTEGER, created INTEGER NOT NULL, at INTEGER NOT NULL, prev INTEGER, jump INTEGER,
    writer TEXT NOT NULL, agent TEXT, kind TEXT, act TEXT, subject TEXT, lapse TEXT, v TEXT
  ) STRICT;
  CREATE TABLE kv (
    ns INTEGER NOT NULL, k TEXT NOT NULL, place INTEGER NOT NULL, anchor INTEGER, ver INTEGER NOT NULL, created INTEGER NOT NULL, exp INTEGER, findable INTEGER NOT NULL,
    at INTEGER NOT NULL, writer TEXT NOT NULL, agent TEXT,
    PRIMARY KEY (ns, k)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX kv_by_expiry ON kv (ns, exp) WHERE exp IS NOT NULL;
  CREATE TABLE tombstone (ns INTEGER NOT NULL, k TEXT NOT NULL, place INTEGER NOT NULL, anchor INTEGER, ver INTEGER NOT NULL, PRIMARY KEY (ns, k)) STRICT, WITHOUT ROWID;
  CREATE INDEX tombstone_by_age ON tombstone (ns, place);
  CREATE TABLE request (
    ns INTEGER NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, kept_until INTEGER NOT NULL, outcome TEXT NOT NULL,
    PRIMARY KEY (ns, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX request_by_age ON request (ns, kept_until);
  CREATE TABLE area (id INTEGER PRIMARY KEY, ns INTEGER NOT NULL, name TEXT NOT NULL, documents INTEGER NOT NULL, length INTEGER NOT NULL, UNIQUE (ns, name)) STRICT;
  CREATE TABLE document (
    ns INTEGER NOT NULL, k TEXT NOT NULL, area INTEGER NOT NULL, place INTEGER NOT NULL, length INTEGER NOT NULL, terms TEXT NOT NULL,
    PRIMARY KEY (ns, k)
  ) STRICT;
  CREATE TABLE posting (
    area INTEGER NOT NULL, term TEXT NOT NULL, place INTEGER NOT NULL, weight INTEGER NOT NULL, length INTEGER NOT NULL,
    PRIMARY KEY (area, term, place)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE term (area INTEGER NOT NULL, term TEXT NOT NULL, documents INTEGER NOT NULL, PRIMARY KEY (area, term)) STRICT, WITHOUT ROWID;
  `,
  addSums,
];

const tables = ["area", "document", "kv", "log", "namespace", "posting", "request", "term", "tombstone"];

export const readPragma = (database: SqlDatabase, name: string): number | string =>
  Object.values(database.prepare(`PRAGMA ${name}`).get() as Record<string, number | string>)[0] as number | string;

/** Migrates the file to this build's schema, or rejects it unchanged. `backUp` is called before an existing older store is changed. */
export function migrate(database: SqlDatabase, backUp: (label: string) => void, steps: readonly Migration[] = migrations): void {
  const found = inSnapshot(database, () => requireOurs(database, steps.length));
  if (found === steps.length) return;
  if (found > 0) backUp(`schema-${found}`);
  database.exec("BEGIN EXCLUSIVE");
  try {
    // Another process may have migrated while this one waited for the lock.
    const from = requireOurs(database, steps.length);
    if (from < steps.length) {
      // Inside the transaction, so that the file never has a page without that identification.
      database.exec(`PRAGMA application_id = ${applicationId}`);
      for (const step of steps.slice(from)) {
        if (typeof step === "string") database.exec(step);
        else step(database);
      }
      database.exec(`PRAGMA user_version = ${steps.length}`);
    }
    database.exec("COMMIT");
  } catch (error) {
    rollback(database);
    throw error;
  }
}

/** The version and the tables must be read at one moment, because another process may be creating the store. */
function inSnapshot<T>(database: SqlDatabase, work: () => T): T {
  database.exec("BEGIN");
  try {
    return work();
  } finally {
    rollback(database);
  }
}

/** The file's schema version; 0 for an empty file. */
function requireOurs(database: SqlDatabase, newest: number): number {
  const version = readPragma(database, "user_version") as number;
  const present = (database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'").all() as { readonly name: string }[]).map(
    ({ name }) => name,
  );
  if (version === 0 && present.length === 0) return 0;
  if (readPragma(database, "application_id") !== applicationId) throw foreignError();
  if (version > newest)
    throw new HoldfastError("store_newer", `The store has schema ${version}; this Holdfast knows schemas up to ${newest}. Nothing was changed.`, {
      hint: "Upgrade Holdfast, or choose another store with --store.",
      details: { schema_version: version, newest_known: newest },
    });
  if (version < 1 || tables.some((table) => !present.includes(table))) throw damagedError("The store's tables are not complete.");
  return version;
}

/** Best effort: SQLite may already have rolled back by itself, and then reports an error. */
export function rollback(database: SqlDatabase): void {
  try {
    database.exec("ROLLBACK");
  } catch {
    // There was no open transaction.
  }
}
