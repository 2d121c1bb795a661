import { expect, onTestFinished, test } from "vitest";
import type { HttpLimits } from "../../../src/surfaces/http/http-limits.ts";
import { openApiFixtures } from "../../support/api-fixtures.ts";
import { holdTime } from "../../support/held-time.ts";
import { startHttpServer } from "../../support/http-server.ts";
import { connectRaw, head } from "../../support/raw-http.ts";
import { soon } from "../../support/soon.ts";
import { untilQuiet } from "../../support/until-quiet.ts";

/** A connection on which the first request is not answered, and others are sent behind it. */
async function openLine(limits: Partial<HttpLimits>) {
  const fixtures = openApiFixtures();
  const server = await startHttpServer({ flags: { store: "memory:" }, limits, apiRoutes: fixtures.routes });
  onTestFinished(() => server.stop());
  const connection = await connectRaw(server.port);
  onTestFinished(() => connection[Symbol.dispose]());
  const ask = (path: string, count = 1): void => connection.write(head("GET", `/api/fixture/${path}`, server.port, { connection: "keep-alive" }).repeat(count));
  ask("hang");
  await soon(() => expect(fixtures.seen.hanging).toBe(1));
  return { connection, ask, usage: () => server.serving.httpServer.usage, ...fixtures };
}

test("requests sent behind another are answered in their order", async () => {
  const { connection, ask, release } = await openLine({ pipelinedMax: 4 });
  ask("throw");
  ask("no-such");
  release();
  await connection.saw(/200 OK[\s\S]*"released"[\s\S]*500 Internal[\s\S]*404 Not Found/);
});

test("a connection that sends more of them than it may is closed, and nothing of it stays", async () => {
  const { connection, ask, usage, seen } = await openLine({ pipelinedMax: 4 });
  ask("hang", 500);
  await connection.closed;
  await soon(() => expect(usage()).toMatchObject({ inFlight: 0, sockets: 0 }));
  expect(seen.hanging).toBeLessThanOrEqual(4);
});

test("answers that wait behind another count as unsent", async () => {
  const { connection, ask, usage } = await openLine({ unreadMsMax: 400, unsentBytesMax: 10_000_000 });
  ask("large", 2);
  await connection.closed;
  await soon(() => expect(usage()).toMatchObject({ inFlight: 0, sockets: 0 }));
});

test("one small answer that waits behind another does not close the connection", async () => {
  const time = holdTime("setInterval", "performance");
  const { connection, ask, release, usage } = await openLine({ unreadMsMax: 30_000 });
  ask("throw");
  await time.until(() => usage().inFlight === 2);
  await untilQuiet(usage);
  await time.pass(90_000);
  release();
  await connection.saw(/"released"[\s\S]*500 Internal/);
});
