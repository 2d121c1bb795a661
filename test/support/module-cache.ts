import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

/**
 * The folder for Vitest's cache of transformed modules, one for each state of the lock file. Vitest itself clears a cache that is older than the lock file,
 * but does not create the folder again, so the first run after a change of dependencies would fail.
 */
export function moduleCache(name: string): string {
  const root = join("build", name);
  const current = createHash("sha256").update(readFileSync("package-lock.json")).digest("hex").slice(0, 12);
  for (const entry of readOptional(root)) if (entry !== current) rmSync(join(root, entry), { recursive: true, force: true });
  return join(root, current);
}

function readOptional(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
