import { spawn } from "node:child_process";
import { once } from "node:events";
import type { InstalledPackage } from "./installed-package.ts";
import { requireService } from "./installed-package.ts";

export type Era = "legacy" | "modern";

export interface InspectorAnswer {
  readonly exitCode: number | null;
  /** What the Inspector printed under `result`. */
  // biome-ignore lint/suspicious/noExplicitAny: stories look into answers freely
  readonly result?: any;
  readonly stderr: string;
}

/** The official Inspector on the command line. Every call is a client process of its own and, unless `target` names a server, a server process too: only the store lasts. */
export async function openInspector(installed: InstalledPackage, era: Era, target: readonly string[] = [installed.command]) {
  const [node, launcher] = await Promise.all([requireService("node24.mjs"), requireService("inspector.mjs")]);

  async function inspect(...args: string[]): Promise<InspectorAnswer> {
    const words = [launcher, "--cli", "--format", "json", "--quiet", "--protocol-era", era, ...args, ...target];
    // Its own settings stay in the story's folder, and it asks no keychain.
    const env = { ...process.env, HOME: installed.folder, MCP_INSPECTOR_SECRET_STORE: "memory" };
    const child = spawn(node, words, { stdio: ["ignore", "pipe", "pipe"], env });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    const [exitCode] = (await once(child, "close")) as [number | null];
    return { exitCode, result: stdout.trim() === "" ? undefined : JSON.parse(stdout).result, stderr };
  }

  const callTool = (tool: string, args: Readonly<Record<string, unknown>>, requestKey?: string): Promise<InspectorAnswer> =>
    inspect(
      ...(requestKey === undefined ? [] : ["--tool-metadata", `holdfast/request-key=${requestKey}`]),
      "--method",
      "tools/call",
      "--tool-name",
      tool,
      "--tool-args-json",
      JSON.stringify(args),
    );

  return {
    inspect,
    callTool,
    /** The structured answer of a call that must succeed. */
    async call(tool: string, args: Readonly<Record<string, unknown>>, requestKey?: string) {
      const { exitCode, result, stderr } = await callTool(tool, args, requestKey);
      if (exitCode !== 0 || result?.isError) throw new Error(`${tool} ended with ${exitCode}: ${JSON.stringify(result)} ${stderr}`);
      return result.structuredContent;
    },
  };
}
