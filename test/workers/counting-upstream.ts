import { appendFileSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

/** An MCP server over stdio that writes a line into a file for every call that took effect: `counting-upstream FILE`. It speaks both eras; FILE.pid is its process id. */
const [, , file = ""] = process.argv;
writeFileSync(`${file}.pid`, String(process.pid));
const object = { type: "object" as const };

serveStdio(() => {
  const server = new Server({ name: "counting", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({
    tools: [
      { name: "send", description: "Has an effect.", inputSchema: object },
      { name: "die", description: "Has an effect, and ends before it answers.", inputSchema: object },
      { name: "look", description: "Has none.", inputSchema: object, annotations: { readOnlyHint: true } },
    ],
  }));
  server.setRequestHandler("tools/call", async ({ params }) => {
    if (params.name !== "look") appendFileSync(file, `${JSON.stringify(params)}\n`);
    if (params.name === "die") process.kill(process.pid, "SIGKILL");
    const afterMs = Number((params.arguments as { readonly afterMs?: unknown } | undefined)?.afterMs ?? 0);
    if (afterMs > 0) await delay(afterMs);
    return { content: [{ type: "text", text: `did ${JSON.stringify(params.arguments)}` }] };
  });
  return server;
});
