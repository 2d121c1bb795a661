import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { forgetGuarded, guardFolder } from "./servers/orphan-guard.ts";
import { quickRoot } from "./servers/quick-root.ts";

/**
 * Vitest's global set-up: one temporary directory for the whole run, which every test file and every process that it starts inherits as TMPDIR.
 * Tests remove their own folders; whatever an interrupted one could not remove goes with the run. Tests work in memory where there is room; campaigns use the disk, because durability is what many of them are about.
 */
export async function setup({ tmpDir, config }: TestProject): Promise<() => void> {
  const outer = process.env.TMPDIR;
  const isCampaign = config.include.some((pattern) => pattern.includes(".campaign."));
  const folder = mkdtempSync(join(isCampaign ? tmpdir() : await quickRoot(), "holdfast-run-"));
  guardFolder(folder);
  // Vitest's own, which it removes only when it ends by itself.
  guardFolder(tmpDir);
  // Others may pass through to folders that are theirs: as root, the tests run PostgreSQL as another user.
  chmodSync(folder, 0o711);
  process.env.TMPDIR = folder;
  return () => {
    if (outer === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = outer;
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    forgetGuarded(folder);
  };
}
