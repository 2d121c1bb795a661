import { addText, emptySum } from "../../ledger/record-sum.ts";
import type { SqlDatabase } from "./driver.ts";

/** Of the schema that `migrations` make, as SQLite keeps its text. A test computes it anew. */
export const schemaSum = 702056581;

export function readSchemaSum(database: SqlDatabase): number {
  const rows = database.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name").all() as Readonly<Record<string, string | null>>[];
  return rows.reduce((sum, { type, name, tbl_name, sql }) => addText(addText(addText(addText(sum, type), name), tbl_name), sql), emptySum);
}

/** SQLite's own check of its pages and indexes; empty when it finds nothing. Reads the whole file. */
export function checkPages(database: SqlDatabase, problemsMax = 20): readonly string[] {
  const rows = database.prepare(`PRAGMA integrity_check(${problemsMax})`).all() as { readonly integrity_check: string }[];
  return rows.map(({ integrity_check }) => integrity_check).filter((line) => line !== "ok");
}
