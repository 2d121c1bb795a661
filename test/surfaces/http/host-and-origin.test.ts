import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HttpServer } from "../../support/http-server.ts";
import { mcpHeaders, startHttpServer, toolCall } from "../../support/http-server.ts";
import { askRaw, head } from "../../support/raw-http.ts";

const body = JSON.stringify(toolCall("state_set", { key: "k", value: 1 }));
const call = (port: number, headers: Record<string, string | undefined>, path = "/mcp") =>
  askRaw(port, head("POST", path, port, { ...mcpHeaders("tools/call", "state_set"), "content-length": String(body.length), ...headers }) + body);
const get = (port: number, path: string, headers: Record<string, string | undefined> = {}) => askRaw(port, head("GET", path, port, headers));

describe("a server on loopback", () => {
  let server: HttpServer;
  beforeAll(async () => {
    server = await startHttpServer({ flags: { store: "memory:" } });
  });
  afterAll(() => server.stop());

  test.each(["127.0.0.1", "localhost", "LOCALHOST:1", "[::1]:8000", "localhost:8000"])("answers to the name %s", async (host) => {
    expect((await get(server.port, "/livez", { host })).status).toBe(200);
  });

  test.each([
    "evil.example",
    "evil.example:8000",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "10.0.0.1",
    "0.0.0.0",
    "[::2]",
    "localhost@evil.example",
    "localhost,evil.example",
    "",
  ])("refuses the name %j with 403 on every kind of route, before anything runs", async (host) => {
    for (const path of ["/", "/livez", "/health", "/metrics", "/api/me", "/nowhere"]) expect([path, (await get(server.port, path, { host })).status]).toEqual([path, 403]);
    const answer = await call(server.port, { host });
    expect([answer.status, JSON.parse(answer.body)]).toEqual([403, { jsonrpc: "2.0", id: null, error: expect.objectContaining({ message: expect.stringContaining("Host") }) }]);
    expect(await server.callTool("state_get", { key: "k" })).toMatchObject({ result: { structuredContent: { found: false } } });
  });

  test("refuses a request with two names, and one without any", async () => {
    expect((await askRaw(server.port, `GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n`)).status).toBe(400);
    expect((await askRaw(server.port, `GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n`)).status).toBe(400);
  });

  test.each(["null", "https://evil.example", "http://localhost:1", "http://127.0.0.1", "http://evil.example:80", "file://", "chrome-extension://abc", "garbage"])(
    "refuses the origin %j with 403 before anything runs, and lets its page read nothing",
    async (origin) => {
      const answer = await call(server.port, { origin });
      expect(answer.status).toBe(403);
      expect(answer.head).not.toContain("access-control-");
      for (const path of ["/api/me", "/health", "/metrics", "/", "/livez"]) expect([path, (await get(server.port, path, { origin })).status]).toEqual([path, 403]);
      expect(await server.callTool("state_get", { key: "k" })).toMatchObject({ result: { structuredContent: { found: false } } });
    },
  );

  test("lets its own page call, by the address the page was loaded from", async () => {
    expect((await get(server.port, "/api/me", { origin: `http://127.0.0.1:${server.port}`, "sec-fetch-site": "same-origin" })).status).toBe(200);
    expect((await get(server.port, "/api/me", { host: `localhost:${server.port}`, origin: `http://localhost:${server.port}` })).status).toBe(200);
  });

  test.each(["cross-site", "same-site", "anything-new"])("refuses what a browser says is %s, though it names no origin", async (site) => {
    for (const path of ["/api/me", "/health", "/metrics", "/mcp"])
      expect([path, (await get(server.port, path, { "sec-fetch-site": site, "sec-fetch-mode": "no-cors" })).status]).toEqual([path, 403]);
    expect((await get(server.port, "/api/me", { "sec-fetch-site": site, "sec-fetch-mode": "navigate" })).status).toBe(403);
  });

  test("lets a link from elsewhere lead to the page, which holds no data", async () => {
    expect((await get(server.port, "/livez", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" })).status).toBe(200);
    expect((await get(server.port, "/livez", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" })).status).toBe(403);
  });

  test("sends no CORS header to any origin, and answers a preflight with 405", async () => {
    const asked = await askRaw(server.port, head("OPTIONS", "/mcp", server.port, { origin: `http://127.0.0.1:${server.port}`, "access-control-request-method": "POST" }));
    expect(asked.status).toBe(405);
    expect(asked.head).not.toContain("access-control-");
    expect((await get(server.port, "/api/me")).head).not.toContain("access-control-");
  });
});

describe("a server on loopback with a configured origin", () => {
  test("gives its pages nothing without a token, in a browser that sends no fetch metadata either", async () => {
    const server = await startHttpServer({ flags: { store: "memory:", "allowed-origins": "https://app.example.com" } });
    try {
      const origin = "https://app.example.com";
      for (const path of ["/api/me", "/health", "/metrics"]) expect([path, (await get(server.port, path, { origin })).status]).toEqual([path, 401]);
      expect((await call(server.port, { origin })).status).toBe(401);
      const made = JSON.stringify({ name: "mine", role: "admin", namespaces: "*" });
      const making = { origin, "content-type": "application/json", "content-length": String(made.length) };
      expect((await askRaw(server.port, head("POST", "/api/tokens", server.port, making) + made)).status).toBe(401);
      const authorization = `Bearer ${await server.token({ namespaces: "*" })}`;
      expect((await get(server.port, "/api/me", { origin, authorization })).status).toBe(200);
    } finally {
      await server.stop();
    }
  });
});

describe("a server with configured names and origins", () => {
  let server: HttpServer;
  beforeAll(async () => {
    server = await startHttpServer({
      flags: {
        store: "memory:",
        "allowed-hosts": "holdfast.internal,other.example:8443",
        "allowed-origins": "https://app.example.com",
        "public-url": "https://public.example.com",
      },
    });
  });
  afterAll(() => server.stop());

  test.each([
    ["holdfast.internal", 200],
    ["holdfast.internal:9999", 200],
    ["Other.Example:8443", 200],
    ["other.example", 403],
    ["other.example:1", 403],
    ["public.example.com", 200],
    ["evil.example", 403],
  ])("answers the name %s with %i", async (host, status) => {
    expect((await get(server.port, "/livez", { host })).status).toBe(status);
  });

  test("lets pages of the configured origin read, names that origin alone, and tells caches", async () => {
    const answer = await get(server.port, "/api/me", { origin: "https://app.example.com", "sec-fetch-site": "cross-site" });
    // Not from this machine's own page: the operator's rights are not for it.
    expect(answer.status).toBe(401);
    expect(answer.head).toContain("access-control-allow-origin: https://app.example.com");
    expect(answer.head).toContain("vary: origin");
    expect(answer.head).not.toContain("access-control-allow-origin: *");
    expect(answer.head).not.toContain("allow-credentials");
  });

  test("answers the configured origin's preflight, and refuses another's", async () => {
    const preflight = (origin: string) => askRaw(server.port, head("OPTIONS", "/mcp", server.port, { origin, "access-control-request-method": "POST" }));
    const allowed = await preflight("https://app.example.com");
    expect(allowed.status).toBe(204);
    expect(allowed.head).toContain("access-control-allow-methods: post, get, delete");
    expect(allowed.head).toMatch(/access-control-allow-headers: .*authorization.*mcp-protocol-version/);
    const refused = await preflight("https://evil.example");
    expect(refused.status).toBe(403);
    expect(refused.head).not.toContain("access-control-allow");
  });

  test("lets the page of its public address call", async () => {
    const token = await server.token({ namespaces: "*" });
    const headers = { host: "public.example.com", origin: "https://public.example.com", authorization: `Bearer ${token}` };
    expect((await get(server.port, "/api/me", headers)).status).toBe(200);
  });
});

describe("the settings", () => {
  test.each(["*", "https://*", "https://app.example.com/path", "app.example.com", "null"])("refuse the origin %j", async (origin) => {
    await expect(startHttpServer({ flags: { store: "memory:", "allowed-origins": origin } })).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("--allowed-origins"),
    });
  });

  test.each(["*", "http://name", "a b", "name/path"])("refuse the host name %j", async (host) => {
    await expect(startHttpServer({ flags: { store: "memory:", "allowed-hosts": host } })).rejects.toMatchObject({ message: expect.stringContaining("--allowed-hosts") });
  });
});
