import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { mixedLoad } from "../support/mixed-load.ts";
import { openWorkerPort } from "../support/worker-port.ts";

/** One client of the linearizability test, in a process of its own; tells every call with its times. */
const port = openWorkerPort();
const { url, client, seed, calls } = await port.next<{ url: string; client: string; seed: number; calls: number }>();
await using engine = await openEngine(url);
const store = openNamespaceStore(engine, "shared", systemClock);
port.send("ready");
await port.next();
port.send(await mixedLoad(store, client, seed, calls));
process.stdin.destroy();
