import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { slotOf } from "../../src/engines/redis/cluster-map.ts";
import { filterOf } from "../../src/engines/redis/key-names.ts";
import { parseRedisUrl } from "../../src/engines/redis/redis-url.ts";
import { neededRights } from "../../src/engines/redis/rights.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import { prefixRange } from "../../src/store/ranges.ts";

test("a URL names the server, its database, the user and the settings", () => {
  expect(parseRedisUrl("redis://ann:s%40cret@db.example:6380/3?prefix=app:&deadline=5s&wait_replicas=2&wait_aof=1&allow_loss=1")).toMatchObject({
    topology: "single",
    addresses: [{ host: "db.example", port: 6380 }],
    database: 3,
    username: "ann",
    password: "s@cret",
    prefix: "app:",
    deadlineMs: 5_000,
    waitReplicas: 2,
    waitAof: true,
    allowLoss: true,
  });
  expect(parseRedisUrl("redis://localhost")).toMatchObject({
    addresses: [{ host: "localhost", port: 6379 }],
    database: 0,
    username: undefined,
    password: undefined,
    prefix: "holdfast:",
    deadlineMs: 10_000,
    tls: undefined,
  });
  expect(parseRedisUrl("rediss://:p@[::1]:7000")).toMatchObject({ addresses: [{ host: "::1", port: 7000 }], password: "p", tls: {} });
});

test("sentinels and clusters are named by several hosts", () => {
  expect(parseRedisUrl("redis+sentinel://s1,s2:26380/primary/2?sentinel_password=x")).toMatchObject({
    topology: "sentinel",
    addresses: [
      { host: "s1", port: 26379 },
      { host: "s2", port: 26380 },
    ],
    groupName: "primary",
    database: 2,
    sentinelPassword: "x",
  });
  expect(parseRedisUrl("rediss+cluster://u:p@a:1,b:2/?deadline=250ms")).toMatchObject({
    topology: "cluster",
    addresses: [{ port: 1 }, { port: 2 }],
    username: "u",
    deadlineMs: 250,
  });
});

test.each([
  ["redis://", /every host/],
  ["redis://h:0", /every host/],
  ["redis://h:99999", /every host/],
  ["redis://a,b", /redis\+cluster/],
  ["redis://h/x", /database number/],
  ["redis://h/0/1", /database number/],
  ["redis+cluster://h/1", /only database 0/],
  ["redis+sentinel://h", /names the group/],
  ["redis://h?color=red", /"color".*allowed: prefix, deadline/],
  ["redis://h?prefix=a&prefix=b", /twice/],
  ["redis://h?prefix=", /prefix must be/],
  ["redis://h?prefix=a%7Bb%7D", /prefix must be/],
  ["redis://h?prefix=a*", /prefix must be/],
  ["redis://h?deadline=soon", /deadline must be/],
  ["redis://h?deadline=1ms", /deadline must be/],
  ["redis://h?wait_replicas=many", /wait_replicas must be/],
  ["redis://h?wait_aof=yes", /wait_aof must be 0 or 1/],
  ["redis://h?tls_ca=x.pem", /allowed only with rediss/],
  ["rediss://h?tls_ca=no-such.pem", /tls_ca must name a readable PEM file \(ENOENT\)/],
  ["redis://u:100%25%@h", /%25/],
  ["redis:h", /must be redis:\/\//],
])("%s is refused with what is allowed", (url, words) => {
  expect(() => parseRedisUrl(url)).toThrowError(words);
  expect(() => parseRedisUrl(url)).toThrowError(/^store: /);
});

test("no refusal repeats a password", () => {
  for (const url of ["redis://u:hunter2@h:0", "redis://u:hunter2@h/x?color=1", "redis://u:hunter2@", "redis://u:hunter2%@h", "redis+sentinel://u:hunter2@h"]) {
    const error: unknown = (() => {
      try {
        return parseRedisUrl(url);
      } catch (thrown) {
        return thrown;
      }
    })();
    if (!isHoldfastError(error, "invalid_input")) throw new Error(`${url} was not refused.`);
    expect(`${error.message} ${error.hint} ${JSON.stringify(error.details)}`).not.toContain("hunter2");
  }
});

test("a key's slot is the one that Redis Cluster computes", () => {
  // From the cluster specification: CRC16 of "123456789" is 0x31C3.
  expect(slotOf("123456789")).toBe(0x31c3 % 16_384);
  expect(slotOf("holdfast:{team a}:m")).toBe(slotOf("holdfast:{team a}:l"));
  expect(slotOf("a{}b")).not.toBe(slotOf("a{}c"));
});

test("a range is filtered by what its ends do not share, never by half a character", () => {
  expect(filterOf(prefixRange("run/"))).toEqual(["r", "run", "/", "0"]);
  expect(filterOf(prefixRange("\u{1F600}"))).toEqual(["r", "", "\u{1F600}", "\u{1F601}"]);
  expect(filterOf({ start: "" })).toEqual(["*", "", "", ""]);
  expect(filterOf({ start: "m" })).toEqual(["f", "", "m", ""]);
  expect(filterOf({ start: "k", end: "k\0" })).toEqual(["=", "k", "", ""]);
});

test("the documents name exactly the rights that are requested", () => {
  expect(readFileSync(join(import.meta.dirname, "..", "..", "docs", "engines.md"), "utf8")).toContain(`ACL SETUSER holdfast on >PASSWORD ${neededRights("holdfast:")}\n`);
});

test("a question mark in a password does not make the rest of it known", () => {
  expect(() => parseRedisUrl("redis://:se?cret@cache")).toThrow(/^store: has a setting without a valid name/);
  expect(() => parseRedisUrl("redis://cache?colour=red")).toThrow(/^store: unknown setting "colour"; allowed: /);
});
