import { expect, test } from "vitest";
import { openRedisEngine } from "../../src/engines/redis/redis-engine.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Committed, Store } from "../../src/store/store.ts";
import { startRedisCluster } from "../support/servers/redis-cluster.ts";
import { startSentinel } from "../support/servers/redis-sentinel.ts";
import type { RedisServer } from "../support/servers/redis-server.ts";
import { soon } from "../support/soon.ts";
import { commit, commitOf, committed, put } from "./conformance/fixture.ts";

/** Commits until one is known to have happened. */
const persist = (store: Store, key: string, value: number): Promise<Committed> =>
  soon(async () => {
    const request = { key: `${key} ${value}`, fingerprint: "f", note: null };
    const result = await store.commit(commitOf(put(key, value), { request })).catch((error: unknown) => error);
    if (isHoldfastError(result)) expect(["outcome_unknown", "unavailable"]).toContain(result.code);
    return committed(result as Committed);
  });

test("a cluster: every namespace on the node of its slot, found again after slots move and after a primary dies", async () => {
  await using cluster = await startRedisCluster(6);
  await using engine = await openRedisEngine({ url: `${cluster.url}?deadline=8s` });
  const names = Array.from({ length: 8 }, (_, i) => `team ${i}`);
  const stores = names.map((name) => openNamespaceStore(engine, name, systemClock));
  for (const store of stores) expect((await commit(store, [put("a"), put("b", 1, { index: { area: "x", terms: [["t", 1]], length: 1 } })])).revision).toBe(1);
  expect(await engine.namespaces()).toEqual(names);
  const owners = new Set(await Promise.all(names.map(async (name) => (await cluster.primaryOf(`holdfast:{${name}}:m`)).port)));
  expect(owners.size).toBe(3);
  expect((await engine.health("team 0")).facts).toMatchObject({ topology: "cluster", servers: 3 });

  // A slot on its way: the old node asks for ASK, then answers MOVED. Both prove that nothing was executed.
  const store = stores[0] as Store;
  const key = "holdfast:{team 0}:m";
  const from = await cluster.primaryOf(key);
  const to = cluster.nodes.slice(0, 3).find((node) => node !== from) as RedisServer;
  const slot = Number(await from.command("CLUSTER", "KEYSLOT", key));
  const [fromId, toId] = [String(await from.command("CLUSTER", "MYID")), String(await to.command("CLUSTER", "MYID"))];
  await to.command("CLUSTER", "SETSLOT", slot, "IMPORTING", fromId);
  await from.command("CLUSTER", "SETSLOT", slot, "MIGRATING", toId);
  const keys = (await from.command("CLUSTER", "GETKEYSINSLOT", slot, 100)) as string[];
  await from.command("MIGRATE", "127.0.0.1", to.port, "", 0, 5_000, "KEYS", ...keys);
  // Some keys are there and others need not exist: nothing is done until all of the slot has moved.
  const refused = async (): Promise<number> =>
    (
      await Promise.all([from, to].map(async (node) => /errorstat_(ASK|TRYAGAIN|MOVED):count=(\d+)/.exec(String(await node.command("INFO", "errorstats")))?.[2] ?? 0))
    ).reduce<number>((sum, count) => sum + Number(count), 0);
  const refusedBefore = await refused();
  const waiting = commit(store, put("a", 2, { index: { area: "x", terms: [["new term", 1]], length: 1 } }));
  await expect.poll(refused).toBeGreaterThan(refusedBefore);
  for (const node of [to, from, ...cluster.nodes.slice(0, 3)]) await node.command("CLUSTER", "SETSLOT", slot, "NODE", toId);
  const moved = await waiting;
  expect((await commit(store, put("a", 3))).revision).toBe(moved.revision + 1);
  // Another server wrote it last: whether anything was lost on the way nobody can tell, so the history was lifted.
  expect(moved.revision).toBeGreaterThan(1_000_000_000);
  expect((await store.read(everything, { at: 1 })).entries).toMatchObject([{ key: "a", value: "a" }, { key: "b" }]);

  const victim = await cluster.primaryOf("holdfast:{team 1}:m");
  const affected: number[] = [];
  for (const [i, name] of names.entries()) if ((await cluster.primaryOf(`holdfast:{${name}}:m`)) === victim) affected.push(i);
  const before = await Promise.all(stores.map((one) => one.read(everything)));
  await victim.kill9();
  const results = await Promise.all(stores.map((one, i) => persist(one, "after", i)));
  for (const [i, one] of stores.entries()) {
    const { revision } = before[i] as { revision: number };
    const result = results[i] as Committed;
    if (affected.includes(i)) expect(result.revision).toBeGreaterThan(revision + 100_000_000);
    else expect(result.revision).toBe(revision + 1);
    expect((await one.read(everything)).entries.map((entry) => entry.key)).toEqual(["a", "after", "b"]);
  }
});

test("sentinels: after a failover the new primary is found, and its history continues above everything that was given", async () => {
  await using group = await startSentinel();
  await using engine = await openRedisEngine({ url: `${group.url}?deadline=8s&wait_replicas=1` });
  const store = openNamespaceStore(engine, "n", systemClock);
  const seen: number[] = [];
  const stop = new AbortController();
  const watching = (async () => {
    for await (const change of store.watch(everything, 0, stop.signal)) seen.push(change.revision);
  })().catch((error: unknown) => error);
  for (let i = 0; i < 5; i += 1) await commit(store, put("a", i));
  const old = await group.primary();
  await old.kill9();
  await group.failedOver(old);
  await using plain = await openRedisEngine({ url: `${group.url}?deadline=8s` });
  const result = await persist(openNamespaceStore(plain, "n", systemClock), "a", 9);
  expect(result.revision).toBeGreaterThan(1_000_000_000);
  expect(result.writes[0]).toMatchObject({ existed: true, version: result.revision });
  expect((await store.read(everything)).entries).toMatchObject([{ key: "a", value: 9 }]);
  expect((await engine.health("n")).warnings.map(({ about }) => about)).toContain("history");
  // All that was acknowledged is there (a replica had confirmed it), so that the watcher has missed nothing and goes on.
  await expect.poll(() => seen).toEqual([1, 2, 3, 4, 5, result.revision]);
  stop.abort();
  expect(await watching).toBeUndefined();
});
