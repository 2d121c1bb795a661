import { describe, expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import type { EngineCalls } from "../support/counted-engine.ts";
import { countedEngine } from "../support/counted-engine.ts";
import { manualClock } from "../support/manual-clock.ts";
import type { Answer, TestTools } from "./open-tools.ts";
import { openTools } from "./open-tools.ts";

/** The tools on an engine that counts what one call asks of it. */
function openCounted(): TestTools & { callsOf(name: string, args?: unknown): Promise<EngineCalls> } {
  const clock = manualClock();
  const counted = countedEngine(new MemoryEngine(clock));
  const tools = openTools({ engine: counted.engine, clock });
  return { ...tools, callsOf: (name, args) => counted.during(() => tools.call(name, args)) };
}

describe("what a tool asks of the engine", () => {
  test("the revision or the time alone is a position, not a read", async () => {
    const { callsOf, call } = openCounted();
    await call("save_knowledge", { id: "n", content: "the deploy key is in the vault" });
    await call("workflow_create", { name: "job", run_id: "r" });
    expect(await callsOf("sidecar_health")).toEqual({ count: 3, position: 1, health: 1 });
    expect(await callsOf("checkpoint", { description: "done", workspace: "w" })).toMatchObject({ position: 1, commit: 1 });
    expect(await callsOf("workflow_discover", { claimable: true })).toMatchObject({ position: 1 });
    expect(await callsOf("workflow_claim", { agent_id: "a" })).toMatchObject({ position: 1, commit: 1 });
  });

  test("history_log asks once for a page with its old and new values, and once more for the total", async () => {
    const { callsOf, call } = openCounted();
    for (let i = 0; i < 8; i += 1) await call("state_set", { key: `k${i % 3}`, value: i });
    expect(await callsOf("history_log")).toEqual({ log: 1 });
    expect(await callsOf("history_log", { key: "k1" })).toEqual({ log: 1 });
    expect(await callsOf("history_log", { prefix: "k", kind: "state" })).toEqual({ log: 1 });
    expect(await callsOf("history_log", { n: 5 })).toEqual({ log: 2 });
    const { entries } = await call("history_log", { key: "k1" });
    expect(entries.map(({ new_value, previous_value }: Answer) => [new_value, previous_value])).toEqual([
      [7, 4],
      [4, 1],
      [1, null],
    ]);
  });

  test("recall_knowledge takes the time from the notes it reads", async () => {
    const { callsOf, call } = openCounted();
    await call("save_knowledge", { id: "n", content: "the deploy key is in the vault" });
    expect(await callsOf("recall_knowledge", { query: "deploy key" })).toEqual({ search: 1, read: 1 });
    expect(await callsOf("recall_knowledge", { query: "zebra" })).toEqual({ search: 1, position: 1 });
  });
});
