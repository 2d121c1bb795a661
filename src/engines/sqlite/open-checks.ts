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

/**
 * Stores up to this size are checked completely on every open, which takes up to about a tenth of a second. Larger stores are checked as they are read,
 * and by `doctor --deep`.
 */
export const checkedWholeBytes = 1_048_576;

/** The checks that must pass before a store is used. */
export function requireSound(connection: Connection, isOwnSchema: boolean, wholeBytesMax: number): void {
  connection.reading(() => {
    if (isOwnSchema && readSchemaSum(connection.database) !== schemaSum) throw damagedError("The store's tables differ from those that Holdfast creates.");
    readSpaces(connection);
    if (Number(readPragma(connection.database, "page_count")) * Number(readPragma(connection.database, "page_size")) > wholeBytesMax) return;
    const [problem] = checkPages(connection.database, 1);
    if (problem !== undefined) throw damagedError("The store's file is damaged.", new Error(problem));
    const [record] = checkRecords(connection);
    if (record !== undefined) throw damagedRecord(record);
  });
}

/**
 * Throws if any namespace is behind its acknowledged revision. Uses a read-only connection: closing a writable one would checkpoint the rest of the log into
 * the file, and the loss could no longer be detected.
 */
export function requireAcknowledged(driver: SqliteDriver, path: string, notes: readonly CommitNote[]): void {
  if (notes.length === 0) return;
  const connection = new Connection(driver.open(`${pathToFileURL(path).href}?mode=ro`));
  try {
    connection.reading(() => {
      // Notes were introduced with this schema, so an older store has nothing to compare them with.
      if (readPragma(connection.database, "user_version") === migrations.length) compare(readSpaces(connection), notes);
    });
  } finally {
    connection.drop();
  }
}

/** Every namespace, looked up by name and verified. */
function readSpaces(connection: Connection): ReadonlyMap<number, SqliteNamespaceRow> {
  // Without the index on names, because a damaged index would hide a namespace.
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
