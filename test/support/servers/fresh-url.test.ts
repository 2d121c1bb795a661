import { expect, test } from "vitest";
import { freshPostgresUrl, freshRedisUrl, sharedPostgres, sharedRedis } from "./fresh-url.ts";
import { redisCommand } from "./redis-wire.ts";

test("all tests of a run share one Redis and one PostgreSQL, and each gets a place of its own there", async () => {
  const [first, second] = [new URL(await freshRedisUrl()), new URL(await freshRedisUrl())];
  expect(first.host).toBe(new URL(await sharedRedis()).host);
  expect(first.searchParams.get("prefix")).toMatch(/^test_[0-9a-f]{16}$/);
  expect(first.searchParams.get("prefix")).not.toBe(second.searchParams.get("prefix"));
  expect(await redisCommand(Number(first.port), ["PING"])).toBe("PONG");

  const [third, fourth] = [new URL(await freshPostgresUrl()), new URL(await freshPostgresUrl())];
  expect(third.host).toBe(new URL(await sharedPostgres()).host);
  expect(third.searchParams.get("schema")).not.toBe(fourth.searchParams.get("schema"));
});
