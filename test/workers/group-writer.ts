import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { openWorkerPort } from "../support/worker-port.ts";

/** Writes every member of a group with one new value per commit, several commits in flight, until it is killed. Tells each value before it is sent and each answer. */
const port = openWorkerPort();
const { url, members, client, inFlight, pauseMs } = await port.next<{ url: string; members: string[]; client: string; inFlight: number; pauseMs: number }>();
const engine = await openEngine(url);
const store = openNamespaceStore(engine, "shared", systemClock);
port.send({ ready: true });
let count = 0;
const write = async (): Promise<never> => {
  for (;;) {
    count += 1;
    const value = `${client}:${count}`;
    port.send({ sent: value });
    const result = await store.commit({ writer: client, writes: members.map((key) => ({ op: "put", key, value })) });
    port.send({ acknowledged: value, revision: result.revision });
    if (pauseMs > 0) await systemClock.sleep(pauseMs);
  }
};
await Promise.all(Array.from({ length: inFlight }, write));
