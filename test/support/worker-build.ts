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
 */
export default async function buildWorkers(): Promise<void> {
  await mkdir(workersDir, { recursive: true });
  const names = (await readdir(from)).filter((name) => name.endsWith(".ts"));
  await Promise.all(names.map((name) => buildWorker(join(from, name), join(workersDir, `${basename(name, ".ts")}.mjs`))));
}

async function buildWorker(source: string, target: string): Promise<void> {
  const code = await build({
    entryPoints: [source],
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    loader: { ".lua": "text" },
    write: false,
    logLevel: "silent",
  }).then(
    ({ outputFiles }) => outputFiles[0]?.text ?? "",
    // Only the tests that start this worker should fail, and they should say why.
    (error: Error) => `throw new Error(${JSON.stringify(`${basename(source)} could not be built. ${error.message}`)});\n`,
  );
  // Renamed into place: another run of the suite may be starting workers from the same folder.
  const draft = `${target}.${process.pid}`;
  await writeFile(draft, code);
  await rename(draft, target);
}
