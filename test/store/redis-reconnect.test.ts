import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { RedisConnection } from "../../src/engines/redis/redis-connection.ts";
import { openRedisEngine } from "../../src/engines/redis/redis-engine.ts";
import { parseRedisUrl } from "../../src/engines/redis/redis-url.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import type { Log } from "../../src/kernel/log.ts";
import { silentLog } from "../../src/kernel/log.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Engine, Store } from "../../src/store/store.ts";
import { atPace } from "../support/pace.ts";
import type { RedisServer } from "../support/servers/redis-server.ts";
import { startRedis, startReplicaOf } from "../support/servers/redis-server.ts";
import { soon } from "../support/soon.ts";
import { codeOf, commit, commitOf, put } from "./conformance/fixture.ts";

const name = "n";
const open = async (server: RedisServer, query = "", log: Log = silentLog): Promise<{ engine: Engine; store: Store } & AsyncDisposable> => {
  const engine = await openRedisEngine({ url: `${server.url}${query}`, log });
  return { engine, store: openNamespaceStore(engine, name, systemClock), [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
};
/** Where a leap ends, the time says. */
const isLeap = (revision: number): boolean => revision > 100_000_000_000;

test("a Redis with appendfsync always that is killed and started again continues where it was, with its scripts loaded again", async () => {
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
  expect(health.warnings).toContainEqual({ about: "history", says: expect.stringContaining(`continued above ${base}`) });
  expect(await codeOf(store.log({ ranges: [everything], after: 4 }))).toBe("compacted");
  expect((await store.log({ ranges: [everything], after: 3 })).rows).toHaveLength(3);
  expect((await store.read(everything, { at: 2 })).entries).toMatchObject([{ value: 1, version: 2 }]);
});

test("no-appendfsync-on-rewrite undoes what always promises: health warns of it, and a restart counts as one that may have lost writes", async () => {
  await using server = await startRedis({ args: ["--no-appendfsync-on-rewrite", "yes"] });
  await using opened = await open(server);
  const { engine, store } = opened;
  const before = await engine.health(name);
  expect(before.durability).toMatch(/except while the server rewrites its log/);
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
  await using opened = await soon(() => open(server, "?wait_replicas=1&deadline=2s"));
  const request = { key: "r", fingerprint: "f", note: null };
  const { ms, pace, value: error } = await atPace(() => opened.store.commit(commitOf(put("a"), { request })).catch((reason: unknown) => reason));
  expect(ms).toBeLessThan(2_900 * pace);
  if (!isHoldfastError(error, "outcome_unknown")) throw new Error(String(error));
  expect(error.message).toMatch(/0 of 1 replicas confirmed/);
  await using patient = await open(server);
  expect(await patient.store.commit(commitOf(put("a"), { request }))).toMatchObject({ ok: true, replayed: true, revision: 1 });
});

test("a server that answers no more ends calls at their deadline: a write as unknown, a read as unavailable, and serves again when it is back", async () => {
  await using server = await startRedis();
  await using opened = await soon(() => open(server, "?deadline=2s"));
  const { store } = opened;
  await soon(() => commit(store, put("a")));
  server.pause();
  const ended = await atPace(() => Promise.all([codeOf(store.commit(commitOf(put("a", 2)))), codeOf(store.read(everything))]));
  expect(ended.value).toEqual(["outcome_unknown", "unavailable"]);
  expect(ended.ms).toBeLessThan(3_000 * ended.pace);
  server.resume();
  const back = await atPace(() => soon(() => store.read(everything)));
  expect(back.ms).toBeLessThan(5_000 * back.pace);
  const { revision } = back.value;
  expect([1, 2]).toContain(revision);
  expect((await commit(store, put("a", 4))).revision).toBe(revision + 1);
});

test("a server that has been gone for longer than a call may last is not waited for any more", async () => {
  await using server = await startRedis();
  const logged: string[] = [];
  await using opened = await open(server, "?deadline=10m", (_level, event) => void logged.push(event));
  await commit(opened.store, put("a"));
  await server.kill9();
  const waiting = codeOf(opened.store.read(everything));
  await soon(() => expect(logged).toContain("redis_not_connected"));
  // Time jumps, and goes on: what is asked for from now on would otherwise be waited for, for ten minutes more.
  const now = performance.now.bind(performance);
  const later = vi.spyOn(performance, "now").mockImplementation(() => now() + 601_000);
  onTestFinished(() => void later.mockRestore());
  expect(await codeOf(opened.store.commit(commitOf(put("a", 2))))).toBe("unavailable");
  expect(await waiting).toBe("unavailable");
});

test("connections that the server cuts are made again; what was in flight is never sent a second time", async () => {
  await using server = await startRedis();
  await using opened = await open(server);
  const { store } = opened;
  await commit(store, put("count", 0));
  let unknown = 0;
  let sure = 0;
  let isOver = false;
  const writers = Array.from({ length: 4 }, async (_, w) => {
    for (let i = 0; !isOver; i += 1) {
      const result = await store.commit(commitOf(put(`w${w}`, i))).catch((error: unknown) => error);
      if (isHoldfastError(result, "outcome_unknown")) unknown += 1;
      else if (isHoldfastError(result)) expect(result.code).toBe("unavailable");
      else sure += 1;
    }
  });
  for (let cut = 0; cut < 20; cut += 1) {
    await server.command("CLIENT", "KILL", "TYPE", "normal").catch(() => {});
    const before = sure;
    await expect.poll(() => sure, { interval: 1 }).toBeGreaterThan(before);
  }
  isOver = true;
  await Promise.all(writers);
  // Every commit that succeeded took one revision, and each of the unknown ones at most one.
  const { revision } = await store.read(everything);
  expect(revision - 1).toBeGreaterThanOrEqual(sure);
  expect(revision - 1).toBeLessThanOrEqual(sure + unknown);
});

/** Until the test ends, a listener's blocking read never ends by itself: only what is written ends it. */
function blockForEver(): void {
  const ready = RedisConnection.prototype.ready;
  const patient = vi.spyOn(RedisConnection.prototype, "ready").mockImplementation(async function (this: RedisConnection, untilMs) {
    const { send, facts } = await ready.call(this, untilMs);
    const forEver = (args: readonly unknown[]): readonly unknown[] => args.map((arg, i) => (args[i - 1] === "BLOCK" ? "0" : arg));
    return { facts, send: (name, args, endMs) => send(name, name === "xread" ? (forEver(args) as typeof args) : args, endMs) };
  });
  onTestFinished(() => void patient.mockRestore());
}

test("a watcher in another process's place hears of every commit as it is written, not by looking now and then", async () => {
  blockForEver();
  await using server = await startRedis();
  await using writer = await open(server);
  await using reader = await open(server, "?deadline=10m");
  const stop = new AbortController();
  const changes = reader.store.watch(everything, 0, stop.signal)[Symbol.asyncIterator]();
  for (let i = 1; i <= 20; i += 1) {
    const next = changes.next();
    await commit(writer.store, put("a", i));
    expect((await next).value).toMatchObject({ revision: i });
  }
  stop.abort();
});

test("a watcher continues after a restart without gap or repeat", async () => {
  await using server = await startRedis();
  await using writer = await open(server);
  await using reader = await open(server);
  const send = async (from: number, to: number): Promise<void> => {
    for (let i = from; i <= to; i += 1) await commit(writer.store, put("a", i));
  };
  await send(1, 5);
  const stop = new AbortController();
  const seen: number[] = [];
  // The log read fails while the server is away only after the deadline, which is longer.
  const watching = (async () => {
    for await (const change of reader.store.watch(everything, 2, stop.signal)) seen.push(change.revision);
  })();
  await expect.poll(() => seen).toEqual([3, 4, 5]);
  await send(6, 8);
  await server.kill9();
  await server.restart();
  await send(9, 12);
  await expect.poll(() => seen).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  stop.abort();
  await watching;
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
  const link = new RedisConnection(
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
