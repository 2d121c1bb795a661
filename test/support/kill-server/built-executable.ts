import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** The executable as the package has it, made by the package's own build from the sources as they are now: a dist/ that lies about may be older. */
export async function buildDist(): Promise<{ readonly main: string; remove(): Promise<void> }> {
  await mkdir(join(root, "build"), { recursive: true });
  const folder = await mkdtemp(join(root, "build", "kill-server-"));
  const dist = join(folder, "dist");
  await promisify(execFile)(process.execPath, [join(root, "scripts", "build.mjs"), "--out", dist, "--entry", join(root, "src", "main.ts")]);
  return { main: join(dist, "main.js"), remove: () => rm(folder, { recursive: true, force: true }) };
}
