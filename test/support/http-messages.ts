import type { Agent } from "node:http";
import { request } from "node:http";

/** What the stateless era wants beside the body. */
export const mcpHeaders = (method: string, name?: string): Record<string, string> => ({
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": method,
  ...(name === undefined ? {} : { "mcp-name": name }),
});

/** One `tools/call` of the stateless era. */
export const toolCall = (name: string, args: Readonly<Record<string, unknown>> = {}, id: string | number = 1) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: {
    name,
    arguments: args,
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
});

export interface Caller {
  readonly port: number;
  readonly agent: Agent;
  readonly token: string;
}

/** Sends one call and gives the JSON-RPC answer; undefined where there was none. Lighter than fetch, for whoever makes thousands. */
export function postCall({ port, agent, token }: Caller, name: string, args: Readonly<Record<string, unknown>>, id: number) {
  const body = JSON.stringify(toolCall(name, args, id));
  const headers = { ...mcpHeaders("tools/call", name), authorization: `Bearer ${token}`, "content-length": Buffer.byteLength(body) };
  return new Promise<{ readonly id?: unknown; readonly result?: { readonly isError?: boolean; readonly structuredContent?: Readonly<Record<string, unknown>> } } | undefined>(
    (resolve) => {
      const sent = request({ host: "127.0.0.1", port, path: "/mcp", method: "POST", agent, headers });
      sent.once("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.once("end", () => resolve(response.statusCode === 200 ? JSON.parse(text) : undefined));
        response.once("error", () => resolve(undefined));
      });
      sent.once("error", () => resolve(undefined));
      sent.end(body);
    },
  );
}
