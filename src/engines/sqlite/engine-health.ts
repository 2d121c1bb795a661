import { statSync } from "node:fs";
import { basename } from "node:path";
import type { EngineHealth, EngineWarning } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import type { SqliteDriver } from "./driver.ts";
import type { SqliteNamespaceRow } from "./namespace-row.ts";
import { readPragma } from "./schema.ts";

/** How far the store's clock may be ahead of the host's before health reports it. */
const clockAheadMaxMs = 5_000;

/** SQLite's settings as SQLite reports them, not as they were set. */
export function readSettings({ database }: Connection) {
  const pragma = (name: string): number | string => readPragma(database, name);
  return {
    journal_mode: pragma("journal_mode"),
    synchronous: pragma("synchronous") === 2 ? "FULL" : String(pragma("synchronous")),
    schema_version: pragma("user_version"),
    free_bytes_inside: Number(pragma("freelist_count")) * Number(pragma("page_size")),
  };
}

export function healthOf(driver: SqliteDriver, path: string, space: SqliteNamespaceRow, settings: ReturnType<typeof readSettings>, aheadMs: number): EngineHealth {
  const file = statSync(path, { throwIfNoEntry: false });
  const warnings: EngineWarning[] = [];
  if (aheadMs > clockAheadMaxMs)
    warnings.push({
      about: "clock",
      says: `The store's clock is ${Math.round(aheadMs / 1_000)} s ahead of this machine's: nothing expires until the machine catches up. Check the machine's clock.`,
    });
  if (file !== undefined && process.platform !== "win32" && (file.mode & 0o077) !== 0)
    warnings.push({ about: "file mode", says: "Other users of this machine may open the store's file; set its mode to 0600." });
  return {
    engine: "sqlite",
    durability: "an acknowledged write is on disk (fsync) before it is answered: it survives a crash of any process and a loss of power",
    facts: {
      driver: driver.name,
      sqlite_version: driver.sqliteVersion,
      ...settings,
      file: basename(path),
      file_bytes: file?.size ?? 0,
      wal_bytes: statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0,
      revision: space.revision,
      compacted_revision: space.compacted,
      tombstones: space.tombstones,
      base: space.base,
      gaps: space.gaps,
      ...(space.seal === undefined ? {} : { seal: space.seal.state }),
    },
    warnings,
  };
}
