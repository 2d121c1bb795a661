import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { Range } from "../../src/store/store.ts";
import { openWorkerPort } from "../support/worker-port.ts";

/** Watches a range after a revision and tells every change, until it is killed. */
const port = openWorkerPort();
const { url, range, after } = await port.next<{ url: string; range: Range; after: number }>();
const engine = await openEngine(url);
const store = openNamespaceStore(engine, "shared", systemClock);
port.send({ ready: true });
for await (const change of store.watch(range, after, new AbortController().signal)) port.send({ change });
