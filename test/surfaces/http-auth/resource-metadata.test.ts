import { describe, expect, onTestFinished, test } from "vitest";
import { mcpHeaders, startHttpServer } from "../../support/http-server.ts";
import { audience, startIssuer } from "./issuer.ts";

async function openServer(flags: Record<string, string> = {}) {
  const issuer = await startIssuer();
  const server = await startHttpServer({ flags: { auth: "token", "jwt-issuer": issuer.url, "jwt-audience": audience, ...flags } });
  onTestFinished(() => server.stop());
  return { issuer, server };
}

/** The parts of a challenge: `Bearer a="1", b="2"`. */
function challengeOf(answer: Response): Record<string, string> {
  const header = answer.headers.get("www-authenticate") ?? "";
  expect(header).toMatch(/^Bearer ([a-z_]+="[^"\\]*"(, )?)+$/);
  return Object.fromEntries([...header.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
}

describe("a client that has no credential", () => {
  const eras: [string, Record<string, string>][] = [
    ["stateless", mcpHeaders("tools/list")],
    ["handshake", { "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25" }],
  ];
  test.each(eras)("of the %s era learns where the issuer is named, and finds it there", async (_era, headers) => {
    const { issuer, server } = await openServer();
    for (const path of ["/mcp", "/ns/team%2Fnorth/mcp"]) {
      const refused = await server.fetch(path, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }) });
      expect(refused.status).toBe(401);
      const { resource_metadata: place, scope, error } = challengeOf(refused);
      expect([place, scope, error]).toEqual([`${server.url}/.well-known/oauth-protected-resource${path}`, "holdfast:read holdfast:write", undefined]);
      const found = await fetch(place as string);
      expect([found.status, found.headers.get("content-type")]).toEqual([200, expect.stringContaining("application/json")]);
      expect(await found.json()).toEqual({
        // What the client asked for, letter by letter: clients compare it.
        resource: `${server.url}${path}`,
        authorization_servers: [issuer.url],
        bearer_methods_supported: ["header"],
        scopes_supported: ["holdfast:read", "holdfast:write", "holdfast:admin"],
        resource_name: "Holdfast",
      });
    }
  });

  test("may also look at the root, and finds nothing at addresses that are no endpoints", async () => {
    const { server } = await openServer();
    expect(await (await fetch(`${server.url}/.well-known/oauth-protected-resource`)).json()).toMatchObject({ resource: server.url });
    for (const path of ["/x", "/ns/a/keys", "/api/me", "/mcp/", "/ns//mcp", "/ns/a/b/mcp"])
      expect([path, (await fetch(`${server.url}/.well-known/oauth-protected-resource${path}`)).status]).toEqual([path, 404]);
  });

  test("is sent to the public address where one is configured", async () => {
    const { server } = await openServer({ "public-url": "https://holdfast.example.com" });
    const { resource_metadata: place } = challengeOf(await server.fetch("/mcp", { method: "POST" }));
    expect(place).toBe("https://holdfast.example.com/.well-known/oauth-protected-resource/mcp");
    expect(await (await server.fetch("/.well-known/oauth-protected-resource/mcp")).json()).toMatchObject({ resource: "https://holdfast.example.com/mcp" });
  });

  test("gets no issuer's address if there is no issuer, and the documents do not exist", async () => {
    const server = await startHttpServer({ flags: { auth: "token" } });
    onTestFinished(() => server.stop());
    expect(challengeOf(await server.fetch("/mcp", { method: "POST" }))).toEqual({ realm: "holdfast" });
    expect((await server.fetch("/.well-known/oauth-protected-resource")).status).toBe(404);
  });
});

describe("a client whose credential does not do", () => {
  test("gets an error for a wrong one", async () => {
    const { issuer, server } = await openServer();
    const answer = await server.fetch("/mcp", { method: "POST", token: await issuer.forge() });
    expect([answer.status, challengeOf(answer)]).toEqual([401, expect.objectContaining({ error: "invalid_token", resource_metadata: expect.any(String) })]);
  });

  test("gets the scope that would suffice, as clients that can request more expect", async () => {
    const { issuer, server } = await openServer();
    const headers = { "content-type": "application/json" };
    const none = await server.fetch("/api/me", { token: await issuer.sign({ scope: "openid" }) });
    expect([none.status, challengeOf(none)]).toEqual([403, expect.objectContaining({ error: "insufficient_scope", scope: "holdfast:read" })]);
    const low = await server.fetch("/api/tokens", { method: "POST", headers, body: "{}", token: await issuer.sign({ scope: "holdfast:write" }) });
    expect([low.status, challengeOf(low)]).toEqual([403, expect.objectContaining({ error: "insufficient_scope", scope: "holdfast:admin" })]);
  });

  test("gets in with the right one, and history names it", async () => {
    const { issuer, server } = await openServer();
    const token = await issuer.sign({ holdfast_namespaces: ["team"] });
    expect(await server.callTool("state_set", { key: "k", value: 1, agent_id: "root" }, { token })).toMatchObject({ result: { structuredContent: { version: 1 } } });
    const history = await server.callTool("history_log", { key: "k" }, { token, path: "/ns/team/mcp" });
    expect(JSON.stringify(history)).toContain('"writer":"jwt:ops"');
    expect(await (await server.fetch("/api/me", { token })).json()).toMatchObject({ principal: "jwt:ops", kind: "jwt", role: "write", namespaces: ["team"] });
  });
});
