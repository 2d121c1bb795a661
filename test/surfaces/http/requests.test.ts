import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openApiFixtures } from "../../support/api-fixtures.ts";
import type { HttpServer } from "../../support/http-server.ts";
import { startHttpServer } from "../../support/http-server.ts";
import { askRaw, connectRaw, head } from "../../support/raw-http.ts";

let server: HttpServer;
beforeAll(async () => {
  server = await startHttpServer({ flags: { store: "memory:" }, apiRoutes: openApiFixtures().routes, dashboardFolder: "not built" });
});
afterAll(() => server.stop());

const get = (path: string, headers: Record<string, string | undefined> = {}) => askRaw(server.port, head("GET", path, server.port, headers));
const post = (body: string, headers: Record<string, string | undefined> = {}) =>
  askRaw(server.port, head("POST", "/api/fixture/echo", server.port, { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)), ...headers }) + body);

describe("a path", () => {
  test.each([
    "/../etc/passwd",
    "/a/../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/.%2e/x",
    "/./x",
    "/%2e/mcp",
    "//evil.example/mcp",
    "/ns/a/../mcp",
    "/ns/%2e%2e/mcp",
    "/a\\..\\b",
    "/%00",
    "/ns/a%00b/mcp",
    "/%0d%0aset-cookie:x",
    "/%7f",
    "/%",
    "/%zz",
    "/%c3%28",
    "/%ff",
    "http://127.0.0.1/livez",
    "*",
  ])("like %s is refused, not repaired", async (path) => {
    const answer = await get(path);
    expect([path, answer.status]).toEqual([path, 400]);
    expect(answer.body).not.toContain("passwd");
  });

  test("with a fragment or spaces is refused", async () => {
    expect((await get("/livez#x")).status).toBe(400);
    expect((await get("/li vez")).status).toBe(400);
  });

  test("that is too long is refused with 414, one byte less is not", async () => {
    expect((await get(`/${"a".repeat(8_192)}`)).status).toBe(414);
    expect((await get(`/${"a".repeat(8_191)}`)).status).toBe(404);
  });

  test.each(["/mcp/", "/MCP", "/ns/default/mcp/", "/livez/", "/api", "/api/", "/api/me/", "/api//me", "/%6dcp/x", "/assets/nothing.js", "/.env", "/api/ns/default"])(
    "like %s leads nowhere",
    async (path) => {
      expect([path, (await get(path)).status]).toEqual([path, 404]);
    },
  );

  test("names a namespace in one encoded part, slashes included", async () => {
    const { status, body } = await get("/api/ns/team%2Fblue%20one/overview");
    expect([status, body.slice(0, 10)]).toEqual([200, expect.stringContaining("{")]);
    expect((await get("/api/ns/team/blue/overview")).status).toBe(404);
    const refused = await get(`/api/ns/${encodeURIComponent(".system")}/overview`);
    expect(refused.status).toBe(403);
    expect((await get("/api/ns/%20/overview")).status).toBe(400);
  });
});

describe("a method", () => {
  test.each([
    ["PUT", "/mcp", "POST, GET, DELETE"],
    ["PATCH", "/ns/default/mcp", "POST, GET, DELETE"],
    ["POST", "/livez", "GET, HEAD"],
    ["DELETE", "/health", "GET, HEAD"],
    ["POST", "/metrics", "GET, HEAD"],
    ["POST", "/", "GET, HEAD"],
    ["PUT", "/api/me", "GET"],
    ["TRACE", "/livez", "GET, HEAD"],
  ])("%s on %s is refused with 405 and what is allowed", async (method, path, allow) => {
    const { status, head: answered } = await askRaw(server.port, head(method, path, server.port));
    expect([status, /allow: (.*)/.exec(answered)?.[1]]).toEqual([405, allow.toLowerCase()]);
  });

  test("that asks for a tunnel or another protocol gets none", async () => {
    using tunnel = await connectRaw(server.port);
    tunnel.write("CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(await tunnel.closed).not.toContain(" 200 ");
    const upgraded = await askRaw(server.port, head("GET", "/livez", server.port, { upgrade: "websocket", connection: "close, upgrade" }));
    expect(upgraded.status).toBe(200);
    expect((await askRaw(server.port, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")).status).toBe(400);
  });

  test("HEAD gives the head alone", async () => {
    const answer = await askRaw(server.port, head("HEAD", "/livez", server.port));
    expect([answer.status, answer.body]).toEqual([200, ""]);
  });
});

describe("a body", () => {
  test.each([undefined, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp", "text/json"])(
    "with the content type %s is refused with 415: a page of any site could send it",
    async (type) => {
      expect((await post('{"a":1}', { "content-type": type })).status).toBe(415);
    },
  );

  test("of JSON is taken, with or without a charset", async () => {
    expect(await post('{"a":1}')).toMatchObject({ status: 200, body: '{"a":1}' });
    expect((await post('{"a":1}', { "content-type": "application/json; charset=utf-8" })).status).toBe(200);
  });

  test("that is not UTF-8 is refused: it would be stored as something that was never sent", async () => {
    using connection = await connectRaw(server.port);
    connection.write(head("POST", "/api/fixture/echo", server.port, { "content-type": "application/json", "content-length": "3" }));
    connection.write(Buffer.from([0x22, 0xff, 0x22]));
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 400 /);
  });

  test.each(["", "{", "nul", '{"a":1}x'])("that is not JSON (%j) is refused with 400", async (text) => {
    expect(await post(text)).toMatchObject({ status: 400, body: expect.stringContaining("body: must be JSON") });
  });

  test("that is nested too deep is refused", async () => {
    expect((await post("[".repeat(128) + "]".repeat(128))).status).toBe(200);
    expect(await post("[".repeat(129) + "]".repeat(129))).toMatchObject({ status: 400, body: expect.stringContaining("128") });
    expect((await post("[".repeat(1_000_000) + "]".repeat(1_000_000))).status).toBe(400);
  });

  test("that is compressed is refused with 415 before it is read", async () => {
    expect((await post("{}", { "content-encoding": "gzip" })).status).toBe(415);
  });

  test("in chunks is taken", async () => {
    const request = head("POST", "/api/fixture/echo", server.port, { "content-type": "application/json", "transfer-encoding": "chunked" });
    expect(await askRaw(server.port, `${request}3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n`)).toMatchObject({ status: 200, body: '{"a":1}' });
  });

  test("whose length two readers could see differently is refused", async () => {
    const both = head("POST", "/api/fixture/echo", server.port, { "content-type": "application/json", "content-length": "2", "transfer-encoding": "chunked" });
    expect((await askRaw(server.port, `${both}0\r\n\r\n`)).status).toBe(400);
    const request = `POST /api/fixture/echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} `;
    expect((await askRaw(server.port, request)).status).toBe(400);
    expect((await askRaw(server.port, head("POST", "/api/fixture/echo", server.port, { "transfer-encoding": "gzip, chunked, x" }))).status).toBe(400);
  });

  test("is requested where the client waits to be asked, and not where it is not wanted", async () => {
    const waiting = (length: number) =>
      head("POST", "/api/fixture/echo", server.port, { "content-type": "application/json", "content-length": String(length), expect: "100-continue" });
    using wanted = await connectRaw(server.port);
    wanted.write(waiting(2));
    await wanted.saw(/^HTTP\/1\.1 100 /);
    wanted.write("{}");
    expect(await wanted.closed).toMatch(/HTTP\/1\.1 200 /);
    expect(await askRaw(server.port, waiting(100_000_000))).toMatchObject({ status: 413 });
  });
});

describe("a head", () => {
  test("that is too large is refused with 431", async () => {
    expect((await get("/livez", { "x-large": "x".repeat(20_000) })).status).toBe(431);
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`x-${i}`, "1"]));
    expect((await get("/livez", many)).status).toBe(431);
  });

  test("of many headers cannot hide what a proxy adds last", async () => {
    const many = Object.fromEntries(Array.from({ length: 96 }, (_, i) => [`x-${i}`, "1"]));
    expect((await get("/api/me", many)).status).toBe(200);
    expect((await get("/api/me", { ...many, "x-forwarded-for": "203.0.113.9" })).status).toBe(401);
  });

  test("with two credentials is refused", async () => {
    const request = `GET /api/me HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n`;
    expect((await askRaw(server.port, request)).status).toBe(400);
  });

  test.each([
    "GET / HTTP/9.9\r\n\r\n",
    "\x16\x03\x01\x02\x00\x01\x00",
    "GET /livez HTTP/1.1\r\nHost : x\r\n\r\n",
    "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
    "nonsense\r\n\r\n",
  ])("that is none (%j) is refused with 400", async (text) => {
    expect((await askRaw(server.port, text)).status).toBe(400);
  });
});

test("liveness reports only that the process is alive, to every caller", async () => {
  expect(await get("/livez", { "x-forwarded-for": "203.0.113.9" })).toMatchObject({ status: 200, body: "ok\n" });
});

test("requests that are sent ahead are answered in their order, each with its own answer", async () => {
  using connection = await connectRaw(server.port);
  const one = (i: number) =>
    head("POST", "/api/fixture/echo", server.port, { connection: i === 9 ? "close" : "keep-alive", "content-type": "application/json", "content-length": "1" }) + String(i);
  connection.write(Array.from({ length: 10 }, (_, i) => one(i)).join(""));
  const text = await connection.closed;
  expect([...text.matchAll(/\r\n\r\n(\d)/g)].map(([, digit]) => digit).join("")).toBe("0123456789");
});

test("a handler that throws is answered with 500 and nothing of our insides; the log has it, and the server continues", async () => {
  const { status, body } = await get("/api/fixture/throw");
  expect([status, JSON.parse(body)]).toEqual([500, { error: { code: "internal", message: "Internal error in Holdfast; the server's log has the details." } }]);
  expect(server.logged).toContainEqual({
    level: "error",
    event: "request_failed",
    facts: expect.objectContaining({ route: "/api/fixture/throw", problem: expect.stringContaining("hunter2") }),
  });
  expect((await get("/livez")).status).toBe(200);
});

test("every answer tells browsers to guess nothing and to keep nothing", async () => {
  for (const path of ["/livez", "/health", "/metrics", "/api/me", "/nowhere"]) {
    const { head: answered } = await get(path);
    for (const line of ["x-content-type-options: nosniff", "referrer-policy: no-referrer", "cache-control: no-store", "cross-origin-resource-policy: same-origin"])
      expect([path, answered]).toEqual([path, expect.stringContaining(line)]);
    expect(answered).not.toMatch(/server:|x-powered-by/);
  }
});

describe("the access log", () => {
  test("has one event for each request: method, route, status, time and principal", async () => {
    const before = server.logged.length;
    await get("/api/ns/default/overview?q=1");
    expect(server.logged.slice(before).filter(({ event }) => event === "request")).toEqual([
      {
        level: "info",
        event: "request",
        facts: {
          request: expect.any(String),
          trace: undefined,
          method: "GET",
          route: "/api/ns/:namespace/overview",
          status: 400,
          ms: expect.any(Number),
          principal: expect.any(String),
        },
      },
    ]);
  });

  test("holds no token, path, query or header of a caller", async () => {
    const token = await server.token();
    await server.fetch(`/api/me?access_token=${token}`, { token, headers: { "user-agent": "agent-x" } });
    await server.fetch(`/secret-path-${token}`);
    expect(JSON.stringify(server.logged)).not.toMatch(new RegExp(`${token}|secret-path|agent-x|access_token`));
  });
});
