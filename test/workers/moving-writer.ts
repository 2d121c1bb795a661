import { acquireLease, releaseLease } from "../../src/domain/leases/leases.ts";
import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { Engine } from "../../src/store/store.ts";
import { openWorkerPort } from "../support/worker-port.ts";

/**
 * Writes without pause and follows its namespace from store to store: each number once under a key of its own and in a counter, safe to repeat
 * by its request key; now and then it takes a lease that all share. Tells at the end what it was promised.
 */
const port = openWorkerPort();
const { urls, namespace, name } = await port.next<{ urls: readonly string[]; namespace: string; name: string }>();
let place = 0;
let engine: Engine = await openEngine(urls[0] as string);
let [moves, refusals] = [0, 0];
let stopped = false;
const tokens: number[] = [];

async function surely<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (isHoldfastError(error, "moved")) {
        moves += 1;
        place += 1;
        await engine[Symbol.asyncDispose]();
        engine = await openEngine(urls[place] as string);
      } else if (isHoldfastError(error, "unavailable") || isHoldfastError(error, "outcome_unknown")) {
        refusals += 1;
        await systemClock.sleep(10);
      } else throw error;
    }
  }
}

const store = () => openNamespaceStore(engine, namespace, systemClock);
port.send("ready");
await port.next();
void port.next().then(() => {
  stopped = true;
});
let n = 0;
while (!stopped) {
  n += 1;
  await surely(() =>
    store().commit({
      writer: name,
      writes: [
        { op: "put", key: `each/${name}/${String(n).padStart(6, "0")}`, value: n },
        { op: "put", key: `last/${name}`, value: n },
      ],
      request: { key: `${name}/${n}`, fingerprint: "f", note: n },
    }),
  );
  if (n % 10 === 0) await takeLease();
  await systemClock.sleep(2);
}
port.send({ name, written: n, moves, refusals, tokens, place });
await engine[Symbol.asyncDispose]();
process.stdin.destroy();

async function takeLease(): Promise<void> {
  const scope = () => ({ store: store(), clock: systemClock, writer: name });
  const lease = await surely(() => acquireLease(scope(), { resource: "shared", holder: name, ttlMs: 60_000 }));
  if (!lease.ok) return;
  if (!lease.renewed) tokens.push(lease.token);
  await surely(() => releaseLease(scope(), { resource: "shared", holder: name }));
}
