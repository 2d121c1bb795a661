import { expect, onTestFinished, test } from "vitest";
import { openApiFixtures } from "../../support/api-fixtures.ts";
import { holdTime } from "../../support/held-time.ts";
import { startHttpServer } from "../../support/http-server.ts";
import { askRaw, connectRaw, head } from "../../support/raw-http.ts";
import { soon } from "../../support/soon.ts";
import { untilQuiet } from "../../support/until-quiet.ts";

async function open(stopGraceMs: number) {
  const fixtures = openApiFixtures();
  const server = await startHttpServer({ flags: { store: "memory:" }, limits: { stopGraceMs }, apiRoutes: fixtures.routes });
  onTestFinished(() => server.stop());
  const hang = await connectRaw(server.port);
  onTestFinished(() => hang[Symbol.dispose]());
  hang.write(head("GET", "/api/fixture/hang", server.port, { connection: "keep-alive" }));
  await soon(() => expect(fixtures.seen.hanging).toBe(1));
  return { server, hang, ...fixtures };
}

test("what is being answered may finish, and then the connection is closed", async () => {
  const { server, hang, release } = await open(15_000);
  const stopped = server.stop();
  await expect(askRaw(server.port, head("GET", "/livez", server.port))).rejects.toThrow(/ECONNREFUSED/);
  release();
  await stopped;
  expect(await hang.closed).toMatch(/200 OK[\s\S]*"released"$/);
});

test("on a connection that is already there, nothing new is begun; readiness says why, liveness still lives", async () => {
  const { server, release } = await open(15_000);
  using connection = await connectRaw(server.port);
  // In the middle of a request: an idle connection would be closed at once.
  connection.write(`${head("POST", "/api/fixture/echo", server.port, { connection: "keep-alive", "content-type": "application/json", "content-length": "2" })}{`);
  await soon(() => expect(server.serving.httpServer.usage.inFlight).toBe(2));
  const stopped = server.stop();
  connection.write("}");
  await connection.saw(/200 OK[\s\S]*\{\}$/);
  connection.write(head("GET", "/livez", server.port, { connection: "keep-alive" }));
  await connection.saw(/ok\n$/);
  connection.write(head("GET", "/health", server.port, { connection: "keep-alive" }));
  await connection.saw(/503 Service Unavailable[\s\S]*"stopping"/);
  connection.write(head("GET", "/api/me", server.port, { connection: "keep-alive" }));
  expect(await connection.closed).toMatch(/503 Service Unavailable[\s\S]*retry-after: 1[\s\S]*The server is stopping/);
  release();
  await stopped;
});

test("what does not finish within the grace period is cut off, and not before", async () => {
  const { server, hang, seen } = await open(200);
  const time = holdTime("setTimeout");
  const stopped = server.stop();
  await time.pass(199);
  await untilQuiet(() => [hang.socket.destroyed, seen.aborted]);
  expect([hang.socket.destroyed, seen.aborted]).toEqual([false, 0]);
  await time.pass(1);
  await stopped;
  expect([await hang.closed, seen.aborted]).toEqual(["", 1]);
});

test("idle connections do not hold it up", async () => {
  const server = await startHttpServer({ flags: { store: "memory:" } });
  using idle = await connectRaw(server.port);
  using used = await connectRaw(server.port);
  used.write(head("GET", "/livez", server.port, { connection: "keep-alive" }));
  await used.saw(/ok\n$/);
  // None of the grace period passes.
  holdTime("setTimeout");
  await server.stop();
  await Promise.all([idle.closed, used.closed]);
});
