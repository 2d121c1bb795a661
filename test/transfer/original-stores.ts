import { createHash } from "node:crypto";
import { cp, lstat, mkdir, readdir, readFile, readlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { SqlDatabase } from "../../src/engines/sqlite/driver.ts";
import { loadSqliteDriver } from "../../src/engines/sqlite/driver.ts";
import type { ImportReport } from "../../src/transfer/import-records.ts";
import { importRecords } from "../../src/transfer/import-records.ts";
import type { SourceName } from "../../src/transfer/originals/reading.ts";
import { placeWorkspaces } from "../../src/transfer/place-workspaces.ts";
import { readSource } from "../../src/transfer/read-source.ts";
import type { TestTools } from "../tools/open-tools.ts";

const folder = fileURLToPath(new URL("./originals/", import.meta.url));

/** A database from SQL text, open as its own server would have it: in WAL mode, the log not yet folded into the file. */
export async function openDatabase(path: string, sql: string): Promise<SqlDatabase> {
  const database = (await loadSqliteDriver()).open(path);
  database.exec("PRAGMA journal_mode=WAL");
  // The dump of AUTOINCREMENT's own table needs no restoring.
  database.exec(sql.replaceAll(/^.*sqlite_sequence.*$/gm, ""));
  return database;
}

/** The store that the original itself wrote (see originals/make_originals.py). */
export async function agentCheckpointStore(path: string): Promise<SqlDatabase> {
  return openDatabase(path, await readFile(join(folder, "agentcheckpoint.sql"), "utf8"));
}
export async function sidecarStore(path: string): Promise<SqlDatabase> {
  return openDatabase(path, await readFile(join(folder, "sidecar.sql"), "utf8"));
}
export const sageStore = (path: string): Promise<void> => cp(join(folder, "sage", "dot-sage"), path, { recursive: true });

/** A checkpoint with the fields that Goldfish's source writes; it is not published as a package that could be run. */
export const goldfishMemory = (changes: Record<string, unknown> = {}, content: Record<string, unknown> = {}) => ({
  id: "20250819-143005-123-1A2B-C3D4",
  timestamp: "2025-08-19T14:30:05.123Z",
  workspace: "payments-api",
  sessionId: "2025-08-19-checkpoint",
  type: "checkpoint",
  content: {
    description: "Moved the retry loop out of the handler",
    highlights: ["Retries are idempotent now"],
    activeFiles: ["src/retry.ts"],
    gitBranch: "feature/retries",
    workContext: "Next: the dead letter queue",
    sessionId: "2025-08-19-checkpoint",
    ...content,
  },
  ttlHours: 72,
  tags: ["checkpoint", "refactor"],
  metadata: { isCheckpoint: true, global: false },
  ...changes,
});

export async function writeFiles(root: string, files: Readonly<Record<string, unknown>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), typeof content === "string" || content instanceof Uint8Array ? content : JSON.stringify(content, null, 2));
  }
}

/** Every name below a folder with a digest of its content, size and time: equal means that nothing was touched. */
export async function imprint(root: string): Promise<readonly string[]> {
  const names = (await readdir(root, { recursive: true })).sort();
  return Promise.all(
    names.map(async (name) => {
      const path = join(root, name);
      const { size, mtimeMs, mode } = await lstat(path);
      const found = await lstat(path);
      const content = found.isSymbolicLink() ? await readlink(path) : found.isFile() ? await readFile(path) : "";
      return `${name} ${found.isDirectory() ? "" : size} ${mtimeMs} ${mode} ${createHash("sha256").update(content).digest("hex")}`;
    }),
  );
}

/** What the command does, without its questions. */
export async function bringIn(
  { base }: TestTools,
  path: string,
  { from, dryRun = false, folders = [] }: { from?: SourceName; dryRun?: boolean; folders?: string[] } = {},
): Promise<ImportReport> {
  const reading = await readSource(path, from);
  const workspaces = await placeWorkspaces(base.store, base.server.surroundings, folders, reading.project);
  return importRecords(base, reading, { dryRun, workspaceOf: workspaces.of, mirror: reading.source === "mirror" ? undefined : base.server.mirror });
}
