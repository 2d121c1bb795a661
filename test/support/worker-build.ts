import { mkdir, readdir, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const from = join(root, "test", "workers");
export const workersDir = join(root, "build", "test-workers");

/**
 * Vitest's global set-up: turns every file of test/workers into plain JavaScript, so that a child process
 * starts under any Node we support (Node 20 cannot run TypeScript by itself) and starts fast.
 * Each file is renamed into place: another run of the suite may be starting workers from the same folder.
 */
export default async function buildWorkers(): Promise<void> {
  await mkdir(workersDir, { recursive: true });
  const entryPoints = (await readdir(from)).filter((name) => name.endsWith(".ts")).map((name) => join(from, name));
  if (entryPoints.length === 0) return;
  const { outputFiles } = await build({
    entryPoints,
    outdir: workersDir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    write: false,
    logLevel: "error",
  });
  for (const file of outputFiles) {
    const draft = join(workersDir, `.${basename(file.path)}.${process.pid}`);
    await writeFile(draft, file.contents);
    await rename(draft, file.path);
  }
}
