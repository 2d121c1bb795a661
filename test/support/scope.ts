import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { Engine } from "../../src/store/store.ts";
import type { Scope } from "../../src/store/transact.ts";
import type { ManualClock } from "./manual-clock.ts";
import { manualClock } from "./manual-clock.ts";

export interface TestScope extends Scope {
  readonly clock: ManualClock;
  readonly engine: Engine;
}

/** A fresh memory store under a manual clock: domain tests own time and never sleep. */
export function openScope(): TestScope {
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  return { engine, clock, store: openNamespaceStore(engine, "test", clock), writer: "tester" };
}

/** Lets everything that is already possible happen: commits take a few turns of the event loop each. */
export async function settle(turns = 20): Promise<void> {
  for (let i = 0; i < turns; i += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Moves time in small steps, letting waiters act in between as they would in real time. */
export async function passTime(clock: ManualClock, ms: number, stepMs = 500): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    await settle();
    clock.advance(Math.min(stepMs, ms - passed));
  }
  await settle();
}
