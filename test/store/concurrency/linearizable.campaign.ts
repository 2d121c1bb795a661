import { describe, expect, test } from "vitest";
import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import { openEngine } from "../../../src/engines/open-store.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import type { Engine, Store } from "../../../src/store/store.ts";
import { checkHistoryEqualsState } from "../../../src/verify/checkers/history-equals-state.ts";
import { readWhole } from "../../../src/verify/read-whole.ts";
import type { AnsweredCall } from "../../support/checkers/linearizable.ts";
import { checkLinearizable } from "../../support/checkers/linearizable.ts";
import { sharedEngines } from "../../support/engines.ts";
import { mixedLoad } from "../../support/mixed-load.ts";
import { scaled } from "../../support/scale.ts";
import { spawnWorker } from "../../support/spawn-worker.ts";

const clients = 8;

async function audit(store: Store, calls: readonly AnsweredCall[], callsEach: number): Promise<void> {
  expect(calls).toHaveLength(clients * callsEach);
  // Refusals and reads must have been among them, or half of the checker had nothing to look at.
  expect(calls.filter((call) => call.kind === "read").length).toBeGreaterThan(callsEach);
  expect(calls.filter((call) => call.kind === "commit" && !call.result.ok).length).toBeGreaterThan(callsEach / 15);
  const { rows, entries, nowMs } = await readWhole(store);
  expect(await checkLinearizable({ calls, rows })).toEqual([]);
  expect(checkHistoryEqualsState({ rows, entries, nowMs })).toEqual([]);
}

async function loadTogether(engine: Engine, callsEach: number): Promise<void> {
  const store = openNamespaceStore(engine, "shared", systemClock);
  const calls = await Promise.all(Array.from({ length: clients }, (_, i) => mixedLoad(store, `client ${i}`, i + 1, callsEach)));
  await audit(store, calls.flat(), callsEach);
}

for (const on of sharedEngines)
  describe(`a mixed load (G2, G12) on ${on.name}`, () => {
    const callsEach = scaled(on.isServer ? 150 : 300, 50);

    test(`${clients} processes on one store: reads, commits and refusals are linearizable`, async () => {
      const url = await on.freshUrl();
      const workers = Array.from({ length: clients }, (_, i) => spawnWorker<"ready" | AnsweredCall[]>("mixed-load", { url, client: `client ${i}`, seed: i + 1, calls: callsEach }));
      for (const worker of workers) expect(await worker.next()).toBe("ready");
      await using engine = await openEngine(url);
      const store = openNamespaceStore(engine, "shared", systemClock);
      for (const worker of workers) worker.send("go");
      // The sweeper runs beside the load, as it does in a server.
      let loading = true;
      const sweeping = (async () => {
        while (loading) {
          await engine.sweep("shared", 10);
          await systemClock.sleep(5);
        }
      })();
      const calls: AnsweredCall[] = [];
      try {
        for (const worker of workers) {
          const answer = await worker.next();
          if (answer === "ready") throw new Error("A worker said ready twice.");
          calls.push(...answer);
          await worker.ended();
          expect(worker.errors()).toBe("");
        }
      } finally {
        loading = false;
        await sweeping;
      }
      await audit(store, calls, callsEach);
    });

    // Answers to callers of one process can overtake each other on their way through it.
    test(`${clients} concurrent callers of one process: reads, commits and refusals are linearizable`, async () => {
      await using engine = await openEngine(await on.freshUrl());
      await loadTogether(engine, callsEach);
    });
  });

test(`${clients} concurrent callers: reads, commits and refusals are linearizable (G2) on memory`, () => loadTogether(new MemoryEngine(), scaled(300, 50)));
