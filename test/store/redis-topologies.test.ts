import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openRedisEngine } from "../../src/engines/redis/redis-engine.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { onFreePort } from "../support/servers/free-port.ts";
import { startSentinel } from "../support/servers/redis-sentinel.ts";
import { startRedis } from "../support/servers/redis-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { codeOf, commit, put } from "./conformance/fixture.ts";

test("a cluster URL for a server that is none, and the other way round, say which one to use", async () => {
  await using node = await startRedis({ args: ["--cluster-enabled", "yes"] });
  const error = await openRedisEngine({ url: node.url }).catch((reason: unknown) => reason);
  if (!isHoldfastError(error, "store_unsupported")) throw new Error(String(error));
  expect(error.hint).toMatch(/redis\+cluster/);
  await using group = await startSentinel();
  expect(await codeOf(openRedisEngine({ url: `redis+cluster://127.0.0.1:${group.servers[0]?.port}?deadline=10s` }))).toBe("store_unsupported");
  expect(await codeOf(openRedisEngine({ url: `redis+sentinel://127.0.0.1:${group.sentinels[0]?.port}/unknown?deadline=1s` }))).toBe("unavailable");
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
