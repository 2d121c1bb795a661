import {
  areaSum,
  asideSum,
  documentSum,
  entrySum,
  keyedSum,
  linkSum,
  logPositionSum,
  logRowSum,
  namespaceSum,
  postingSum,
  requestSum,
  sealValue,
  slotSum,
  termSum,
  textSum,
  tombstoneSum,
  versionSum,
} from "../../ledger/record-sum.ts";
import type { SqlDatabase, SqlValue } from "./driver.ts";
import { logId, namespaceIn, positionIn } from "./log-id.ts";

const rowsPerFetch = 1_000;

const tables = ["namespace", "log", "kv", "tombstone", "request", "area", "document", "posting", "term"];

/** The complete SQL text, because SQLite stores it in the file and opening compares it (see check-file.ts). */
const summedTables = `
  CREATE TABLE namespace (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    compacted INTEGER NOT NULL, compacted_at INTEGER NOT NULL, version_floor INTEGER NOT NULL, tombstones INTEGER NOT NULL,
    aside TEXT, sum INTEGER NOT NULL, aside_sum INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE log (
    id INTEGER PRIMARY KEY, k TEXT NOT NULL, op INTEGER NOT NULL, ver INTEGER NOT NULL, exp INTEGER, created INTEGER NOT NULL, at INTEGER NOT NULL, prev INTEGER, jump INTEGER,
    writer TEXT NOT NULL, agent TEXT, kind TEXT, act TEXT, subject TEXT, lapse TEXT, link_sum INTEGER NOT NULL, sum INTEGER NOT NULL, v TEXT NOT NULL
  ) STRICT;
  CREATE TABLE kv (
    ns INTEGER NOT NULL, k TEXT NOT NULL, place INTEGER NOT NULL, anchor INTEGER, ver INTEGER NOT NULL, created INTEGER NOT NULL, exp INTEGER, findable INTEGER NOT NULL,
    at INTEGER NOT NULL, writer TEXT NOT NULL, agent TEXT, sum INTEGER NOT NULL, slot_sum INTEGER NOT NULL,
    PRIMARY KEY (ns, k)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX kv_by_expiry ON kv (ns, exp) WHERE exp IS NOT NULL;
  CREATE TABLE tombstone (
    ns INTEGER NOT NULL, k TEXT NOT NULL, place INTEGER NOT NULL, anchor INTEGER, ver INTEGER NOT NULL, sum INTEGER NOT NULL,
    PRIMARY KEY (ns, k)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX tombstone_by_age ON tombstone (ns, place);
  CREATE TABLE request (
    ns INTEGER NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, kept_until INTEGER NOT NULL, outcome TEXT NOT NULL, sum INTEGER NOT NULL,
    PRIMARY KEY (ns, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX request_by_age ON request (ns, kept_until);
  CREATE TABLE area (
    id INTEGER PRIMARY KEY, ns INTEGER NOT NULL, name TEXT NOT NULL, documents INTEGER NOT NULL, length INTEGER NOT NULL, sum INTEGER NOT NULL,
    UNIQUE (ns, name)
  ) STRICT;
  CREATE TABLE document (
    ns INTEGER NOT NULL, k TEXT NOT NULL, area INTEGER NOT NULL, place INTEGER NOT NULL, length INTEGER NOT NULL, terms TEXT NOT NULL, sum INTEGER NOT NULL,
    PRIMARY KEY (ns, k)
  ) STRICT;
  CREATE TABLE posting (
    area INTEGER NOT NULL, term TEXT NOT NULL, place INTEGER NOT NULL, weight INTEGER NOT NULL, length INTEGER NOT NULL, sum INTEGER NOT NULL,
    PRIMARY KEY (area, term, place)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE term (area INTEGER NOT NULL, term TEXT NOT NULL, documents INTEGER NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (area, term)) STRICT, WITHOUT ROWID;
  `;

// Rows are arrays in the column order of the older table, which checked their types when they were written.
// biome-ignore lint/suspicious/noExplicitAny: see above; naming each column's type once more would only repeat the schema.
type Row = any[];

/**
 * Schema 1 to 2: adds checksums to every row by copying each table to one with columns for them. Rows are copied in pages, so that memory does not grow with
 * the store; the caller's transaction makes the step all or nothing.
 */
export function addSums(database: SqlDatabase): void {
  for (const index of ["kv_by_expiry", "tombstone_by_age", "request_by_age"]) database.exec(`DROP INDEX ${index}`);
  for (const table of tables) database.exec(`ALTER TABLE ${table} RENAME TO old_${table}`);
  database.exec(summedTables);
  copyEach(database, "namespace", [0], ([id, name, compacted, at, floor, tombstones, aside]) => [namespaceSum(id, name, compacted, at, floor, tombstones), asideSum(id, aside)]);
  copyLog(database);
  copyEach(database, "kv", [0, 1], ([ns, k, logPosition, anchor, ver, created, exp, findable, at, writer, agent]) => {
    const version = versionSum(logPositionSum(ns, logPosition), ver, exp, created);
    const key = textSum(k);
    return [keyedSum(entrySum(version, at, writer, agent), key), slotSum(version, key, anchor, findable)];
  });
  copyEach(database, "tombstone", [0, 1], ([ns, k, logPosition, anchor, ver]) => [tombstoneSum(ns, k, logPosition, anchor, ver)]);
  copyEach(database, "request", [0, 1], ([ns, key, fingerprint, keptUntil, outcome]) => [requestSum(ns, key, fingerprint, keptUntil, outcome)]);
  copyEach(database, "area", [0], ([id, ns, name, documents, length]) => [areaSum(ns, id, name) - documents - length]);
  copyEach(database, "document", [0, 1], ([ns, k, area, logPosition, length, terms]) => [documentSum(ns, k, area, logPosition, length, terms)]);
  copyEach(database, "posting", [0, 1, 2], ([area, term, logPosition, weight, length]) => [postingSum(termSum(area, term), logPosition, weight, length)]);
  copyEach(database, "term", [0, 1], ([area, term, documents]) => [termSum(area, term) - documents]);
  for (const table of tables) database.exec(`DROP TABLE old_${table}`);
}

/** The checksum columns come before the value, and ids are too large for a JavaScript number, so the log is copied by namespace and position. */
function copyLog(database: SqlDatabase): void {
  const columns = "k, op, ver, exp, created, at, prev, jump, writer, agent, kind, act, subject, lapse, v";
  const page = database.prepare(`SELECT ${namespaceIn("id")}, ${positionIn("id")}, ${columns} FROM old_log WHERE id > ${logId("?", "?")} ORDER BY id LIMIT ${rowsPerFetch}`);
  page.setReturnArrays(true);
  const insert = database.prepare(`INSERT INTO log VALUES (${logId("?", "?")}${", ?".repeat(17)})`);
  inPages(
    ([ns, logPosition]: readonly SqlValue[] = [0, 0]) => page.all(ns as number, logPosition as number) as Row[],
    (row) => {
      const [ns, logPosition, k, op, ver, exp, created, at, prev, jump, writer, agent, kind, act, subject, lapse, v] = row;
      const start = logPositionSum(ns, logPosition);
      const entry = entrySum(versionSum(start, ver, exp, created), at, writer, agent);
      insert.run(...row.slice(0, -1), linkSum(start, at, prev, jump), logRowSum(keyedSum(entry, textSum(k)), op, kind, act, subject, lapse), sealValue(entry, v));
    },
  );
}

/** Copies in the order of the table's key, whose columns are given by index; the sums are the last columns of the new table. */
function copyEach(database: SqlDatabase, table: string, key: readonly number[], sumsOf: (row: Row) => readonly number[]): void {
  const columns = (database.prepare(`SELECT name FROM pragma_table_info('old_${table}') ORDER BY cid`).all() as { readonly name: string }[]).map(({ name }) => name);
  const names = key.map((position) => columns[position]).join(", ");
  const select = (where: string) => {
    const statement = database.prepare(`SELECT ${columns.join(", ")} FROM old_${table} ${where} ORDER BY ${names} LIMIT ${rowsPerFetch}`);
    statement.setReturnArrays(true);
    return statement;
  };
  const first = select("");
  const next = select(`WHERE (${names}) > (${key.map(() => "?").join(", ")})`);
  const width = (database.prepare(`SELECT count(*) AS width FROM pragma_table_info('${table}')`).get() as { readonly width: number }).width;
  const insert = database.prepare(`INSERT INTO ${table} VALUES (?${", ?".repeat(width - 1)})`);
  inPages(
    (last?: Row) => (last === undefined ? first.all() : next.all(...key.map((position) => last[position]))) as Row[],
    (row) => void insert.run(...row, ...sumsOf(row)),
  );
}

function inPages(fetch: (last?: Row) => Row[], each: (row: Row) => void): void {
  for (let rows = fetch(); rows.length > 0; rows = fetch(rows.at(-1))) {
    for (const row of rows) each(row);
    if (rows.length < rowsPerFetch) return;
  }
}
