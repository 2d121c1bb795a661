import { join } from "node:path";
import { expect, test } from "vitest";
import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import { openSqliteEngine } from "../../../src/engines/sqlite/sqlite-engine.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import { everything } from "../../../src/store/ranges.ts";
import type { Store } from "../../../src/store/store.ts";
import { checkHistoryEqualsState } from "../../../src/verify/checkers/history-equals-state.ts";
import type { AnsweredCall } from "../../../src/verify/checkers/linearizable.ts";
import { checkLinearizable } from "../../../src/verify/checkers/linearizable.ts";
import { mixedLoad } from "../../support/mixed-load.ts";
import { spawnWorker } from "../../support/spawn-worker.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { wholeLog } from "./whole-log.ts";

const clients = 8;
const callsEach = 300;

async function audit(store: Store, calls: readonly AnsweredCall[]): Promise<void> {
  expect(calls).toHaveLength(clients * callsEach);
  // Refusals and reads must have been among them, or half of the checker had nothing to look at.
  expect(calls.filter((call) => call.kind === "read").length).toBeGreaterThan(callsEach);
  expect(calls.filter((call) => call.kind === "commit" && !call.result.ok).length).toBeGreaterThan(20);
  const rows = await wholeLog(store);
  expect(await checkLinearizable({ calls, rows })).toEqual([]);
  const { entries, nowMs } = await store.read(everything);
  expect(checkHistoryEqualsState({ rows, entries, nowMs })).toEqual([]);
}

test(`${clients} processes on one SQLite file: reads, commits and refusals are linearizable (G2, G12)`, { timeout: 300_000 }, async () => {
  const path = join(await temporaryFolder(), "store.db");
  const workers = Array.from({ length: clients }, (_, i) => spawnWorker<"ready" | AnsweredCall[]>("mixed-load", { path, client: `client ${i}`, seed: i + 1, calls: callsEach }));
  for (const worker of workers) expect(await worker.next()).toBe("ready");
  await using engine = await openSqliteEngine({ path });
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
  for (const worker of workers) {
    const answer = await worker.next();
    if (answer === "ready") throw new Error("A worker said ready twice.");
    calls.push(...answer);
    await worker.ended();
    expect(worker.errors()).toBe("");
  }
  loading = false;
  await sweeping;
  await audit(store, calls);
});

test(`${clients} concurrent callers of a memory store: reads, commits and refusals are linearizable (G2)`, async () => {
  const store = openNamespaceStore(new MemoryEngine(), "shared", systemClock);
  const calls = await Promise.all(Array.from({ length: clients }, (_, i) => mixedLoad(store, `client ${i}`, i + 1, callsEach)));
  await audit(store, calls.flat());
});
