import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect } from "node:tls";
import { expect, test } from "vitest";
import { loopbackCertificate } from "./loopback-certificate.ts";
import { startRedisCluster } from "./redis-cluster.ts";
import { startSentinel } from "./redis-sentinel.ts";
import { startRedis, startReplicaOf } from "./redis-server.ts";

test("a Redis that is killed forgets nothing it has acknowledged, and returns on its port", async () => {
  await using redis = await startRedis();
  for (let round = 1; round <= 3; round += 1) {
    expect(await redis.command("INCR", "rounds")).toBe(round);
    const { pid } = redis;
    await redis.kill9();
    expect(redis.isRunning).toBe(false);
    await expect(redis.command("PING")).rejects.toThrow("ECONNREFUSED");
    await redis.restart();
    expect(redis.pid).not.toBe(pid);
    expect(await redis.command("GET", "rounds")).toBe(String(round));
  }
});

test("settings reach it, a frozen one does not answer until it is continued, and a polite stop forgets nothing either", async () => {
  await using redis = await startRedis({ appendfsync: "everysec", password: "pass word", args: ["--maxmemory", "10mb"] });
  expect(redis.url).toBe(`redis://:pass%20word@127.0.0.1:${redis.port}`);
  expect(await redis.command("CONFIG", "GET", "appendfsync", "appendonly", "maxmemory", "save")).toEqual(
    expect.arrayContaining(["appendfsync", "everysec", "appendonly", "yes", "maxmemory", "10485760", "save", ""]),
  );
  redis.pause();
  let isAnswered = false;
  const frozen = redis.command("SET", "k", "v").finally(() => {
    isAnswered = true;
  });
  // Stopped, as the system says, and so it stays.
  await expect.poll(async () => / ([A-Z]) /.exec(await readFile(`/proc/${redis.pid}/stat`, "utf8"))?.[1]).toBe("T");
  expect(isAnswered).toBe(false);
  redis.resume();
  expect(await frozen).toBe("OK");
  await redis.stop();
  await redis.restart();
  expect(await redis.command("GET", "k")).toBe("v");
});

test("it speaks TLS to those who trust its certificate", async () => {
  await using redis = await startRedis({ tls: true });
  const ca = await readFile((await loopbackCertificate()).certFile);
  const port = Number(new URL(redis.tlsUrl).port);
  const socket = connect({ port, host: "127.0.0.1", ca });
  await once(socket, "secureConnect");
  socket.write("PING\r\n");
  expect(String((await once(socket, "data"))[0])).toBe("+PONG\r\n");
  socket.destroy();
  const [refusal] = (await once(connect({ port, host: "127.0.0.1" }), "error")) as [NodeJS.ErrnoException];
  expect(refusal.code).toBe("DEPTH_ZERO_SELF_SIGNED_CERT");
});

test("a server that cannot start says why and leaves nothing behind", async () => {
  await expect(startRedis({ args: ["--maxmemory", "plenty"] })).rejects.toThrow(/ended instead of starting[\s\S]*maxmemory/);
});

test("a replica follows, and takes writes when promoted", async () => {
  await using primary = await startRedis();
  await using replica = await startReplicaOf(primary);
  await primary.command("SET", "k", "v");
  await replica.waitUntil("hear of it", async () => (await replica.command("GET", "k")) === "v");
  await expect(replica.command("SET", "k", "w")).rejects.toThrow("READONLY");
  expect(await replica.command("REPLICAOF", "NO", "ONE")).toBe("OK");
  expect(await replica.command("SET", "k", "w")).toBe("OK");
});

test.concurrent("a cluster of six answers, and a replica takes over from a primary that is killed", async () => {
  await using cluster = await startRedisCluster(6);
  expect(cluster.nodes).toHaveLength(6);
  const primary = await cluster.primaryOf("{a}k");
  expect(await primary.command("SET", "{a}k", "v")).toBe("OK");
  expect(await primary.command("WAIT", 1, 2_000)).toBe(1);
  const other = await cluster.primaryOf("{c}k");
  expect(other).not.toBe(primary);
  await expect(other.command("GET", "{a}k")).rejects.toThrow(/^MOVED /);
  await primary.kill9();
  await other.waitUntil("see the replica take over", async () => (await cluster.primaryOf("{a}k")) !== primary);
  expect(await (await cluster.primaryOf("{a}k")).command("GET", "{a}k")).toBe("v");
});

test.concurrent("sentinels replace a primary that is killed", async () => {
  await using group = await startSentinel({ sentinels: 3 });
  const primary = await group.primary();
  expect(await primary.command("SET", "k", "v")).toBe("OK");
  expect(await primary.command("WAIT", 1, 2_000)).toBe(1);
  await primary.kill9();
  const next = await group.failedOver(primary);
  expect(next).not.toBe(primary);
  expect(await next.command("GET", "k")).toBe("v");
  expect(await next.command("SET", "k", "w")).toBe("OK");
});
