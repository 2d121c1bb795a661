import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { Era } from "./mcp-connection.ts";
import { sharedBuild } from "./shared-builds.ts";

/** The program as users run it, built once for all test files, and a folder for the stores of this one. */
export interface Program extends AsyncDisposable {
  readonly main: string;
  readonly folder: string;
  storeUrl(name: string): string;
}

export async function buildProgram(): Promise<Program> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-mcp-"));
  return {
    main: await sharedBuild("executable"),
    folder,
    storeUrl: (name) => `sqlite:${join(folder, name)}`,
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const quietEnvironment = (): Record<string, string> => ({ PATH: process.env.PATH ?? "", HOLDFAST_PROFILE: "all" });

/** The SDK's client with the program as its child, exactly as a real client starts it. */
export async function connectProgram(program: Program, era: Era, args: readonly string[]): Promise<{ readonly client: Client; readonly pid: number } & AsyncDisposable> {
  const transport = new StdioClientTransport({ command: process.execPath, args: [program.main, ...args], env: quietEnvironment(), stderr: "inherit" });
  const client = new Client({ name: "process-test", version: "1" }, { versionNegotiation: { mode: era === "handshake" ? "legacy" : { pin: "2026-07-28" } } });
  await client.connect(transport);
  return { client, pid: transport.pid as number, [Symbol.asyncDispose]: () => client.close() };
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The program with raw input. `env` is all of its environment but PATH. */
export function startProgram(
  program: Program,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): { readonly child: ChildProcess; readonly finished: Promise<Finished> } {
  const child = spawn(process.execPath, [program.main, ...args], { env: { ...quietEnvironment(), ...env }, stdio: ["pipe", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const finished = new Promise<Finished>((resolve) => child.once("close", (code) => resolve({ code, stdout, stderr })));
  return { child, finished };
}
