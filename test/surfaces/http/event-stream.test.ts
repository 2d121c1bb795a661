import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { openApiFixtures } from "../../support/api-fixtures.ts";
import { holdTime } from "../../support/held-time.ts";
import type { HttpServer } from "../../support/http-server.ts";
import { startHttpServer } from "../../support/http-server.ts";
import { connectRaw, head } from "../../support/raw-http.ts";
import { soon } from "../../support/soon.ts";

let server: HttpServer;
let fixtures: ReturnType<typeof openApiFixtures>;
beforeEach(async () => {
  fixtures = openApiFixtures();
  server = await startHttpServer({ flags: { store: "memory:" }, apiRoutes: fixtures.routes, limits: { heartbeatMs: 50, stopGraceMs: 10_000 } });
});
afterEach(() => server.stop());

async function listen(path: string, headers: Record<string, string> = {}) {
  const connection = await connectRaw(server.port);
  onTestFinished(() => connection[Symbol.dispose]());
  connection.write(head("GET", path, server.port, { connection: "keep-alive", ...headers }));
  return connection;
}

test("a stream has the head that keeps proxies from holding it back, and each event with its id", async () => {
  const { saw } = await listen("/api/fixture/quiet");
  const text = await saw(/event: tick/);
  expect(text).toMatch(/content-type: text\/event-stream/i);
  expect(text).toMatch(/cache-control: no-store/i);
  expect(text).toMatch(/x-accel-buffering: no/i);
  expect(text).toMatch(/id: 1\nevent: tick\ndata: ""\n\n/);
});

test("a quiet stream says now and then that it is there", async () => {
  const connection = await listen("/api/fixture/quiet");
  await connection.saw(/(: keep-alive[\s\S]*){3}/);
});

test("the source of a stream gets the position to resume from", async () => {
  const connection = await listen("/api/fixture/quiet", { "last-event-id": "41" });
  await connection.saw(/event: tick/);
  expect(fixtures.seen.lastEventId).toBe("41");
});

test("text in an event cannot forge another", async () => {
  const text = await (await listen("/api/fixture/hostile")).saw(/data: .*\n\n/);
  expect(text.match(/^data: /gm)).toHaveLength(1);
  expect(text.match(/^event: /gm)).toHaveLength(1);
  expect(text).not.toMatch(/^data: forged/m);
});

test("a client that leaves ends the source, also one that waits", async () => {
  const connection = await listen("/api/fixture/quiet");
  await connection.saw(/event: tick/);
  connection[Symbol.dispose]();
  await soon(() => expect([fixtures.seen.endedStreams, server.serving.httpServer.usage.streams]).toEqual([1, 0]));
});

test("a source that ignores its end holds nothing up", async () => {
  const connection = await listen("/api/fixture/deaf");
  await connection.saw(/: keep-alive/);
  connection[Symbol.dispose]();
  await soon(() => expect(server.serving.httpServer.usage).toMatchObject({ streams: 0, inFlight: 0 }));
});

test("nor does it when the server stops", async () => {
  const connection = await listen("/api/fixture/deaf");
  await connection.saw(/: keep-alive/);
  // None of the grace period passes.
  holdTime("setTimeout");
  await server.stop();
  expect(await connection.closed).toMatch(/\r\n0\r\n\r\n$/);
});

test("a source that breaks leaves the stream without its end, and shows nothing of our insides", async () => {
  const text = await (await listen("/api/fixture/broken")).closed;
  expect(text).toContain("event: tick");
  expect(text).not.toMatch(/\r\n0\r\n\r\n$/);
  expect(text).not.toContain("secret");
  expect(server.logged).toContainEqual(expect.objectContaining({ event: "request_failed" }));
});

test("a server that stops ends its streams properly and soon", async () => {
  const connection = await listen("/api/fixture/quiet");
  await connection.saw(/event: tick/);
  // None of the grace period passes.
  holdTime("setTimeout");
  await server.stop();
  expect(await connection.closed).toMatch(/\r\n0\r\n\r\n$/);
});
