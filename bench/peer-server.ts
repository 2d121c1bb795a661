import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

/** Another memory server: the real program, called as an agent would call it. */
export interface PeerServer extends AsyncDisposable {
  readonly name: string;
  /** The texts of its answer. */
  call(tool: string, args: Record<string, unknown>): Promise<string>;
}

/** MCP's reference memory server, with its own file. */
export async function openServerMemory(folder: string): Promise<PeerServer> {
  const program = execFileSync(process.execPath, [join("scripts", "test-services", "server-memory.mjs")], { encoding: "utf8" }).trim();
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program],
    env: { PATH: process.env.PATH ?? "", MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
    stderr: "ignore",
  });
  const client = new Client({ name: "bench", version: "1.0.0" });
  await client.connect(transport);
  return {
    name: "server-memory",
    async call(tool, args) {
      const { content, isError } = await client.callTool({ name: tool, arguments: args });
      const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
      if (isError) throw new Error(`${tool}: ${text}`);
      return text;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** A text as an entity, the only kind of record that it stores. */
export const asEntity = (name: string, ...observations: readonly string[]): Record<string, unknown> => ({ name, entityType: "note", observations });
