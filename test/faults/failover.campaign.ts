import { describe, expect, test } from "vitest";
import { runAndPrint } from "../support/campaign.ts";
import type { EngineLoad } from "../support/engine-faults/engine-load.ts";
import { failOver } from "../support/engine-faults/fail-over.ts";
import { withDeadline } from "../support/engine-faults/servers-under-test.ts";
import { FaultProxy } from "../support/fault-proxy.ts";
import { once } from "../support/scale.ts";
import { startPostgres, startReplica } from "../support/servers/postgres-server.ts";
import type { RedisCluster } from "../support/servers/redis-cluster.ts";
import { startRedisCluster } from "../support/servers/redis-cluster.ts";
import { startSentinel } from "../support/servers/redis-sentinel.ts";
import type { RedisServer } from "../support/servers/redis-server.ts";

const deadlineMs = 2_000;
/** From the moment at which another server has taken the place. */
const serviceMsMax = 5_000;
const namespaces = ["one", "two", "three", "four", "five"];
/** For so long at least the primary answers alone: what it acknowledges then is lost with it, and nobody promised otherwise. */
const aloneMs = 150;

/** Replicas sign in under a name of their own, which can be taken from them. */
const replicaUser = ["--user", "replica", "on", ">link", "+psync", "+replconf", "+ping", "--masteruser", "replica", "--masterauth", "link"];

async function cutOff(primary: RedisServer): Promise<void> {
  await primary.command("ACL", "SETUSER", "replica", "off");
  await primary.command("CLIENT", "KILL", "TYPE", "replica");
}

const isPrimary = async (server: RedisServer): Promise<boolean> => String(await server.command("ROLE")).startsWith("master");

/** Of the primaries, the one with the most in it; and who follows it. */
async function busiest({ nodes }: RedisCluster): Promise<{ readonly primary: RedisServer; readonly replica: RedisServer }> {
  const half = nodes.length / 2;
  const pairs = await Promise.all(
    nodes.slice(0, half).map(async (primary, i) => ({ primary, replica: nodes[half + i] as RedisServer, keys: Number(await primary.command("DBSIZE")) })),
  );
  return pairs.reduce((most, pair) => (pair.keys > most.keys ? pair : most));
}

/** Cut off from its replica until something was done, the busiest primary is killed; resolves when the replica serves in its place. */
async function killBusiest(cluster: RedisCluster, load: EngineLoad, isDone: () => Promise<void>): Promise<{ readonly killed: RedisServer; readonly successor: RedisServer }> {
  const { primary, replica } = await busiest(cluster);
  await cutOff(primary);
  await isDone();
  await load.work(aloneMs);
  await primary.kill9();
  await replica.waitUntil("take its primary's place", () => isPrimary(replica));
  return { killed: primary, successor: replica };
}

describe("a replica that takes its primary's place under load gives no revision, version or token again, and every call ends in time (G4, G5, G7, G10, G19)", () => {
  test("in a cluster of six, on Redis", once, async () => {
    await using cluster = await startRedisCluster(6, { args: replicaUser });
    const fail = (load: EngineLoad): Promise<unknown> => killBusiest(cluster, load, () => load.workBeyondNow());
    const result = await runAndPrint("cluster, primary killed, on Redis", () =>
      failOver({ url: withDeadline(cluster.url, deadlineMs), namespaces, deadlineMs, serviceMsMax, fail }),
    );
    expect(result.violations).toEqual([]);
    // Without a loss nothing was shown.
    expect(result.figures.commits_lost).toBeGreaterThan(0);
    expect(result.figures.leaps).toBeGreaterThan(0);
  });

  test("chosen by a sentinel, on Redis", once, async () => {
    await using group = await startSentinel({ args: replicaUser });
    const fail = async (load: EngineLoad): Promise<void> => {
      const primary = await group.primary();
      await cutOff(primary);
      await load.workBeyondNow();
      await load.work(aloneMs);
      await primary.kill9();
      await group.failedOver(primary);
    };
    const result = await runAndPrint("sentinel, primary killed, on Redis", () => failOver({ url: withDeadline(group.url, deadlineMs), deadlineMs, serviceMsMax, fail }));
    expect(result.violations).toEqual([]);
    expect(result.figures.commits_lost).toBeGreaterThan(0);
  });

  test("promoted by hand behind one address, on PostgreSQL", once, async () => {
    await using primary = await startPostgres();
    await using replication = await FaultProxy.open(primary.port);
    await using replica = await startReplica({ superuserUrl: replication.urlFor(primary.superuserUrl) });
    await using address = await FaultProxy.open(primary.port);
    const fail = async (load: EngineLoad): Promise<void> => {
      await replication.set({ kind: "black-hole" });
      await load.workBeyondNow();
      await load.work(aloneMs);
      await primary.kill9();
      await replica.promote();
      address.retarget(replica.port);
    };
    const url = withDeadline(address.urlFor(primary.url), deadlineMs);
    const result = await runAndPrint("replica promoted on PostgreSQL", () => failOver({ url, auditUrl: replica.url, namespaces, deadlineMs, serviceMsMax, fail }));
    expect(result.violations).toEqual([]);
    expect(result.figures.commits_lost).toBeGreaterThan(0);
    expect(result.figures.leaps).toBe(namespaces.length);
  });
});

test(
  "a primary that waits for its replica before it answers (wait_replicas=1) loses nothing acknowledged in a failover, and serves again when it has a replica, on Redis",
  once,
  async () => {
    await using cluster = await startRedisCluster(6, { args: replicaUser });
    const fail = async (load: EngineLoad): Promise<void> => {
      const { killed, successor } = await killBusiest(cluster, load, () => load.sendsInEach());
      await killed.restart();
      await successor.waitUntil("be followed", async () => String(await successor.command("INFO", "replication")).includes("state=online"));
    };
    const url = withDeadline(`${cluster.url}?wait_replicas=1`, deadlineMs);
    const result = await runAndPrint("cluster, primary killed, wait_replicas=1, on Redis", () => failOver({ url, namespaces, deadlineMs, serviceMsMax, fail }));
    expect(result.violations).toEqual([]);
    expect(result.figures.commits_lost).toBe(0);
    expect(result.figures.unknown).toBeGreaterThan(0);
  },
);
