import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openRedisEngine } from "../../src/engines/redis/redis-engine.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Store } from "../../src/store/store.ts";
import { atPace } from "../support/pace.ts";
import { onFreePort } from "../support/servers/free-port.ts";
import { startSentinel } from "../support/servers/redis-sentinel.ts";
import { startRedis } from "../support/servers/redis-server.ts";
import { soon } from "../support/soon.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { codeOf, commit, commitOf, put } from "./conformance/fixture.ts";

test("a cluster URL for a server that is none, and the other way round, say which one to use", async () => {
  await using node = await startRedis({ args: ["--cluster-enabled", "yes"] });
  const error = await openRedisEngine({ url: node.url }).catch((reason: unknown) => reason);
  if (!isHoldfastError(error, "store_unsupported")) throw new Error(String(error));
  expect(error.hint).toMatch(/redis\+cluster/);
  await using group = await startSentinel();
  expect(await codeOf(openRedisEngine({ url: `redis+cluster://127.0.0.1:${group.servers[0]?.port}?deadline=10s` }))).toBe("store_unsupported");
  expect(await codeOf(openRedisEngine({ url: `redis+sentinel://127.0.0.1:${group.sentinels[0]?.port}/unknown?deadline=1s` }))).toBe("unavailable");
});

/** The promise for a server that is gone; the calls' own deadline is far away. */
const givenUpMs = 2_000;

async function expectGivenUp(store: Store): Promise<void> {
  for (const call of [() => store.read(everything), () => store.commit(commitOf(put("a", 2)))]) {
    const { ms, pace, value } = await atPace(() => codeOf(call()));
    expect(value).toBe("unavailable");
    expect(ms).toBeLessThan(givenUpMs * pace);
  }
}

test("a cluster of which no node is left is given up within two seconds, and found again when it is back", async () => {
  await using node = await startRedis({ args: ["--cluster-enabled", "yes"] });
  await node.command("CLUSTER", "ADDSLOTSRANGE", 0, 16_383);
  await node.waitUntil("call the cluster whole", async () => String(await node.command("CLUSTER", "INFO")).includes("cluster_state:ok"));
  await using engine = await openRedisEngine({ url: `redis+cluster://127.0.0.1:${node.port}?deadline=30s` });
  const store = openNamespaceStore(engine, "n", systemClock);
  await commit(store, put("a"));
  await node.kill9();
  await expectGivenUp(store);
  await node.restart();
  expect((await soon(() => store.read(everything))).entries).toMatchObject([{ key: "a" }]);
});

test("a primary that is gone is given up within two seconds, whether its sentinels are there or not", async () => {
  await using group = await startSentinel({ downAfterMs: 60_000 });
  await using engine = await openRedisEngine({ url: `${group.url}?deadline=30s` });
  const store = openNamespaceStore(engine, "n", systemClock);
  await commit(store, put("a"));
  await (await group.primary()).kill9();
  await expectGivenUp(store);
  await Promise.all(group.sentinels.map((sentinel) => sentinel.kill9()));
  await expectGivenUp(store);
});

test("TLS: a server whose certificate is trusted is used, any other is refused with the fix", async () => {
  const folder = await temporaryFolder();
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-keyout", key, "-out", cert, ...subject], {
    stdio: "ignore",
  });
  const files = ["--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no"];
  let tlsPort = 0;
  await using _server = await onFreePort(async (port) => {
    tlsPort = port;
    return startRedis({ args: ["--tls-port", String(port), ...files] });
  });
  await using engine = await openRedisEngine({ url: `rediss://127.0.0.1:${tlsPort}?tls_ca=${encodeURIComponent(cert)}` });
  expect((await commit(openNamespaceStore(engine, "n", systemClock), put("a"))).revision).toBe(1);
  const refusalOf = async (url: string): Promise<unknown> => openRedisEngine({ url }).catch((error: unknown) => error);
  const untrusted = await refusalOf(`rediss://127.0.0.1:${tlsPort}?deadline=10s`);
  if (!isHoldfastError(untrusted, "store_unsupported")) throw new Error(String(untrusted), { cause: untrusted });
  expect(untrusted.hint).toMatch(/tls_ca=FILE/);
});
