import type { ChildProcess, SpawnOptions } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The real executable, bundled as the package bundles it, and a folder for its store; both are gone after `remove`. */
export async function buildExecutable(): Promise<{ readonly main: string; readonly folder: string; remove(): Promise<void> }> {
  await mkdir(join(root, "build"), { recursive: true });
  const folder = await mkdtemp(join(root, "build", "test-cli-"));
  await build({
    absWorkingDir: root,
    entryPoints: ["src/main.ts"],
    outdir: join(folder, "dist"),
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    mainFields: ["module", "main"],
    external: ["@photostructure/sqlite", "pg", "ioredis"],
    banner: { js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);' },
    logLevel: "error",
  });
  return { main: join(folder, "dist", "main.js"), folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningProcess {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
  /** Resolves when standard output has matched. */
  saw(pattern: RegExp): Promise<string>;
}

export function startExecutable(main: string, args: readonly string[], options: SpawnOptions = {}): RunningProcess {
  const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "pipe"], ...options });
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const finished = once(child, "close").then(([code, signal]) => ({ code, signal, stdout, stderr }) as Finished);
  return {
    child,
    finished,
    async saw(pattern) {
      while (!pattern.test(stdout)) {
        if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode} before it printed ${pattern}: ${stdout}${stderr}`);
        await Promise.race([once(child.stdout as NodeJS.ReadableStream, "data"), once(child, "exit")]);
      }
      return stdout;
    },
  };
}
