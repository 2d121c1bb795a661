import { expect, onTestFinished, test } from "vitest";
import { silentLog } from "../../../src/kernel/log.ts";
import type { ApiRoute } from "../../../src/surfaces/dashboard/api-route.ts";
import type { Exchange } from "../../../src/surfaces/http/exchange.ts";
import { httpLimits } from "../../../src/surfaces/http/http-limits.ts";
import { openHttpMetrics } from "../../../src/surfaces/http/http-metrics.ts";
import { HttpServer } from "../../../src/surfaces/http/http-server.ts";
import { listen } from "../../../src/surfaces/http/listen.ts";
import { openOriginCheck } from "../../../src/surfaces/http/request-origin.ts";
import type { Route, Routes } from "../../../src/surfaces/http/routes.ts";
import { openMeter } from "../../../src/telemetry/open-meter.ts";
import { startHttpServer } from "../../support/http-server.ts";
import { askRaw, connectRaw, head } from "../../support/raw-http.ts";
import { soon } from "../../support/soon.ts";

/** Waits that end when the test says so, as a store on another machine would make them. */
function openWaits() {
  const waiting: (() => void)[] = [];
  const wait = (): Promise<void> => new Promise((resolve) => void waiting.push(resolve));
  return { waiting, wait, release: () => waiting.splice(0).map((resolve) => resolve()) };
}

test("a caller that leaves while its credential is looked up is not counted for ever", async () => {
  const { waiting, wait, release } = openWaits();
  let handled = 0;
  const handle = ({ response }: Exchange): void => {
    handled += 1;
    response.end();
  };
  const route: Route = { pattern: "/x", methods: ["GET"], access: "credential", handle };
  const front = new HttpServer({
    limits: { ...httpLimits, inFlightPerPrincipalMax: 2 },
    rateLimit: 1_000,
    log: silentLog,
    logsRequests: false,
    metrics: openHttpMetrics(openMeter()),
    origins: openOriginCheck({ loopbackOnly: true, allowedHosts: [], allowedOrigins: [] }),
    authenticate: async () => {
      await wait();
      return { name: "agent", role: "write", namespaces: ["default"], kind: "token", tokenId: "1" };
    },
    routes: { find: () => route } as unknown as Routes,
    stopMcp: async () => {},
  });
  const { port } = await listen(front.server, { host: "127.0.0.1", port: 0, origins: { host: "default", port: "default" } });
  onTestFinished(() => front.stop(0));
  for (let left = 0; left < 3; left += 1) {
    using connection = await connectRaw(port);
    connection.write(head("GET", "/x", port));
    await soon(() => expect(waiting).toHaveLength(1));
    connection.socket.destroy();
    await soon(() => expect(front.usage.sockets).toBe(0));
    release();
  }
  const answered = askRaw(port, head("GET", "/x", port));
  await soon(() => expect(waiting).toHaveLength(1));
  release();
  expect((await answered).status).toBe(200);
  expect([handled, front.usage.inFlight]).toEqual([1, 0]);
});

test("a caller that leaves before its stream has begun leaves no stream behind", async () => {
  const { waiting, wait, release } = openWaits();
  const slow: ApiRoute = {
    method: "GET",
    path: "/api/fixture/slow-stream",
    needs: "read",
    async handle() {
      await wait();
      return { events: (async function* () {})() };
    },
  };
  await using server = await startHttpServer({ flags: { store: "memory:" }, limits: { streamsPerPrincipalMax: 2 }, apiRoutes: [slow] });
  const { httpServer } = server.serving;
  for (let left = 0; left < 3; left += 1) {
    using connection = await connectRaw(server.port);
    connection.write(head("GET", "/api/fixture/slow-stream", server.port));
    await soon(() => expect(waiting).toHaveLength(1));
    connection.socket.destroy();
    await soon(() => expect(httpServer.usage.sockets).toBe(0));
    release();
  }
  await soon(() => expect(httpServer.usage).toMatchObject({ inFlight: 0, streams: 0 }));
  const answered = askRaw(server.port, head("GET", "/api/fixture/slow-stream", server.port));
  await soon(() => expect(waiting).toHaveLength(1));
  release();
  expect((await answered).status).toBe(200);
});

test("a refused caller that does not send its body takes no place from others", async () => {
  await using server = await startHttpServer({ flags: { store: "memory:", auth: "token" }, limits: { inFlightMax: 1 } });
  const token = await server.token();
  using refused = await connectRaw(server.port);
  refused.write(head("POST", "/mcp", server.port, { "content-type": "application/json", "content-length": "100" }));
  await refused.saw(/401 Unauthorized/);
  expect((await server.fetch("/api/me", { token })).status).toBe(200);
});
