import { damagedRecord } from "../../store/record-sum.ts";
import type { Note } from "./acknowledged.ts";
import { checkPages, readSchemaSum, schemaSum } from "./check-file.ts";
import { checkRecords, requireNamespace } from "./check-records.ts";
import type { Connection } from "./connection.ts";
import { readPragma } from "./schema.ts";
import { damagedError } from "./sqlite-errors.ts";

/** Stores up to this size are checked whole whenever they are opened: it takes a few milliseconds. Larger ones are checked as they are read, and by `doctor --deep`. */
export const checkedWholeBytes = 4 * 1_048_576;

/** What must hold before a store is used. */
export function requireSound(connection: Connection, notes: readonly Note[], isOwnSchema: boolean, wholeBytesMax: number): void {
  connection.reading(() => {
    if (isOwnSchema && readSchemaSum(connection.database) !== schemaSum) throw damagedError("The store's tables are not as they were made.");
    requireAcknowledged(connection, notes);
    if (Number(readPragma(connection.database, "page_count")) * Number(readPragma(connection.database, "page_size")) > wholeBytesMax) return;
    const [problem] = checkPages(connection.database, 1);
    if (problem !== undefined) throw damagedError("The store's file is damaged.", new Error(problem));
    const [record] = checkRecords(connection);
    if (record !== undefined) throw damagedRecord(record);
  });
}

/** Every namespace can be found by its name, and none is behind what was acknowledged. */
function requireAcknowledged(connection: Connection, notes: readonly Note[]): void {
  // Not by the index on names: that is what would hide a damaged one.
  const names = connection.statement("SELECT name FROM namespace NOT INDEXED ORDER BY id").all() as { readonly name: string }[];
  const spaces = new Map(
    names.map(({ name }) => {
      const space = requireNamespace(connection, name);
      return [space.id, space];
    }),
  );
  for (const { namespaceId, revision } of notes) {
    const space = spaces.get(namespaceId);
    if ((space?.revision ?? 0) >= revision) continue;
    const whose = space === undefined ? "a namespace that is gone" : `namespace ${JSON.stringify(space.name)}, now at revision ${space.revision}`;
    throw damagedError(`The end of the store's write-ahead log is missing: revision ${revision} was acknowledged in ${whose}.`);
  }
}
