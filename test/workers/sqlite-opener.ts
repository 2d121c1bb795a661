import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { openWorkerPort } from "../support/worker-port.ts";

/** Waits for the word, opens the file at once, commits one key of its own, and on request commits again and says when. */
const port = openWorkerPort();
const { path, key } = await port.next<{ path: string; key: string }>();
port.send({ ready: true });
await port.next();
const engine = await openSqliteEngine({ path });
const store = openNamespaceStore(engine, "shared", systemClock);
for (let count = 1; ; count += 1) {
  const result = await store.commit({ writer: key, writes: [{ op: "put", key, value: count }] });
  port.send({ revision: result.revision, atMs: Date.now() });
  const { stop } = await port.next<{ stop?: boolean }>();
  if (stop) break;
}
await engine[Symbol.asyncDispose]();
process.exit(0);
