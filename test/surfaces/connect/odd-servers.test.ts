import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import type { Clock } from "../../../src/kernel/clock.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { requireTarget } from "../../../src/surfaces/connect/target.ts";
import { openBridge } from "../../support/bridge-connection.ts";
import { paramsFor } from "../../support/mcp-connection.ts";
import { loopbackCertificate } from "../../support/servers/loopback-certificate.ts";

interface Asked {
  readonly method: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly message: { readonly id?: number; readonly method?: string };
}

/** A server that does as the script says, one step for each request; the last step is repeated. */
async function scripted(...steps: readonly ((response: ServerResponse, asked: Asked) => void)[]) {
  const asked: Asked[] = [];
  const listener: RequestListener = async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    const one = { method: request.method, headers: request.headers, message: text === "" ? {} : JSON.parse(text) };
    asked.push(one);
    steps[Math.min(asked.length, steps.length) - 1]?.(response, one);
  };
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    asked,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const answer = (response: ServerResponse, { message }: Asked): void => {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: { fine: true } }));
};
const cut = (response: ServerResponse): void => void response.socket?.destroy();
const halfAnswer = (response: ServerResponse): void => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
  // Cut when the half is on its way.
  response.write('{"jsonrpc":"2.0","id":', () => setImmediate(() => response.socket?.destroy()));
};
const status =
  (code: number, headers: Record<string, string> = {}, body = "") =>
  (response: ServerResponse): void => {
    response.writeHead(code, headers);
    response.end(body);
  };
const write = (meta: Record<string, unknown> = {}) => paramsFor("stateless", { name: "state_set", arguments: { key: "k", value: 1 }, _meta: meta });
const withKey = write({ "holdfast/request-key": "once" });

describe("a connection that breaks", () => {
  test.each([
    ["before", cut],
    ["within", halfAnswer],
    ["behind a balancer, before", status(502)],
  ])("%s the answer to a call: it may have happened, and nobody sends it again", async (_when, step) => {
    await using server = await scripted(step, answer);
    await using raw = openBridge(server.url);
    expect((await raw.request("tools/call", write())).error).toMatchObject({ code: -32_000, data: { code: "outcome_unknown", hint: expect.stringContaining("request_key") } });
    expect(server.asked.length).toBe(1);
  });

  test.each([
    ["before", cut],
    ["within", halfAnswer],
    ["behind a balancer, before", status(504)],
  ])("%s the answer to a call with a request key, or to one that changes nothing: sent again", async (_when, step) => {
    await using server = await scripted(step, answer, step, answer);
    await using raw = openBridge(server.url);
    expect((await raw.request("tools/call", withKey)).result).toEqual({ fine: true });
    expect((await raw.request("tools/list", paramsFor("stateless"))).result).toEqual({ fine: true });
    expect(server.asked.map(({ message }) => message.method)).toEqual(["tools/call", "tools/call", "tools/list", "tools/list"]);
  });

  test("within a stream of events, before the answer: as without one", async () => {
    const begun = (response: ServerResponse): void => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end('data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\n\n');
    };
    const whole = (response: ServerResponse, { message }: Asked): void => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": a comment\r\n\r\nid: 5\r\nevent: message\r\nda");
      response.end(`ta: {"jsonrpc":"2.0",\r\ndata: "id":${message.id},"result":{"fine":true}}\r\n\r\n`);
    };
    await using server = await scripted(begun, begun, whole);
    await using raw = openBridge(server.url);
    expect((await raw.request("tools/call", write())).error?.data).toMatchObject({ code: "outcome_unknown" });
    expect((await raw.request("tools/call", withKey)).result).toEqual({ fine: true });
    expect(raw.lines.filter((line) => line.includes("notifications/progress")).length).toBe(2);
  });
});

describe("a server that", () => {
  test("is too busy is asked again after the time it names", async () => {
    await using server = await scripted(status(503, { "retry-after": "1" }), status(429), answer);
    const slept: number[] = [];
    const clock: Clock = {
      ...systemClock,
      sleep: async (ms) => void slept.push(ms),
    };
    await using raw = openBridge(server.url, { clock });
    expect((await raw.request("tools/call", write())).result).toEqual({ fine: true });
    // The time it names, and where it names none the pause of a second attempt.
    expect(slept).toEqual([1_000, expect.any(Number)]);
    expect(slept[1]).toBeLessThanOrEqual(200);
  });

  test("stays too busy is given up, in its own words", async () => {
    const words = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32_000, message: "Slow down.", data: { code: "rate_limited" } } });
    await using server = await scripted(status(429, { "content-type": "application/json" }, words));
    await using raw = openBridge(server.url, { retryForMs: 300 });
    const { id, error } = await raw.request("tools/call", write());
    expect({ id, error }).toEqual({ id: 1_001, error: { code: -32_000, message: "Slow down.", data: { code: "rate_limited" } } });
  });

  test("sends callers elsewhere is not followed, and the token stays here", async () => {
    await using elsewhere = await scripted(answer);
    await using server = await scripted(status(307, { location: elsewhere.url }));
    await using raw = openBridge(server.url, { token: "secret" });
    expect((await raw.request("tools/call", write())).error?.data).toMatchObject({ code: "not_found", hint: expect.stringContaining("token") });
    expect(elsewhere.asked).toEqual([]);
    expect(server.asked[0]?.headers.authorization).toBe("Bearer secret");
  });

  test.each([
    ["a page", { "content-type": "text/html" }, "<h1>It works</h1>"],
    ["other JSON", { "content-type": "application/json" }, '{"status":"ok"}'],
    ["nothing", {}, ""],
  ])("answers with %s is no MCP, and its caller does not wait for ever", async (_what, headers, body) => {
    await using server = await scripted(status(200, headers, body));
    await using raw = openBridge(server.url);
    expect((await raw.request("tools/list", paramsFor("stateless"))).error).toMatchObject({ code: -32_000, message: expect.stringContaining("without an MCP message") });
  });

  const json = (text: string) => (response: ServerResponse) => void response.writeHead(200, { "content-type": "application/json" }).end(text);
  const events =
    (...data: readonly string[]) =>
    (response: ServerResponse): void =>
      void response.writeHead(200, { "content-type": "text/event-stream" }).end(data.map((text) => `data: ${text}\n\n`).join(""));
  const foreign = JSON.stringify({ jsonrpc: "2.0", id: "another", result: { fine: false } });

  test.each([
    ["the answer to another request", json(foreign), /\/mcp answered a different request/],
    ["the answer to another request, in an event", events(foreign), /\/mcp answered a different request/],
    ["what begins like MCP and is no JSON, in an event", events('{"jsonrpc":"2.0","id":'), /\/mcp answered with something other than MCP/],
    ["a question of its own", json('{"jsonrpc":"2.0","id":1001,"method":"roots/list"}'), /\/mcp answered a different request/],
    ["a bow", status(202), /\/mcp accepted this request without answering it/],
  ])("answers with %s: its caller is told so at once, and that a call may have happened", async (_what, step, problem) => {
    await using server = await scripted(step);
    await using raw = openBridge(server.url);
    const { id, error } = await raw.request("tools/list", paramsFor("stateless"));
    expect({ id, error }).toEqual({
      id: 1_001,
      error: { code: -32_000, message: expect.stringMatching(problem), data: { code: "unavailable", hint: expect.stringContaining("address") } },
    });
    const call = await raw.request("tools/call", write());
    expect(call).toMatchObject({ id: 1_002, error: { message: expect.stringMatching(problem), data: { code: "outcome_unknown" } } });
    // What it said is the client's to judge; it was asked once each time.
    expect(server.asked.length).toBe(2);
    expect(raw.lines.filter((line) => line === foreign).length).toBe(_what.startsWith("the answer to another") ? 2 : 0);
  });

  test.each([
    ["what begins like MCP and is no JSON", '{"jsonrpc":"2.0",\n"id":1001,'],
    ["MCP of another version", '{"jsonrpc":"1.0","id":1001,"result":{}}'],
    ["a list with something else in it", '[{"jsonrpc":"2.0","id":1001,"result":{}},7]'],
  ])("answers with %s is no MCP either", async (_what, body) => {
    await using server = await scripted(json(body));
    await using raw = openBridge(server.url);
    expect((await raw.request("tools/list", paramsFor("stateless"))).error).toMatchObject({ code: -32_000, message: expect.stringContaining("without an MCP message") });
  });

  test("refuses without saying whom is understood: it was asked one thing", async () => {
    await using server = await scripted(json('{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Not like this."}}'));
    await using raw = openBridge(server.url);
    expect(await raw.request("tools/list", paramsFor("stateless"))).toMatchObject({ id: 1_001, error: { code: -32_600, message: "Not like this." } });
  });

  test("answers a part of a batch: the rest gets the error that there is no answer", async () => {
    await using server = await scripted(json('[{"jsonrpc":"2.0","id":"a","result":{}}]'), events('{"jsonrpc":"2.0","id":"c","result":{}}', "nonsense"));
    await using raw = openBridge(server.url);
    const ask = (...ids: readonly string[]) => raw.send(ids.map((id) => ({ jsonrpc: "2.0", id, method: "ping" })));
    ask("a", "b");
    expect((await raw.answer("b")).error?.data).toMatchObject({ code: "outcome_unknown" });
    ask("c", "d");
    expect((await raw.answer("d")).error?.data).toMatchObject({ code: "outcome_unknown" });
    expect(raw.lines.flatMap((line) => JSON.parse(line)).map(({ id, error }) => [id, error === undefined])).toEqual([
      ["a", true],
      ["b", false],
      ["c", true],
      ["d", false],
    ]);
  });

  test("answers with brackets beyond measure is not parsed", async () => {
    await using server = await scripted(json(`{"jsonrpc":"2.0","id":1001,"result":${"[".repeat(4_000_000)}`));
    await using raw = openBridge(server.url);
    expect((await raw.request("tools/list", paramsFor("stateless"))).error?.data).toMatchObject({ code: "limit_exceeded" });
  });

  test("says on a session's stream what is no message is not passed on", async () => {
    const greeted = (response: ServerResponse, { message }: Asked): void => {
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "session-1" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "odd", version: "1" } } }));
    };
    const told = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
    await using server = await scripted(greeted, status(202), events("nonsense", told));
    await using raw = openBridge(server.url);
    await raw.request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } });
    raw.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    await raw.next(({ method }) => method === "notifications/tools/list_changed");
    expect(raw.lines).not.toContain("nonsense");
    expect(raw.logged).toContainEqual({ event: "event_unreadable", facts: {} });
  });

  test("gets headers with the contents of the body in the one era, and with the negotiated revision in the other", async () => {
    const greeted = (response: ServerResponse, { message }: Asked): void => {
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "session-1" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "odd", version: "1" } } }));
    };
    await using server = await scripted(answer, answer, greeted, answer);
    await using raw = openBridge(server.url);
    await raw.request("tools/call", write());
    await raw.request("resources/read", paramsFor("stateless", { uri: "holdfast://state/ä" }));
    await raw.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } });
    await raw.request("tools/list", {});
    const shown = server.asked.map(({ headers }) => Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("mcp-"))));
    expect(shown).toEqual([
      { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "state_set" },
      { "mcp-protocol-version": "2026-07-28", "mcp-method": "resources/read", "mcp-name": `=?base64?${Buffer.from("holdfast://state/ä").toString("base64")}?=` },
      {},
      { "mcp-session-id": "session-1", "mcp-protocol-version": "2025-06-18" },
    ]);
  });

  test("has an untrusted certificate is reported at once", async () => {
    const { certFile, keyFile } = await loopbackCertificate();
    const server = createSecureServer({ cert: await readFile(certFile), key: await readFile(keyFile) }, (_, response) => response.end()).listen(0, "127.0.0.1");
    await once(server, "listening");
    await using raw = openBridge(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
    expect((await raw.request("tools/call", write())).error?.data).toMatchObject({ code: "unavailable", hint: expect.stringContaining("NODE_EXTRA_CA_CERTS") });
    server.close();
  });

  test("does not speak HTTP is reported", async () => {
    const { createServer: createPlain } = await import("node:net");
    const server = createPlain((socket) => void socket.on("error", () => {}).end("SSH-2.0-something\r\n")).listen(0, "127.0.0.1");
    await once(server, "listening");
    await using raw = openBridge(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    expect((await raw.request("tools/list", paramsFor("stateless"))).error).toMatchObject({ code: -32_000, message: expect.stringContaining("HPE_") });
    server.close();
  });
});

describe("an address", () => {
  test.each([
    ["http://127.0.0.1:8000", "http://127.0.0.1:8000/mcp"],
    ["https://holdfast.example.com/", "https://holdfast.example.com/mcp"],
    ["http://localhost:8000/ns/team%2Fa/mcp#top", "http://localhost:8000/ns/team%2Fa/mcp"],
  ])("%s leads to %s", (text, url) => expect(requireTarget(text).href).toBe(url));

  test.each(["holdfast", "ftp://example.com", "localhost:8000", ""])("%j is none", (text) => expect(() => requireTarget(text)).toThrow(/^URL: must be the http/));

  test.each(["http://user:hunter2@example.com", "https://example.com/mcp?token=hunter2"])("with a secret in it is refused without repeating it: %s", (text) => {
    expect(() => requireTarget(text)).toThrow(
      expect.objectContaining({ code: "invalid_input", message: expect.not.stringContaining("hunter2"), hint: expect.stringContaining("HOLDFAST_TOKEN") }),
    );
  });
});
