import type { ChildProcess, SpawnOptions } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { forgetGuarded, guardProcess } from "./servers/orphan-guard.ts";
import { sharedBuild } from "./shared-builds.ts";

/** The real executable, built once for all test files, and a folder for the stores of this one, which `remove` removes. */
export async function buildExecutable(): Promise<{ readonly main: string; readonly folder: string; remove(): Promise<void> }> {
  const main = await sharedBuild("executable");
  const folder = await mkdtemp(join(tmpdir(), "holdfast-cli-"));
  return { main, folder, remove: () => rm(folder, { recursive: true, force: true }) };
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

export const startExecutable = (main: string, args: readonly string[], options: SpawnOptions = {}): RunningProcess => startProgram(process.execPath, [main, ...args], options);

export function startProgram(program: string, args: readonly string[], options: SpawnOptions = {}): RunningProcess {
  const child = spawn(program, [...args], { stdio: ["ignore", "pipe", "pipe"], ...options });
  if (child.pid !== undefined) guardProcess(child.pid);
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const finished = once(child, "close").then(([code, signal]) => {
    forgetGuarded(child.pid as number);
    return { code, signal, stdout, stderr } as Finished;
  });
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
