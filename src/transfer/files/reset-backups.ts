import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import { randomHex } from "../../kernel/ids.ts";
import type { Engine } from "../../store/store.ts";
import { snapshotNamespace } from "../stores/copy-namespace.ts";
import { exportLines } from "./export-lines.ts";
import { writeFile } from "./write-file.ts";

export interface ResetBackupOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  /** The store's file; backups are written next to it. */
  readonly storePath: string;
  readonly madeBy: string;
  /** Opens a store for the duration of one backup, in which the copied namespace has no writers. */
  openScratch(): Promise<{ readonly engine: Engine } & AsyncDisposable>;
}

export interface ResetBackup {
  readonly path: string;
  /** The backup contains everything up to this revision. */
  readonly revision: number;
}

/** Older backups of the same namespace are removed once a new one is complete. */
export const resetBackupsMax = 3;
const waitingMax = 8;

/**
 * `<store>.backup-<UTC time>-reset-<digest of the name>.jsonl.gz`: an export of one namespace,
 * written before it is cleared. Backups are written one at a time, page by page.
 */
export function openResetBackups({ engine, clock, storePath, madeBy, openScratch }: ResetBackupOptions): (namespace: string) => Promise<ResetBackup> {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  const write = async (namespace: string): Promise<ResetBackup> => {
    await using scratch = await openScratch();
    const destination = { engine: scratch.engine, namespace };
    const { revision } = await snapshotNamespace({ source: { engine, namespace }, destination, by: "reset", clock });
    const ending = `-reset-${createHash("sha256").update(namespace).digest("hex").slice(0, 12)}.jsonl.gz`;
    const stamp = new Date(clock.nowMs()).toISOString().replace(/[-:.]/g, "");
    const wanted = `${storePath}.backup-${stamp}${ending}`;
    const path = existsSync(wanted) ? `${storePath}.backup-${stamp}-${randomHex(6)}${ending}` : wanted;
    await writeFile(path, exportLines([destination], madeBy), { replaces: false });
    await removeOlder(storePath, ending);
    return { path, revision };
  };

  return async (namespace) => {
    if (waiting >= waitingMax)
      throw new HoldfastError("unavailable", `${waitingMax} backups are waiting to be written already; nothing was cleared.`, { hint: "Try again shortly." });
    waiting += 1;
    const turn = last.then(() => write(namespace)).finally(() => (waiting -= 1));
    last = turn.catch(() => {});
    return turn;
  };
}

async function removeOlder(storePath: string, ending: string): Promise<void> {
  const folder = dirname(storePath);
  const start = `${basename(storePath)}.backup-`;
  const names = (await readdir(folder)).filter((name) => name.startsWith(start) && name.endsWith(ending)).sort();
  for (const name of names.slice(0, -resetBackupsMax)) await rm(join(folder, name), { force: true });
}
