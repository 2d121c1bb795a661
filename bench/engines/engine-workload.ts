import { setTimeout } from "node:timers/promises";
import { acquireLease, releaseLease } from "../../src/domain/leases/leases.ts";
import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { keyRange } from "../../src/store/ranges.ts";
import type { Store } from "../../src/store/store.ts";
import type { Scope } from "../../src/store/transact.ts";
import { keyOf, keysInUse, noteOf } from "../workload.ts";

const sliceMs = 1_000;

/** The same work for every engine, in-process. Rates are per second, times in milliseconds. */
export interface EngineWorkload extends AsyncDisposable {
  commitRate(inFlight: number, namespaces?: number): Promise<number>;
  readRate(inFlight: number): Promise<number>;
  /** From the release of a lease to the answer to a waiter on another connection. */
  handOverTimes(count: number): Promise<number[]>;
  /** From before a commit to its arrival at a watcher on another connection: the commit's own time is part of it. */
  watchTimes(count: number): Promise<number[]>;
}

export async function openEngineWorkload(url: string): Promise<EngineWorkload> {
  // A waiting watcher does not keep the process alive.
  const alive = setInterval(() => {}, 1_000);
  const engine = await openEngine(url);
  const other = await openEngine(url);
  const stores = Array.from({ length: 64 }, (_, i) => openNamespaceStore(engine, `bench-${i}`, systemClock));
  const [store] = stores as [Store];
  const elsewhere = openNamespaceStore(other, store.namespace, systemClock);
  const put = (target: Store, n: number) => {
    const key = keyOf(n);
    return target.commit({ writes: [{ op: "put", key: `state/${key}`, value: noteOf(n), record: { kind: "state", op: "set", subject: key } }], writer: "bench" });
  };
  // Every namespace has every key, so that a commit is the same work in each: a change of an existing entry.
  for (const each of stores) await Promise.all(Array.from({ length: keysInUse }, (_, n) => put(each, n)));
  return {
    commitRate: (inFlight, namespaces = 1) =>
      rateOf(inFlight, async (n, caller) => {
        const result = await put(stores[caller % namespaces] as Store, n);
        if (!result.ok) throw new Error(`A commit without checks was refused: ${result.reason}`);
      }),
    readRate: (inFlight) =>
      rateOf(inFlight, async (n) => {
        if ((await store.read(keyRange(`state/${keyOf(n)}`))).entries.length !== 1) throw new Error("A key that was written is missing.");
      }),
    handOverTimes: (count) => handOverTimes(store, elsewhere, count),
    watchTimes: (count) => watchTimes(store, elsewhere, count),
    async [Symbol.asyncDispose]() {
      clearInterval(alive);
      await engine[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
    },
  };
}

async function rateOf(inFlight: number, operation: (n: number, caller: number) => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  let count = 0;
  const caller = async (_: unknown, number: number): Promise<void> => {
    while (performance.now() - startedMs < sliceMs) await operation(count++, number);
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  return (count / (performance.now() - startedMs)) * 1_000;
}

async function handOverTimes(store: Store, elsewhere: Store, count: number): Promise<number[]> {
  const scopes = [store, elsewhere].map((each): Scope => ({ store: each, clock: systemClock, writer: "bench" })) as [Scope, Scope];
  const lease = { resource: "bench", ttlMs: 30_000 };
  const times: number[] = [];
  let held = await acquireLease(scopes[0], { ...lease, holder: "holder 0" });
  for (let turn = 0; turn < count; turn += 1) {
    const next = acquireLease(scopes[(turn + 1) % 2] as Scope, { ...lease, holder: `holder ${(turn + 1) % 2}`, waitMs: 20_000 });
    // Long enough for the other to join the queue and watch.
    await setTimeout(25);
    if (!held.ok) throw new Error("The lease was not acquired.");
    const releasedMs = performance.now();
    await releaseLease(scopes[turn % 2] as Scope, { resource: lease.resource, holder: `holder ${turn % 2}`, token: held.token });
    held = await next;
    times.push(performance.now() - releasedMs);
  }
  return times;
}

async function watchTimes(store: Store, elsewhere: Store, count: number): Promise<number[]> {
  const key = "watched";
  const stop = new AbortController();
  const { revision } = await elsewhere.read(keyRange(key));
  const changes = elsewhere.watch(keyRange(key), revision, stop.signal)[Symbol.asyncIterator]();
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const seen = changes.next();
    await setTimeout(10);
    const startedMs = performance.now();
    await Promise.all([store.commit({ writes: [{ op: "put", key, value: n }], writer: "bench" }), seen]);
    times.push(performance.now() - startedMs);
  }
  stop.abort();
  return times;
}
