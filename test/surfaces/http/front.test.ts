import { expect, test } from "vitest";
import { startHttpServer } from "../../support/http-server.ts";

test("liveness is open and says nothing but that it is alive", async () => {
  await using server = await startHttpServer();
  const answer = await server.fetch("/livez");
  expect([answer.status, await answer.text()]).toEqual([200, "ok\n"]);
  expect((await server.fetch("/api/me")).status).toBe(200);
});
