import { describe, expect, onTestFinished, test } from "vitest";
import { systemUser } from "../../../src/config.ts";
import type { HttpServer } from "../../support/http-server.ts";
import { mcpHeaders, startHttpServer, toolCall } from "../../support/http-server.ts";

async function openServer(flags: Record<string, string> = {}): Promise<HttpServer> {
  const server = await startHttpServer({ flags });
  onTestFinished(() => server.stop());
  return server;
}

/** Who history names, with the label beside it. */
async function writersOf(server: HttpServer, key: string, token: string | undefined): Promise<readonly (readonly [unknown, unknown])[]> {
  const { result } = (await server.callTool("history_log", { key }, { token })) as { result: { structuredContent: { entries: { writer: string; agent_id?: string }[] } } };
  return result.structuredContent.entries.map(({ writer, agent_id }) => [writer, agent_id]);
}

const pretence = { name: "mallory", version: "1", title: "mallory" };
const handshake = { "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25" };

describe("who did it", () => {
  test("is the token's principal on every path, whatever the call, the client and the headers say it is", async () => {
    const server = await openServer({ auth: "token" });
    const token = await server.token({ name: "ci" });
    const args = { key: "k", value: 1, agent_id: "mallory" };
    const claims = {
      "x-user": "mallory",
      "x-agent-id": "mallory",
      "user-agent": "mallory",
      from: "mallory@example.com",
      "x-remote-user": "mallory",
      "x-forwarded-user": "mallory",
    };
    const post = (path: string, headers: Record<string, string>, body: unknown) =>
      server.fetch(path, { method: "POST", token, headers: { ...headers, ...claims }, body: JSON.stringify(body) });
    const { params } = toolCall("state_set", args);
    const meta = {
      ...params._meta,
      "io.modelcontextprotocol/clientInfo": pretence,
      writer: "mallory",
      principal: "mallory",
      "io.holdfast/writer": "mallory",
      "io.holdfast/principal": "mallory",
    };
    const answers = [
      await post("/mcp", mcpHeaders("tools/call", "state_set"), { ...toolCall("state_set"), params: { ...params, _meta: meta } }),
      await post("/mcp", handshake, { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: pretence } }),
      await post("/mcp", handshake, {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "state_set", arguments: args, _meta: { writer: "mallory", principal: "mallory" } },
      }),
      await post("/api/ns/default/tools/state_set", { "content-type": "application/json" }, args),
    ];
    for (const answer of answers) expect([answer.status, JSON.stringify(await answer.json())]).toEqual([200, expect.not.stringContaining('"isError":true')]);
    expect(await writersOf(server, "k", token)).toEqual([
      ["ci", "mallory"],
      ["ci", "mallory"],
      ["ci", "mallory"],
    ]);
  });

  test("cannot be said by an argument that no tool has", async () => {
    const server = await openServer({ auth: "token" });
    const token = await server.token();
    for (const name of ["writer", "principal", "role", "namespace"])
      expect(JSON.stringify(await server.callTool("state_set", { key: "k", value: 1, [name]: "mallory" }, { token }))).toContain(`unknown argument: ${name}`);
  });

  test("is the system's user where the operator needs no token", async () => {
    const server = await openServer();
    expect(JSON.stringify(await server.callTool("state_set", { key: "k", value: 1 }))).not.toContain('"isError":true');
    expect(await writersOf(server, "k", undefined)).toEqual([[systemUser(), null]]);
  });
});

test("callers with equal request ids, on their own or shared connections, get their own answers", async () => {
  const server = await openServer({ auth: "token" });
  const tokens = await Promise.all(["a", "b", "c", "d"].map((name) => server.token({ name, namespaces: [name] })));
  for (const [i, token] of tokens.entries()) await server.callTool("state_set", { key: "who", value: i }, { token });
  const answers = await Promise.all(
    Array.from({ length: 400 }, async (_, i) => {
      const caller = i % tokens.length;
      const answer = (await server.callTool("state_get", { key: "who" }, { token: tokens[caller] })) as { id: number; result: { structuredContent: { value: number } } };
      return [answer.id, answer.result.structuredContent.value, caller];
    }),
  );
  for (const [id, value, caller] of answers) expect([id, value]).toEqual([1, caller]);
});
