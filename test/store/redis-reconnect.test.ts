import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { Link } from "../../src/engines/redis/link.ts";
import { openRedisEngine } from "../../src/engines/redis/redis-engine.ts";
import { parseRedisUrl } from "../../src/engines/redis/redis-url.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import { silentLog } from "../../src/kernel/log.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Change, Engine, Store } from "../../src/store/store.ts";
import { timed } from "../support/in-time.ts";
import type { RedisServer } from "../support/servers/redis-server.ts";
import { startRedis, startReplicaOf } from "../support/servers/redis-server.ts";
import { codeOf, commit, commitOf, put } from "./conformance/fixture.ts";

const name = "n";
const open = async (server: RedisServer, query = ""): Promise<{ engine: Engine; store: Store } & AsyncDisposable> => {
  const engine = await openRedisEngine({ url: `${server.url}${query}` });
  return { engine, store: openNamespaceStore(engine, name, systemClock), [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
};
/** Where a leap ends, the time says. */
const isLeap = (revision: number): boolean => revision > 100_000_000_000;

test("a Redis with appendfsync always that is killed and started again goes on where it was, with its scripts loaded anew", async () => {
  await using server = await startRedis();
  await using opened = await open(server);
  const { engine, store } = opened;
  for (let i = 0; i < 5; i += 1) await commit(store, put("a", i));
  await server.kill9();
  // A start that takes long is answered with a refusal, which says that nothing was changed.
  const meanwhile = commit(store, put("a", 5)).catch((error: unknown) => {
    if (!isHoldfastError(error, "unavailable")) throw error;
    return undefined;
  });
  await server.restart();
  expect(((await meanwhile) ?? (await commit(store, put("a", 5)))).revision).toBe(6);
  expect(await store.read(everything)).toMatchObject({ revision: 6, entries: [{ value: 5, version: 6 }] });
  expect((await engine.health(name)).facts).toMatchObject({ base: 0, gaps: [] });
  await server.command("SCRIPT", "FLUSH");
  expect((await commit(store, put("a", 6))).revision).toBe(7);
});

test("a restart that may have lost writes (everysec) lifts revisions and versions above all that was given, and health says so", async () => {
  await using server = await startRedis({ appendfsync: "everysec" });
  await using opened = await open(server);
  const { engine, store } = opened;
  expect((await engine.health(name)).durability).toMatch(/crash of the server or a loss of power may lose/);
  expect((await engine.health(name)).warnings).toContainEqual({ about: "durability", says: expect.stringContaining("appendfsync always") });
  for (let i = 0; i < 3; i += 1) await commit(store, put("a", i));
  await server.kill9();
  await server.restart();
  await using other = await open(server);
  const result = await commit(other.store, [put("a", 3), put("b")]);
  const base = result.revision - 1;
  expect(isLeap(base)).toBe(true);
  expect(result).toMatchObject({ writes: [{ version: base + 1 }, { version: base + 1 }] });
  expect((await commit(store, put("a", 4))).revision).toBe(base + 2);
  const health = await engine.health(name);
  expect(health.facts).toMatchObject({ base, gaps: [[3, base]], revision: base + 2 });
  expect(health.warnings).toContainEqual({ about: "history", says: expect.stringContaining(`went on above ${base}`) });
  expect(await codeOf(store.log({ ranges: [everything], after: 4 }))).toBe("compacted");
  expect((await store.log({ ranges: [everything], after: 3 })).rows).toHaveLength(3);
  expect((await store.read(everything, { at: 2 })).entries).toMatchObject([{ value: 1, version: 2 }]);
});

test("no-appendfsync-on-rewrite undoes what always promises: health warns of it, and a restart counts as one that may have lost writes", async () => {
  await using server = await startRedis({ args: ["--no-appendfsync-on-rewrite", "yes"] });
  await using opened = await open(server);
  const { engine, store } = opened;
  const before = await engine.health(name);
  expect(before.durability).toMatch(/except while the server writes its log anew/);
  expect(before.warnings).toEqual([{ about: "durability", says: expect.stringContaining("CONFIG SET no-appendfsync-on-rewrite no") }]);
  expect((await commit(store, put("a"))).revision).toBe(1);
  await server.kill9();
  await server.restart();
  expect(isLeap((await commit(store, put("a", 2))).revision)).toBe(true);
  await server.command("CONFIG", "SET", "no-appendfsync-on-rewrite", "no");
  expect((await engine.health(name)).warnings.map(({ about }) => about)).toEqual(["history"]);
});

test("a history that went back behind what this process has seen is noticed and lifted", async () => {
  await using server = await startRedis();
  await using opened = await open(server);
  const { engine, store } = opened;
  for (let i = 0; i < 7; i += 1) await commit(store, put("a", i));
  await server.command("FLUSHALL");
  expect((await engine.health(name)).warnings).toContainEqual({ about: "history", says: expect.stringMatching(/seen revision 7, and the server shows 0/) });
  const { revision, writes } = await commit(store, put("a"));
  expect(isLeap(revision)).toBe(true);
  expect(writes).toEqual([{ version: revision, existed: false }]);
  expect((await engine.health(name)).facts).toMatchObject({ base: revision - 1, gaps: [[0, revision - 1]] });
  expect(await engine.namespaces()).toEqual([name]);
});

test("a replica that is promoted is another server: its history is lifted even when nothing was lost", async () => {
  await using server = await startRedis();
  await using replica = await startReplicaOf(server);
  {
    await using opened = await open(server, "?wait_replicas=1");
    await commit(opened.store, put("a"));
    expect((await opened.engine.health(name)).durability).toMatch(/1 replica confirmed/);
  }
  await replica.command("REPLICAOF", "NO", "ONE");
  await using promoted = await open(replica);
  const { revision, writes } = await commit(promoted.store, put("a", 2));
  expect(isLeap(revision)).toBe(true);
  expect(writes).toEqual([{ version: revision, existed: true }]);
});

test("replicas that do not confirm in time make the outcome unknown, and the same request key tells the truth", async () => {
  await using server = await startRedis();
  await using opened = await open(server, "?wait_replicas=1&deadline=2s");
  const request = { key: "r", fingerprint: "f", note: null };
  const { ms, result } = await timed(opened.store.commit(commitOf(put("a"), { request })));
  expect(ms).toBeLessThan(2_900);
  const error = result.status === "rejected" ? (result.reason as unknown) : result.value;
  if (!isHoldfastError(error, "outcome_unknown")) throw new Error(String(error));
  expect(error.message).toMatch(/0 of 1 replicas confirmed/);
  await using patient = await open(server);
  expect(await patient.store.commit(commitOf(put("a"), { request }))).toMatchObject({ ok: true, replayed: true, revision: 1 });
});

test("a server that answers no more ends calls at their deadline: a write as unknown, a read as unavailable, and serves again when it is back", async () => {
  await using server = await startRedis();
  await using opened = await open(server, "?deadline=2s");
  const { store } = opened;
  await commit(store, put("a"));
  server.pause();
  const ended = await Promise.all([timed(store.commit(commitOf(put("a", 2)))), timed(store.read(everything))]);
  expect(ended.map(({ result }) => result)).toMatchObject([{ reason: { code: "outcome_unknown" } }, { reason: { code: "unavailable" } }]);
  for (const { ms } of ended) expect(ms).toBeLessThan(3_000);
  // Long gone: refused at once instead of after the whole deadline.
  await new Promise((resolve) => setTimeout(resolve, 2_100));
  const late = await timed(store.commit(commitOf(put("a", 3))));
  expect(late).toMatchObject({ result: { reason: { code: "unavailable" } } });
  expect(late.ms).toBeLessThan(1_000);
  server.resume();
  const back = await timed(expect.poll(() => store.read(everything).catch(() => undefined)).toBeDefined());
  if (back.result.status === "rejected") throw back.result.reason;
  expect(back.ms).toBeLessThan(5_000);
  const { revision } = await store.read(everything);
  expect([1, 2]).toContain(revision);
  expect((await commit(store, put("a", 4))).revision).toBe(revision + 1);
});

test("connections that the server cuts are made again; what was in flight is never sent a second time", async () => {
  await using server = await startRedis();
  await using opened = await open(server);
  const { store } = opened;
  await commit(store, put("count", 0));
  let unknown = 0;
  let sure = 0;
  const stop = performance.now() + 1_500;
  /** For a while, and until one got through, however slow the machine is. */
  const goesOn = (): boolean => performance.now() < stop || sure === 0;
  const writers = Array.from({ length: 4 }, async (_, w) => {
    for (let i = 0; goesOn(); i += 1) {
      const result = await store.commit(commitOf(put(`w${w}`, i))).catch((error: unknown) => error);
      if (isHoldfastError(result, "outcome_unknown")) unknown += 1;
      else if (isHoldfastError(result)) expect(result.code).toBe("unavailable");
      else sure += 1;
    }
  });
  while (goesOn()) {
    await server.command("CLIENT", "KILL", "TYPE", "normal").catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await Promise.all(writers);
  // Every commit that succeeded took one revision, and each of the unknown ones at most one.
  const { revision } = await store.read(everything);
  expect(revision - 1).toBeGreaterThanOrEqual(sure);
  expect(revision - 1).toBeLessThanOrEqual(sure + unknown);
  expect(sure).toBeGreaterThan(0);
});

test("a watcher in another process's place hears of commits at once, and goes on after a restart without gap or repeat", async () => {
  await using server = await startRedis();
  await using writer = await open(server);
  await using reader = await open(server);
  const stop = new AbortController();
  const seen: Change[] = [];
  const latencies: number[] = [];
  const sentMs = new Map<number, number>();
  const watching = (async () => {
    for await (const change of reader.store.watch(everything, 0, stop.signal)) {
      seen.push(change);
      latencies.push(performance.now() - (sentMs.get(change.revision) ?? 0));
    }
  })().catch((error: unknown) => error);
  const send = async (from: number, to: number): Promise<void> => {
    for (let i = from; i <= to; i += 1) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      sentMs.set(i, performance.now());
      await commit(writer.store, put("a", i));
    }
  };
  await send(1, 20);
  await expect.poll(() => seen.length, { timeout: 3_000 }).toBe(20);
  expect(latencies.toSorted((a, b) => a - b)[10]).toBeLessThan(250);
  stop.abort();
  await watching;
  // Watching again over a restart: the log read fails while the server is away only after the deadline, which is longer.
  const again = new AbortController();
  const rest: number[] = [];
  const resumed = (async () => {
    for await (const change of reader.store.watch(everything, 20, again.signal)) rest.push(change.revision);
  })();
  await send(21, 25);
  await server.kill9();
  await server.restart();
  await send(26, 30);
  await expect.poll(() => rest.length, { timeout: 5_000 }).toBe(10);
  expect(rest).toEqual([21, 22, 23, 24, 25, 26, 27, 28, 29, 30]);
  again.abort();
  await resumed;
});

test("a server that is gone is given up after a few refused connections, long before the call's deadline", async () => {
  // A port that was free a moment ago: nobody listens on it.
  const port = await new Promise<number>((resolve) => {
    const taken = createServer().listen(0, "127.0.0.1", () => {
      const { port: free } = taken.address() as AddressInfo;
      taken.close(() => resolve(free));
    });
  });
  const driver = await import("ioredis");
  let attempts = 0;
  const link = new Link(
    driver,
    () => {
      attempts += 1;
      return new driver.Redis({ host: "127.0.0.1", port, lazyConnect: true, retryStrategy: null, enableOfflineQueue: false });
    },
    parseRedisUrl(`redis://127.0.0.1:${port}?deadline=60s`),
    silentLog,
  );
  onTestFinished(() => link.close());
  expect(await codeOf(link.ready(performance.now() + 60_000))).toBe("unavailable");
  // Pauses between attempts grow to a second: using up the deadline would have taken more than fifty of them.
  expect(attempts).toBeGreaterThan(1);
  expect(attempts).toBeLessThan(12);
  const before = attempts;
  expect(await codeOf(link.ready(performance.now() + 60_000))).toBe("unavailable");
  expect(attempts - before).toBeLessThan(3);
});
