import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { keyRange } from "../../src/store/ranges.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { openWorkerPort } from "../support/worker-port.ts";

/** Adds one to a shared counter, `count` times, by compare-and-set; tells every success. */
const port = openWorkerPort();
const { url, key, count, client } = await port.next<{ url: string; key: string; count: number; client: string }>();
await using engine = await openEngine(url);
const store = openNamespaceStore(engine, "shared", systemClock);
port.send("ready");
await port.next();

const increments: { client: string; version: number; value: number }[] = [];
let conflicts = 0;
const random = seededRandom(process.pid);
let known = (await store.read(keyRange(key))).entries[0];
while (increments.length < count) {
  const value = ((known?.value as number | undefined) ?? 0) + 1;
  const sentMs = performance.now();
  const result = await store.commit({ writer: client, checks: [{ key, version: known?.version ?? 0 }], writes: [{ op: "put", key, value }] });
  if (result.ok) {
    const version = result.writes[0]?.version ?? 0;
    increments.push({ client, version, value });
    known = { key, value, version, revision: result.revision, createdAtMs: 0, updatedAtMs: 0, writer: client };
  } else if (result.reason === "checks") {
    conflicts += 1;
    // As a real client does: step aside for a while, a different one each time and longer where the store is slower, instead of spinning.
    await systemClock.sleep(random(4 + Math.min(400, Math.ceil(40 * (performance.now() - sentMs)))));
    known = (await store.read(keyRange(key))).entries[0];
  }
}
port.send({ increments, conflicts });
process.stdin.destroy();
