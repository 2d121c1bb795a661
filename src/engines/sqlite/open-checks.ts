import { pathToFileURL } from "node:url";
import { damagedRecord } from "../../ledger/record-sum.ts";
import { checkPages, readSchemaSum, schemaSum } from "./check-file.ts";
import { checkRecords, requireNamespaceRow } from "./check-records.ts";
import type { CommitNote } from "./commit-notes.ts";
import { Connection } from "./connection.ts";
import type { SqliteDriver } from "./driver.ts";
import type { SqliteNamespaceRow } from "./namespace-row.ts";
import { migrations, readPragma } from "./schema.ts";
import { damagedError } from "./sqlite-errors.ts";

/** Stores up to this size are checked whole whenever they are opened: every start pays for it, up to about a tenth of a second. Larger ones are checked as they are read, and by `doctor --deep`. */
export const checkedWholeBytes = 1_048_576;

/** What must hold before a store is used. */
export function requireSound(connection: Connection, isOwnSchema: boolean, wholeBytesMax: number): void {
  connection.reading(() => {
    if (isOwnSchema && readSchemaSum(connection.database) !== schemaSum) throw damagedError("The store's tables are not as they were made.");
    readSpaces(connection);
    if (Number(readPragma(connection.database, "page_count")) * Number(readPragma(connection.database, "page_size")) > wholeBytesMax) return;
    const [problem] = checkPages(connection.database, 1);
    if (problem !== undefined) throw damagedError("The store's file is damaged.", new Error(problem));
    const [record] = checkRecords(connection);
    if (record !== undefined) throw damagedRecord(record);
  });
}

/**
 * No namespace is behind what was acknowledged. On a connection that may only read: closing one that may write would fold what is left of the log into
 * the file, and nobody could tell afterwards that anything is missing.
 */
export function requireAcknowledged(driver: SqliteDriver, path: string, notes: readonly CommitNote[]): void {
  if (notes.length === 0) return;
  const connection = new Connection(driver.open(`${pathToFileURL(path).href}?mode=ro`));
  try {
    connection.reading(() => {
      // Notes came with this schema; in an older store there is nothing to compare them with.
      if (readPragma(connection.database, "user_version") === migrations.length) compare(readSpaces(connection), notes);
    });
  } finally {
    connection.drop();
  }
}

/** Every namespace, found by its name and verified. */
function readSpaces(connection: Connection): ReadonlyMap<number, SqliteNamespaceRow> {
  // Not by the index on names: that is what would hide a damaged one.
  const names = connection.statement("SELECT name FROM namespace NOT INDEXED ORDER BY id").all() as { readonly name: string }[];
  return new Map(
    names.map(({ name }) => {
      const space = requireNamespaceRow(connection, name);
      return [space.id, space];
    }),
  );
}

function compare(spaces: ReadonlyMap<number, SqliteNamespaceRow>, notes: readonly CommitNote[]): void {
  for (const { namespaceId, revision } of notes) {
    const space = spaces.get(namespaceId);
    if ((space?.revision ?? 0) >= revision) continue;
    const whose = space === undefined ? "a namespace that is gone" : `namespace ${JSON.stringify(space.name)}, now at revision ${space.revision}`;
    throw damagedError(`The end of the store's write-ahead log is missing: revision ${revision} was acknowledged in ${whose}.`);
  }
}
