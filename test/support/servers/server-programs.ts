import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export interface ServerPrograms {
  /** Name and version, for example "redis 7.0.15". */
  readonly version: string;
  readonly folder: string;
  /** The path of one of them, by its last name: "server", "cli" or "benchmark" of Redis; "postgres", "pgbench" and so on. */
  path(name: string): string;
}

/** Also right inside a bundle, which lies elsewhere than its sources. */
export const projectRoot = ((): string => {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    if (existsSync(join(folder, "scripts", "test-services"))) return folder;
    if (folder === dirname(folder)) throw new Error("scripts/test-services was not found above this file.");
  }
})();

const found = new Map<string, Promise<ServerPrograms>>();

/** Redis or Valkey: found, or fetched on first use. */
export const requireRedisPrograms = (): Promise<ServerPrograms> =>
  remember("redis.mjs", (folder, name) => join(folder, `${existsSync(join(folder, "redis-server")) ? "redis" : "valkey"}-${name}`));

export const requirePostgresPrograms = (): Promise<ServerPrograms> => remember("postgres.mjs", join);

function remember(script: string, path: (folder: string, name: string) => string): Promise<ServerPrograms> {
  const known = found.get(script) ?? ask(script, path);
  found.set(script, known);
  return known;
}

async function ask(script: string, path: (folder: string, name: string) => string): Promise<ServerPrograms> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(projectRoot, "scripts", "test-services", script)]);
  const [version = "", folder = ""] = stdout.trim().split("\n").slice(-2);
  return { version, folder, path: (name) => path(folder, name) };
}
