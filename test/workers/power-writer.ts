import type { SqlDatabase, SqliteDriver } from "../../src/engines/sqlite/driver.ts";
import { loadSqliteDriver } from "../../src/engines/sqlite/driver.ts";
import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import { runVerifyWorker } from "../../src/verify/worker.ts";

/**
 * A worker whose SQLite differs from the product's in what the arguments say: `--checkpoint-pages N` folds the write-ahead log back far more often,
 * so that a short trace has checkpoints in it; `--normal` plants the fault, synchronous=NORMAL set behind the engine's back after it has read FULL back.
 */
const checkpointPages = process.argv[process.argv.indexOf("--checkpoint-pages") + 1];
const plantsNormal = process.argv.includes("--normal");

const tuned = (driver: SqliteDriver): SqliteDriver => ({
  ...driver,
  open(path) {
    const database = driver.open(path);
    const exec = (sql: string): void => {
      if (!sql.startsWith("PRAGMA wal_autocheckpoint")) return database.exec(sql);
      database.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
      if (plantsNormal) database.exec("PRAGMA synchronous = NORMAL");
    };
    return { exec, prepare: (sql) => database.prepare(sql), close: () => database.close() } satisfies SqlDatabase;
  },
});

const driver = tuned(await loadSqliteDriver());
await runVerifyWorker(process.stdin, (url) => openSqliteEngine({ path: url.slice("sqlite:".length), driver }));
