import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openRedisEngine } from "../../src/engines/redis/redis-engine.ts";
import { parseRedisUrl } from "../../src/engines/redis/redis-url.ts";
import { neededRights } from "../../src/engines/redis/rights.ts";
import type { RedisServerFacts } from "../../src/engines/redis/server-facts.ts";
import { requireUsable } from "../../src/engines/redis/server-facts.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { prepareCommit } from "../../src/store/prepare-commit.ts";
import { everything, keyRange } from "../../src/store/ranges.ts";
import { freshRedisUrl } from "../support/servers/fresh-url.ts";
import { loopbackCertificate } from "../support/servers/loopback-certificate.ts";
import type { RedisServer } from "../support/servers/redis-server.ts";
import { startRedis, startReplicaOf } from "../support/servers/redis-server.ts";
import { spawnWorker } from "../support/spawn-worker.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runOnStores } from "../transfer/cli-stores.ts";
import { commit, put } from "./conformance/fixture.ts";

/** What refuses to open, or to do something: code, words and fix, and never the password. */
async function refusal(work: Promise<unknown>): Promise<{ code: string; text: string }> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!isHoldfastError(error)) throw new Error(`Expected a refusal, got ${String(error)}.`, { cause: error });
  const text = `${error.message} ${error.hint ?? ""}`;
  expect(text).not.toContain("hunter2");
  return { code: error.code, text };
}

const at = (server: RedisServer, query = "", user = ""): string => `redis://${user}127.0.0.1:${server.port}${query}`;

test("nothing is touched outside the prefix, and odd names of namespaces stay apart", async () => {
  await using server = await startRedis();
  await server.command("SET", "foreign", "untouched");
  await server.command("HSET", "holdfast", "x", 1);
  {
    await using engine = await openRedisEngine({ url: at(server, "?prefix=app:") });
    for (const name of ["a", "a:b", "a/b c@d", "é", "a:m"]) {
      const store = openNamespaceStore(engine, name, systemClock);
      await commit(store, [put("k", name, { ttlMs: 60_000, index: { area: "x:y", terms: [["t", 1]], length: 1 } }), put("gone")], {
        request: { key: "r", fingerprint: "f", note: null },
      });
      await commit(store, { op: "delete", key: "gone" });
      await engine.compact(name, { ageMs: 0, revisions: 0, tombstones: 0 }, 100);
      expect((await store.read(everything)).entries).toMatchObject([{ key: "k", value: name }]);
    }
    expect(await engine.namespaces()).toEqual(["a", "a/b c@d", "a:b", "a:m", "é"]);
  }
  const keys = (await server.command("KEYS", "*")) as string[];
  expect(keys.filter((key) => !key.startsWith("app:")).toSorted()).toEqual(["foreign", "holdfast"]);
  expect(keys.length).toBeGreaterThan(20);
  expect(await server.command("GET", "foreign")).toBe("untouched");
  expect(await server.command("HGETALL", "holdfast")).toEqual(["x", "1"]);
});

test("keys and memory are bounded: what is deleted, expired and compacted leaves nothing behind but a little", async () => {
  const url = await freshRedisUrl();
  await using engine = await openRedisEngine({ url });
  const store = openNamespaceStore(engine, "bounded", systemClock);
  const facts = async () => (await engine.health("bounded")).facts;
  for (let round = 0; round < 3; round += 1) {
    for (let i = 0; i < 20; i += 1) await commit(store, put(`k${round}-${i}`, "x".repeat(100), { index: { area: "notes", terms: [[`term${round}-${i}`, 100]], length: 1 } }));
    for (let i = 0; i < 20; i += 1) await commit(store, { op: "delete", key: `k${round}-${i}` });
    while ((await engine.compact("bounded", { ageMs: 0, revisions: 0, tombstones: 0 }, 50)).more);
    expect(await facts()).toMatchObject({ log_rows: 0, entries: 0, tombstones: 0 });
    expect(await store.search({ areas: ["notes"], terms: [`term${round}-0`] })).toMatchObject({ documents: 0, totalLength: 0, frequencies: [0] });
  }
});

test("what is forgotten gives its memory back, also where a rarely written entry lies among it", async () => {
  await using server = await startRedis();
  await using engine = await openRedisEngine({ url: at(server) });
  for (let cold = 0; cold < 50; cold += 1)
    await engine.commit(
      "n",
      [`cold${cold}`, ...Array<string>(99).fill("hot")].map((key, i) => prepareCommit({ writer: "w", writes: [put(key, `${cold} ${i}`)] })),
    );
  const log = async (): Promise<number> => Number(await server.command("MEMORY", "USAGE", "holdfast:{n}:l", "SAMPLES", 0));
  const before = await log();
  for (let more = true; more; ) ({ more } = await engine.compact("n", { ageMs: 0, revisions: 0, tombstones: 0 }, 500));
  expect(await log()).toBeLessThan(before / 50);
  expect((await engine.health("n")).facts).toMatchObject({ log_rows: 51, entries: 51 });
  expect((await engine.read("n", [{ start: "cold7", end: "cold8" }], {})).entries).toMatchObject([{ key: "cold7", value: "7 0" }]);
});

test("a wrong password, a missing one, a needless one and a database that is not there are named, with no secret in the text", async () => {
  await using server = await startRedis({ password: "correct" });
  expect(await refusal(openRedisEngine({ url: at(server, "", ":hunter2@") }))).toEqual({
    code: "store_unsupported",
    text: expect.stringMatching(/rejected the user and password.*%XX/),
  });
  expect(await refusal(openRedisEngine({ url: at(server) }))).toEqual({ code: "store_unsupported", text: expect.stringMatching(/requires a password.*redis:\/\/:PASSWORD@/) });
  expect(await refusal(openRedisEngine({ url: at(server, "/77", ":correct@") }))).toEqual({
    code: "store_unsupported",
    text: expect.stringMatching(/no database with that number/),
  });
  await using engine = await openRedisEngine({ url: at(server, "/5", ":correct@") });
  expect(JSON.stringify(await engine.health("x"))).not.toContain("correct");
});

test("a user with exactly the documented rights can do everything, one without names the rights that are missing", async () => {
  await using server = await startRedis();
  await server.command(
    "ACL",
    "SETUSER",
    "app",
    "on",
    ">hunter2",
    ...neededRights("holdfast:")
      .split(" ")
      .filter((right) => right !== "+waitaof"),
  );
  await using engine = await openRedisEngine({ url: at(server, "", "app:hunter2@") });
  const store = openNamespaceStore(engine, "rights", systemClock);
  const index = { area: "notes", terms: [["t", 1]] as const, length: 1 };
  const notifications = new Promise<void>((resolve) => void engine.onChange("rights", resolve));
  await commit(store, [put("a", 1, { index }), put("b", 1, { ttlMs: 1, index }), put("c")], {
    request: { key: "r", fingerprint: "f", note: 1 },
    checks: [{ key: "a", is: "absent" }],
  });
  await commit(store, [put("a", 2), { op: "delete", key: "c" }]);
  await notifications;
  await store.read(everything, { at: 1 });
  await store.read(everything, { reverse: true });
  await store.log({ ranges: [everything], narrow: true, reverse: true });
  await store.search({ areas: ["notes"], terms: ["t"] });
  expect(await store.count(everything)).toBeGreaterThan(0);
  expect(await store.readRequest("r")).toMatchObject({ fingerprint: "f" });
  await expect.poll(async () => (await store.read(keyRange("b"))).entries).toEqual([]);
  await engine.sweep("rights", 10);
  await engine.compact("rights", { ageMs: 0, revisions: 0, tombstones: 0 }, 100);
  for (const part of ["log", "keys", "requests", "changes"] as const) {
    const after = part === "requests" ? { keptUntilMs: 0, key: "r" } : part === "keys" ? "a" : (await engine.dump("rights", { part: "log", after: 0 })).facts.compacted;
    await engine.dump("rights", { part, after } as Parameters<typeof engine.dump>[1]);
  }
  await engine.seal("other", { state: "filling", progress: null });
  await engine.load("other", (await engine.dump("rights", { part: "log", after: 0 })).records);
  await engine.clear("other");
  expect(await engine.namespaces()).toEqual(["rights"]);
  expect((await engine.health("rights")).facts.appendfsync).toBe("always");

  await server.command("ACL", "SETUSER", "app", "-xadd");
  expect(await refusal(store.commit({ writer: "w", writes: [put("a")] }))).toEqual({
    code: "store_unsupported",
    text: expect.stringMatching(/lacks a right.*ACL SETUSER NAME ~holdfast:\* -@all/),
  });
  await server.command("ACL", "SETUSER", "app", "+xadd", "-zadd", "-xdel");
  expect(await refusal(openRedisEngine({ url: at(server, "", "app:hunter2@") }))).toEqual({
    code: "store_unsupported",
    text: expect.stringMatching(/may not use zadd, xdel on keys/),
  });
  await server.command("ACL", "SETUSER", "app", "+zadd", "+xdel", "-config|get");
  await using unchecked = await openRedisEngine({ url: at(server, "", "app:hunter2@") });
  const health = await unchecked.health("rights");
  expect(health.durability).toMatch(/cannot be checked/);
  expect(health.warnings).toContainEqual({ about: "durability", says: expect.stringMatching(/CONFIG GET/) });
  await server.command("ACL", "SETUSER", "app", "-info");
  expect(await refusal(openRedisEngine({ url: at(server, "", "app:hunter2@") }))).toMatchObject({ code: "store_unsupported", text: expect.stringContaining("+info") });
});

test("a server that may evict, keeps nothing or only follows is refused; allow_loss lets it through, loudly", async () => {
  await using server = await startRedis();
  await server.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
  expect(await refusal(openRedisEngine({ url: at(server) }))).toEqual({
    code: "store_unsupported",
    text: expect.stringMatching(/maxmemory-policy is allkeys-lru.*noeviction.*allow_loss=1/),
  });
  await server.command("CONFIG", "SET", "appendonly", "no");
  await server.command("CONFIG", "SET", "maxmemory-policy", "noeviction");
  expect(await refusal(openRedisEngine({ url: at(server) }))).toEqual({
    code: "store_unsupported",
    text: expect.stringMatching(/keeps nothing on disk.*appendonly yes.*allow_loss=1/),
  });
  await server.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
  await using engine = await openRedisEngine({ url: at(server, "?allow_loss=1") });
  const { durability, warnings } = await engine.health("x");
  expect(durability).toMatch(/^none/);
  expect(warnings.map(({ about }) => about).toSorted()).toEqual(["durability", "eviction"]);
  await server.command("CONFIG", "SET", "save", "3600 1");
  await server.command("CONFIG", "SET", "maxmemory-policy", "noeviction");
  await using snapshots = await openRedisEngine({ url: at(server) });
  expect((await snapshots.health("x")).durability).toMatch(/last snapshot/);
  await using replica = await startReplicaOf(server);
  expect(await refusal(openRedisEngine({ url: at(replica) }))).toEqual({ code: "store_unsupported", text: expect.stringMatching(/is a replica.*redis\+sentinel/) });
});

test("a server that is too old, or too old for what the URL asks, is refused with the version it needs", () => {
  const facts: RedisServerFacts = {
    product: "Redis",
    version: "6.2.14",
    runId: "r",
    isPrimary: true,
    isCluster: false,
    replicas: 0,
    evictionPolicy: "noeviction",
    maxmemoryBytes: 0,
    usedMemoryBytes: 1_000_000,
    aof: true,
    appendfsync: "always",
    skipsFsyncInRewrite: false,
    save: "",
    minReplicas: 0,
    home: "h:1",
  };
  expect(() => requireUsable(facts, parseRedisUrl("redis://h"))).toThrowError(/Redis 6\.2\.14; Holdfast needs Redis 7\.0 or newer, or Valkey/);
  expect(() => requireUsable({ ...facts, version: "7.0.15" }, parseRedisUrl("redis://h?wait_aof=1"))).toThrowError(/wait_aof=1 needs Redis 7\.2/);
  expect(() => requireUsable({ ...facts, version: "10.1.0", isCluster: true }, parseRedisUrl("redis://h"))).toThrowError(/node of a Redis Cluster/);
  requireUsable({ ...facts, version: "7.0.0" }, parseRedisUrl("redis://h"));
});

test("a newer schema, and keys of another program under the prefix, are refused untouched", async () => {
  await using server = await startRedis();
  await server.command("HSET", "newer:store", "schema", 7);
  expect(await refusal(openRedisEngine({ url: at(server, "?prefix=newer:") }))).toEqual({ code: "store_newer", text: expect.stringMatching(/schema 7.*up to 1.*Upgrade/) });
  await server.command("SET", "foreign:store", "mine");
  expect(await refusal(openRedisEngine({ url: at(server, "?prefix=foreign:") }))).toMatchObject({ code: "store_damaged", text: expect.stringMatching(/another with prefix=/) });
  expect(await server.command("GET", "foreign:store")).toBe("mine");
});

test("a full Redis refuses writes whole, serves reads, and heals when there is room again", async () => {
  await using server = await startRedis({ args: ["--maxmemory", "12mb"] });
  await using engine = await openRedisEngine({ url: at(server) });
  const store = openNamespaceStore(engine, "full", systemClock);
  const big = "x".repeat(500_000);
  let code = "";
  let written = 0;
  for (; code === "" && written < 100; written += 1) {
    const error = await store.commit({ writer: "w", writes: [put(`k${written}`, big), put(`l${written}`, 1)] }).catch((reason: unknown) => reason);
    if (isHoldfastError(error)) code = error.code;
  }
  written -= 1;
  expect(code).toBe("storage_full");
  const { entries, revision } = await store.read(everything, { values: false });
  expect([entries.length, revision]).toEqual([2 * written, written]);
  // Compaction must work where nothing else does.
  await server.command("CONFIG", "SET", "maxmemory", "100mb");
  await commit(store, put("k0", "small"));
  await server.command("CONFIG", "SET", "maxmemory", "6mb");
  await engine.compact("full", { ageMs: 0, revisions: 0, tombstones: 0 }, 1_000);
  await server.command("CONFIG", "SET", "maxmemory", "100mb");
  expect((await commit(store, put("after"))).revision).toBe(written + 2);
});

test("a full Redis warns beforehand, and everything can leave it: export, backup and migrate away work where no write does", async () => {
  await using server = await startRedis();
  const folder = await temporaryFolder();
  const url = at(server);
  const holdfast = (...args: string[]) => runOnStores(args);
  expect(await holdfast("set", "a", JSON.stringify("x".repeat(10_000)), "--store", url)).toMatchObject({ code: 0 });
  expect((await holdfast("doctor", "--store", url)).stdout).not.toMatch(/maxmemory/);
  await server.command("CONFIG", "SET", "maxmemory", "1mb");
  expect(await holdfast("set", "a", "2", "--store", url)).toMatchObject({ code: 6, stderr: expect.stringContaining("reached maxmemory") });
  expect((await holdfast("doctor", "--store", url)).stdout).toMatch(/memory.*uses \d{2,} % of its maxmemory.*Raise maxmemory/s);
  expect(await holdfast("export", join(folder, "all.jsonl"), "--store", url)).toMatchObject({ code: 0 });
  expect(await holdfast("backup", join(folder, "backup"), "--store", url)).toMatchObject({ code: 0 });
  const to = `sqlite:${join(folder, "to.db")}`;
  expect(await holdfast("migrate", url, to)).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("compared record by record") });
  expect((await holdfast("get", "a", "--store", to)).stdout).toContain("xxxx");
  expect(await holdfast("get", "a", "--store", url)).toMatchObject({ code: 6, stderr: expect.stringContaining("was moved to") });
});

/** Something that listens and is no Redis. */
async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

test("a server without TLS, another program on the port and one that says nothing are each distinguished, long before the deadline", async () => {
  await using server = await startRedis();
  const http = await portOf(createHttpServer((_, response) => void response.end("hello")));
  const greets = await portOf(createServer((socket) => void socket.on("error", () => {}).write("SSH-2.0-Something\r\n")));
  const closes = await portOf(createServer((socket) => void socket.on("error", () => {}).once("data", () => socket.end())));
  const silent = await portOf(createServer((socket) => void socket.on("error", () => {}).resume()));
  const opened = (scheme: string, port: number, query = ""): ReturnType<typeof refusal> => refusal(openRedisEngine({ url: `${scheme}://:hunter2@127.0.0.1:${port}${query}` }));
  const noTls = { code: "store_unsupported", text: expect.stringMatching(/does not speak TLS.*redis:\/\/ in place of rediss:\/\//) };
  const noRedis = { code: "store_unsupported", text: expect.stringMatching(/does not speak the Redis protocol.*check host and port/) };
  // The deadline is longer than any test runs: each is told apart by what it does, not by how long it takes.
  const patient = "?deadline=10m";
  const met = [opened("rediss", server.port, patient), opened("rediss", http, patient), opened("redis", http, patient), opened("redis", greets, patient)];
  expect(await Promise.all(met)).toEqual([noTls, noTls, noRedis, noRedis]);
  expect(await Promise.all([opened("redis", closes, "?deadline=500ms"), opened("redis", silent, "?deadline=500ms")])).toEqual([
    { code: "unavailable", text: expect.stringMatching(/closes the connection without an answer.*rediss:/) },
    { code: "unavailable", text: expect.stringMatching(/does not answer|did not answer in time/) },
  ]);
});

test("a script that leaves a store open ends by itself, one that closes it or only watches it ends when it is through, each with exit code 0", async () => {
  await using server = await startRedis({ tls: true });
  const { certFile } = await loopbackCertificate();
  // A timer of a call's deadline that is left would keep the process for longer than any test runs.
  const urls = [`${server.url}/0?deadline=10m`, `${server.tlsUrl}?tls_ca=${certFile}&deadline=10m`];
  const leaving = urls.flatMap((url) => ["leave", "close"].map((way) => spawnWorker<{ done: string }>("store-leaver", { url, way })));
  for (const worker of leaving) {
    await worker.next();
    await worker.ended();
  }
  const watching = spawnWorker<{ done: string }>("store-leaver", { url: server.url, way: "watch" });
  expect(await watching.next()).toEqual({ done: "watching" });
  // Nothing but the watch keeps it alive, also while the server is away.
  await server.kill9();
  const closing = createServer((socket) => void socket.on("error", () => {}).destroy()).listen(server.port, "127.0.0.1");
  await once(closing, "connection");
  closing.close();
  await once(closing, "close");
  await server.restart();
  expect(await runOnStores(["set", "watched", "1", "--store", server.url])).toMatchObject({ code: 0 });
  expect(await watching.next()).toEqual({ done: "watch" });
  await watching.ended();
});

test("a namespace whose state was removed by another program is damaged, and a commit to it changes nothing", async () => {
  await using server = await startRedis();
  {
    await using engine = await openRedisEngine({ url: at(server) });
    await commit(openNamespaceStore(engine, "n", systemClock), put("a"));
  }
  await server.command("DEL", "holdfast:{n}:m");
  await using engine = await openRedisEngine({ url: at(server) });
  expect(await refusal(openNamespaceStore(engine, "n", systemClock).commit({ writer: "w", writes: [put("b")] }))).toMatchObject({ code: "store_damaged" });
  expect(await server.command("XLEN", "holdfast:{n}:l")).toBe(1);
  expect(await server.command("HLEN", "holdfast:{n}:e")).toBe(1);
});
