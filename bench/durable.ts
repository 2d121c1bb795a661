import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openEngine } from "../src/engines/open-store.ts";
import { systemClock } from "../src/kernel/clock.ts";
import { openNamespaceStore } from "../src/store/namespace-store.ts";
import type { Store } from "../src/store/store.ts";
import { LineClient } from "./line-client.ts";
import type { Figure } from "./report.ts";
import { against } from "./report.ts";
import { measureAgainst } from "./rounds.ts";
import type { Surroundings } from "./surroundings.ts";
import { keyOf, noteOf, setArguments } from "./workload.ts";

/** Many short slices: other users of the disk then slow a measurement and the floors next to it equally. */
const rounds = 40;
const sliceMs = 100;
const appendBytes = 200;

/** Durable writes compared with the disk itself: append a little, wait until it is durable, repeat. */
export async function measureDurable({ folder, product, progress }: Surroundings): Promise<Figure[]> {
  const descriptor = openSync(join(folder, "floor.log"), "a");
  const engine = await openEngine(`sqlite:${join(folder, "in-process.db")}`);
  const store = openNamespaceStore(engine, "bench", systemClock);
  const client = await LineClient.open(product("one-caller.db"));
  try {
    const taken = await measureAgainst(
      async () => appendRate(descriptor),
      {
        oneCaller: async () => (await client.burst({ inFlight: 1, forMs: sliceMs, tool: "state_set", argumentsOf: setArguments })).ratePerSecond,
        oneCommit: () => commitRate(store, 1),
        manyCommits: () => commitRate(store, 64),
      },
      rounds,
      (round) => progress(`durable writes: round ${round} of ${rounds}`),
    );
    const floor = "append + fdatasync";
    return [
      against("durable state_set over stdio, one caller", "per second", floor, taken.oneCaller, { atLeast: 0.6 }),
      against("durable commits in-process, one at a time", "per second", floor, taken.oneCommit),
      against("durable commits in-process, 64 in flight", "per second", floor, taken.manyCommits, { atLeast: 8 }),
    ];
  } finally {
    await client.close();
    await engine[Symbol.asyncDispose]();
    closeSync(descriptor);
  }
}

export function appendRate(descriptor: number): number {
  const bytes = Buffer.alloc(appendBytes, "x");
  const startedMs = performance.now();
  let count = 0;
  for (; performance.now() - startedMs < sliceMs; count += 1) {
    writeSync(descriptor, bytes);
    fdatasyncSync(descriptor);
  }
  return (count / (performance.now() - startedMs)) * 1_000;
}

async function commitRate(store: Store, inFlight: number): Promise<number> {
  const startedMs = performance.now();
  let count = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() - startedMs < sliceMs) {
      const n = count++;
      const key = keyOf(n);
      const result = await store.commit({ writes: [{ op: "put", key: `state/${key}`, value: noteOf(n), record: { kind: "state", op: "set", subject: key } }], writer: "bench" });
      if (!result.ok) throw new Error(`A commit without checks was refused: ${result.reason}`);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return (count / (performance.now() - startedMs)) * 1_000;
}
