import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireService } from "../stories/installed-package.ts";

export interface Verdict {
  readonly exitCode: number | null;
  /** Scenarios that count, by name: did all their checks pass? */
  readonly scored: ReadonlyMap<string, boolean>;
  readonly output: string;
}

/** One run of the official suite against a server; it says itself which scenarios count. */
export async function runSuite({ url }: { readonly url: string }, requirements: string): Promise<Verdict> {
  const [node, suite] = await Promise.all([requireService("node24.mjs"), requireService("conformance.mjs")]);
  const folder = await mkdtemp(join(tmpdir(), "holdfast-conformance-"));
  try {
    const child = spawn(node, [suite, "server", "--url", `${url}/mcp`, "--requirements", requirements], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    const [exitCode] = (await once(child, "close")) as [number | null];
    return { exitCode, scored: scoresIn(output), output };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function scoresIn(output: string): ReadonlyMap<string, boolean> {
  const all = output.matchAll(/^([✓✗]) ([\w-]+): \d+ passed, (\d+) failed$/gm);
  const unscored = new Set([...output.matchAll(/^ {2}[✓✗] ([\w-]+) \([\w-]+\)$/gm)].map(([, name]) => name));
  return new Map([...all].filter(([, , name]) => !unscored.has(name)).map(([, mark, name, failed]) => [name as string, mark === "✓" && failed === "0"]));
}
