import { expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { silentLog } from "../../src/kernel/log.ts";
import { limits } from "../../src/store/limits.ts";
import { maintain } from "../../src/store/maintenance.ts";
import { openNamespaceStore, openReservedStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import { manualClock } from "../support/manual-clock.ts";

test("a namespace that was moved away, or is on its way, does not keep the others from being looked after", async () => {
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  const names = ["a", "b", "c"];
  const stores = names.map((name) => openNamespaceStore(engine, name, clock));
  for (const store of stores) {
    await store.commit({ writer: "w", writes: [{ op: "put", key: "short", value: 1, ttlMs: 10 }] });
    for (let i = 0; i < 5; i += 1) await store.commit({ writer: "w", writes: [{ op: "put", key: "k", value: i }] });
  }
  await engine.seal("a", { state: "moved", to: "elsewhere" });
  await engine.seal("b", { state: "filling", progress: null });
  const stop = new AbortController();
  const chored: string[] = [];
  // A chore reads, and a sealed namespace refuses.
  const chore = async (name: string): Promise<void> => {
    await stores[names.indexOf(name)]?.read(everything);
    chored.push(name);
  };
  const retention = { ageMs: 0, revisions: 1, tombstones: 0 };
  const running = maintain({ engine, clock, log: silentLog, retention, chores: [chore], sweepEveryMs: 100, compactEveryMs: 200 }, stop.signal);
  await clock.advanceBy(500);
  stop.abort();
  await running;
  expect(new Set(chored)).toEqual(new Set(["c"]));
  const compacted = await Promise.all(names.map(async (name) => (await engine.dump(name, { part: "keys" })).facts.compacted));
  expect(compacted.slice(0, 2)).toEqual([0, 0]);
  expect(compacted[2]).toBeGreaterThan(5);
});

test("what Holdfast writes for itself has a short history, whatever is kept of the callers' own", async () => {
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  const stores = [openReservedStore(engine, ".system", clock), openNamespaceStore(engine, "callers", clock)];
  const extra = 50;
  for (const store of stores) for (let i = 0; i < limits.reservedRevisionsMax + extra; i += 1) await store.commit({ writer: "w", writes: [{ op: "put", key: "k", value: i }] });
  const stop = new AbortController();
  const retention = { ageMs: 30 * 86_400_000, revisions: 1_000_000, tombstones: 1_000_000 };
  const running = maintain({ engine, clock, log: silentLog, retention, sweepEveryMs: 100, compactEveryMs: 200 }, stop.signal);
  await clock.advanceBy(500);
  stop.abort();
  await running;
  const compacted = await Promise.all(stores.map(async ({ namespace }) => (await engine.dump(namespace, { part: "keys" })).facts.compacted));
  expect(compacted).toEqual([extra, 0]);
});

test("what Holdfast writes for itself is compacted at every sweep: in a minute a caller can make it write a great deal", async () => {
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  const stores = [openReservedStore(engine, ".system", clock), openNamespaceStore(engine, "callers", clock)];
  const stop = new AbortController();
  const running = maintain({ engine, clock, log: silentLog, retention: { ageMs: 0, revisions: 1, tombstones: 0 } }, stop.signal);
  const kept = async (): Promise<number[]> => Promise.all(stores.map(async ({ namespace }) => (await engine.dump(namespace, { part: "log", after: 0 })).records.length));
  for (let round = 0; round < 3; round += 1) {
    for (const store of stores) for (let i = 0; i < 50; i += 1) await store.commit({ writer: "w", writes: [{ op: "put", key: "k", value: i }] });
    await clock.advanceBy(1_000);
    expect(await kept()).toEqual([1, 50 * (round + 1)]);
  }
  stop.abort();
  await running;
});
