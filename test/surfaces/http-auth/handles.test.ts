import { describe, expect, onTestFinished, test } from "vitest";
import { listTokens } from "../../../src/domain/identity/tokens.ts";
import type { HttpServer } from "../../support/http-server.ts";
import { mcpHeaders, startHttpServer } from "../../support/http-server.ts";

async function openServer(): Promise<HttpServer> {
  const server = await startHttpServer({ flags: { auth: "token" } });
  onTestFinished(() => server.stop());
  return server;
}

const handshake = { "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25" };
const message = (method: string, params: object = {}) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });

async function shakeHands(server: HttpServer, token: string, path = "/mcp"): Promise<string> {
  const body = message("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } });
  const answer = await server.fetch(path, { method: "POST", token, headers: handshake, body });
  await answer.text();
  return answer.headers.get("mcp-session-id") ?? "";
}

describe("a handle", () => {
  test("of a session of the handshake era is 256 random bits, and is useless to any caller but its own", async () => {
    const server = await openServer();
    const [mine, same, other, lower] = [
      await server.token({ name: "a" }),
      await server.token({ name: "a" }),
      await server.token({ name: "b" }),
      await server.token({ name: "a", role: "read" }),
    ];
    const session = await shakeHands(server, mine);
    expect(Buffer.from(session, "base64url")).toHaveLength(32);
    expect(await shakeHands(server, mine)).not.toBe(session);
    const list = async (token: string, id: string) => {
      const answer = await server.fetch("/mcp", { method: "POST", token, headers: { ...handshake, "mcp-session-id": id }, body: message("tools/list") });
      return { status: answer.status, text: await answer.text() };
    };
    expect((await list(mine, session)).status).toBe(200);
    const unknown = await list(mine, "A".repeat(43));
    expect(unknown.status).toBe(404);
    for (const token of [same, other, lower]) {
      expect(await list(token, session)).toEqual(unknown);
      // Nor can it be ended by them.
      expect((await server.fetch("/mcp", { method: "DELETE", token, headers: { ...handshake, "mcp-session-id": session } })).status).toBe(404);
    }
    expect((await list(mine, session)).status).toBe(200);
    expect(JSON.stringify(await server.serving.system.read({ start: "" }))).not.toContain(session);
  });

  test("of a session is good in its own namespace only", async () => {
    const server = await openServer();
    const token = await server.token({ namespaces: ["one", "two"] });
    const session = await shakeHands(server, token, "/ns/one/mcp");
    const ask = (path: string) => server.fetch(path, { method: "POST", token, headers: { ...handshake, "mcp-session-id": session }, body: message("ping") });
    expect([(await ask("/ns/one/mcp")).status, (await ask("/mcp")).status, (await ask("/ns/two/mcp")).status]).toEqual([200, 200, 404]);
  });

  test("of something in another namespace answers as one that never was", async () => {
    const server = await openServer();
    const [mine, theirs] = [await server.token({ namespaces: ["mine"] }), await server.token({ namespaces: ["theirs"] })];
    const create = (token: string, name: string, args: Record<string, unknown>) => server.callTool(name, args, { token });
    await create(theirs, "workflow_create", { name: "w", run_id: "their-run" });
    await create(theirs, "session_save", { session_id: "their-session", context: { a: 1 } });
    await create(theirs, "state_set", { key: "their-key", value: 1 });
    await create(theirs, "save_knowledge", { id: "their-note", content: "secret" });
    await create(theirs, "lease_acquire", { resource_id: "their-lease", holder_id: "them", ttl_seconds: 600 });
    const pairs: readonly (readonly [string, (id: string) => Record<string, unknown>, string])[] = [
      ["workflow_status", (id) => ({ run_id: id }), "their-run"],
      ["workflow_resume", (id) => ({ run_id: id }), "their-run"],
      ["workflow_claim", (id) => ({ run_id: id, agent_id: "me" }), "their-run"],
      ["workflow_finish", (id) => ({ run_id: id, status: "cancelled" }), "their-run"],
      ["session_restore", (id) => ({ session_id: id }), "their-session"],
      ["state_get", (id) => ({ key: id }), "their-key"],
      ["state_delete", (id) => ({ key: id }), "their-key"],
      ["load_checkpoint", (id) => ({ checkpoint_id: id }), "2026"],
      ["lease_release", (id) => ({ resource_id: id, holder_id: "them" }), "their-lease"],
    ];
    for (const [tool, args, id] of pairs) {
      const answers = [];
      for (const each of [id, "x".repeat(id.length)]) answers.push(JSON.stringify(await server.callTool(tool, args(each), { token: mine })).replaceAll(each, "ID"));
      expect([tool, answers[0]]).toEqual([tool, answers[1]]);
    }
    expect(await server.callTool("workflow_status", { run_id: "their-run" }, { token: theirs })).toMatchObject({ result: { structuredContent: { run_id: "their-run" } } });
  });

  test("of a token that is for other namespaces answers as one that never was, and the list does not show it", async () => {
    const server = await openServer();
    const admin = await server.token({ name: "a", role: "admin", namespaces: ["a"] });
    await server.token({ name: "b", role: "read", namespaces: ["b"] });
    await server.token({ name: "both", role: "read", namespaces: ["a", "b"] });
    await server.token({ name: "everywhere", role: "read", namespaces: "*" });
    await server.token({ name: "mine", role: "read", namespaces: ["a"] });
    const tokens = await listTokens({ store: server.serving.system });
    const listed = (await (await server.fetch("/api/tokens", { token: admin })).json()) as { tokens: { name: string }[] };
    expect(listed.tokens.map(({ name }) => name).sort()).toEqual(["a", "mine"]);
    const end = async (id: string) => {
      const answer = await server.fetch(`/api/tokens/${id}`, { method: "DELETE", token: admin });
      return [answer.status, await answer.text()];
    };
    const unknown = await end("0000000000000000");
    expect(unknown[0]).toBe(404);
    for (const name of ["b", "both", "everywhere"]) expect(await end(tokens.find((token) => token.name === name)?.id as string), name).toEqual(unknown);
    expect((await end(tokens.find((token) => token.name === "mine")?.id as string))[0]).toBe(200);
    expect(await listTokens({ store: server.serving.system })).toHaveLength(4);
    const more = { method: "POST", token: admin, headers: { "content-type": "application/json" } };
    for (const namespaces of ["*", ["b"], ["a", "b"]])
      expect((await server.fetch("/api/tokens", { ...more, body: JSON.stringify({ name: "x", role: "read", namespaces }) })).status).toBe(403);
  });

  test("of a namespace by another spelling opens nothing that the plain one does not", async () => {
    const server = await openServer();
    const admin = await server.token({ role: "admin", namespaces: "*" });
    const scoped = await server.token({ role: "admin", namespaces: ["own"] });
    const spellings = [".system", "%2esystem", "%2Esystem", ".system%2F", ".SYSTEM", "%00.system", "%EF%BC%8Esystem"];
    for (const spelling of spellings)
      for (const path of [`/ns/${spelling}/mcp`, `/api/ns/${spelling}/keys`]) {
        const isMcp = path.endsWith("/mcp");
        const answer = await server.fetch(path, isMcp ? { method: "POST", token: admin, headers: mcpHeaders("tools/list"), body: message("tools/list") } : { token: admin });
        expect([path, answer.status === 400 || answer.status === 403]).toEqual([path, true]);
        expect(await answer.text()).not.toContain("token/");
      }
    for (const spelling of ["OWN", "own%20", "own%2F", "*", "%2A", "ｏｗｎ", "own%2F..%2Fother"])
      expect([spelling, (await server.fetch(`/api/ns/${spelling}/keys`, { token: scoped })).status]).toEqual([spelling, 403]);
    expect((await server.fetch("/api/ns/own/keys", { token: scoped })).status).toBe(200);
  });
});
