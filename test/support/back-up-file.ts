import { writeBackup } from "../../src/engines/sqlite/backup-file.ts";
import { loadSqliteDriver } from "../../src/engines/sqlite/driver.ts";

/** A copy of a SQLite store in use, as it is written before a migration; gives its path. */
export async function backUpFile(path: string, { label = "by-hand", nowMs = 1_800_000_000_000 } = {}): Promise<string> {
  const database = (await loadSqliteDriver()).open(path);
  try {
    return writeBackup(database, path, label, nowMs);
  } finally {
    database.close();
  }
}
