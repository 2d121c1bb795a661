import { join } from "node:path";
import { onTestFinished } from "vitest";
import { requireService } from "../stories/installed-package.ts";
import type { Finished, RunningProcess } from "../support/cli-process.ts";
import { startProgram } from "../support/cli-process.ts";
import type { HttpProcess } from "../support/http-process.ts";
import { startHttpProcess } from "../support/http-process.ts";
import { pythonFolder } from "../support/python-tests.ts";
import { sharedBuild } from "../support/shared-builds.ts";

/** A `holdfast serve` on a store, until the test ends. */
export async function serveForTest(storeUrl: string): Promise<HttpProcess> {
  const server = await startHttpProcess(await sharedBuild("executable"), ["--store", storeUrl, "--rate-limit", "1000000"]);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

/** Starts a program of python/tests/graphs, or an example, with LangGraph and this project's client. */
export async function startGraphProgram(path: string, args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<RunningProcess> {
  const python = await requireService("python-langgraph.mjs");
  const env = { PATH: process.env.PATH, PYTHONPATH: join(pythonFolder, "src"), PYTHONDONTWRITEBYTECODE: "1", PYTHONUNBUFFERED: "1", ...more };
  const running = startProgram(python, [path, ...args], { cwd: pythonFolder, env });
  onTestFinished(async () => {
    if (running.child.exitCode === null && running.child.signalCode === null) running.child.kill("SIGKILL");
    await running.finished;
  });
  return running;
}

/** Runs it to its end; what it printed. */
export async function runGraphProgram(path: string, args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<string> {
  const { code, signal, stdout, stderr }: Finished = await (await startGraphProgram(path, args, more)).finished;
  if (code !== 0) throw new Error(`${path} ended with ${code ?? signal}:\n${stdout}\n${stderr}`);
  return stdout;
}
