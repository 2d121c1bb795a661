import { expect, test } from "vitest";
import { startPostgres } from "./postgres-server.ts";
import { startRedis } from "./redis-server.ts";

test("a Redis that is killed keeps what it acknowledged and returns on its port", async () => {
  const t0 = performance.now();
  await using redis = await startRedis();
  console.log("redis start", performance.now() - t0);
  expect(await redis.command("SET", "kept", "yes")).toBe("OK");
  const t1 = performance.now();
  await redis.kill9();
  await expect(redis.command("PING")).rejects.toThrow("ECONNREFUSED");
  await redis.restart();
  console.log("redis restart", performance.now() - t1);
  expect(await redis.command("GET", "kept")).toBe("yes");
});

test("a PostgreSQL", async () => {
  const t0 = performance.now();
  await using postgres = await startPostgres();
  console.log("pg start", performance.now() - t0);
  await postgres.query("CREATE TABLE t (a int)");
  await postgres.query("INSERT INTO t VALUES (7)");
  const t1 = performance.now();
  await postgres.kill9();
  console.log("pg killed", performance.now() - t1);
  await postgres.restart();
  console.log("pg restart", performance.now() - t1);
  expect(await postgres.query("SELECT a FROM t")).toBe("7");
});
