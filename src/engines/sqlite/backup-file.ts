import { chmodSync, closeSync, fsyncSync, openSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { invalidInput } from "../../kernel/errors.ts";
import { randomHex } from "../../kernel/ids.ts";
import type { SqlDatabase } from "./driver.ts";
import { syncFolder } from "./store-file.ts";

/**
 * A compact, complete copy next to the store: `<store>.backup-<UTC time>-<label>`. It shows the state at one moment while other processes keep writing.
 * The file is created before SQLite fills it, so that nothing is ever overwritten and the copy is never readable by other users.
 */
export function writeBackup(database: SqlDatabase, storePath: string, label: string, nowMs: number): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(label)) throw invalidInput("label", "must begin with a letter or digit, then letters, digits and . _ -, at most 64");
  const stamp = new Date(nowMs).toISOString().replace(/[-:]/g, "").replace(".", "");
  const path = takeName(`${storePath}.backup-${stamp}-${label}`);
  try {
    database.prepare("VACUUM INTO ?").run(path);
    chmodSync(path, 0o600);
    sync(path);
    syncFolder(dirname(path));
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
  return path;
}

function takeName(wanted: string): string {
  try {
    closeSync(openSync(wanted, "wx", 0o600));
    return wanted;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return takeName(`${wanted}-${randomHex(6)}`);
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, "r+");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
