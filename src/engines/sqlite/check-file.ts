import { addText, emptySum } from "../../ledger/record-sum.ts";
import type { SqlDatabase } from "./driver.ts";

/** The checksum of the schema that `migrations` create, over its text as SQLite stores it. A test recomputes it. */
export const schemaSum = 702056581;

export function readSchemaSum(database: SqlDatabase): number {
  const rows = database.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name").all() as Readonly<Record<string, string | null>>[];
  return rows.reduce((sum, { type, name, tbl_name, sql }) => addText(addText(addText(addText(sum, type), name), tbl_name), sql), emptySum);
}

/** SQLite's own check of its pages and indexes; empty if it finds nothing. Reads the whole file. */
export function checkPages(database: SqlDatabase, problemsMax = 20): readonly string[] {
  const rows = database.prepare(`PRAGMA integrity_check(${problemsMax})`).all() as { readonly integrity_check: string }[];
  return rows.map(({ integrity_check }) => integrity_check).filter((line) => line !== "ok");
}
