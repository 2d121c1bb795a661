import { expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { Budget } from "../../src/kernel/budget.ts";
import { AnswerGates } from "../../src/store/answer-gates.ts";
import { limits } from "../../src/store/limits.ts";
import { meteredStore } from "../../src/store/metered-store.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { keyRange } from "../../src/store/ranges.ts";
import { manualClock } from "../support/manual-clock.ts";

const all = { start: "k/" };

/** The memory engine behind a gate; `reserved` is what the budget held when the engine was asked. */
async function openMetered(valueCharacters: number) {
  const clock = manualClock();
  const budget = new Budget(1_000_000_000);
  const gates = new AnswerGates({ budget });
  const reserved: number[] = [];
  const engine = new (class extends MemoryEngine {
    override read(...args: Parameters<MemoryEngine["read"]>): ReturnType<MemoryEngine["read"]> {
      reserved.push(budget.usedBytes);
      return super.read(...args);
    }
  })(clock);
  const plain = openNamespaceStore(engine, "test", clock);
  for (let i = 0; i < 20; i += 1) await plain.commit({ writer: "w", writes: [{ op: "put", key: `k/${i}`, value: "x".repeat(valueCharacters) }] });
  const open = () => {
    const gate = gates.open("reader");
    return { gate, store: meteredStore(plain, gate) };
  };
  return { budget, reserved, open };
}

test("a read reserves what it may bring before it begins, and then holds what it brought until it is released", async () => {
  const { budget, reserved, open } = await openMetered(100_000);
  const { gate, store } = open();
  await store.read(keyRange("k/1"));
  expect(reserved).toEqual([limits.valueBytesMax]);
  expect(budget.usedBytes).toBe(gate.heldBytes);
  expect(gate.heldBytes).toBeGreaterThanOrEqual(100_000);
  expect(gate.heldBytes).toBeLessThan(limits.valueBytesMax);
  gate.release();
  expect(budget.usedBytes).toBe(0);
});

test("a list reserves as much as a list can bring at first, and less when lists turn out small", async () => {
  const { reserved, open } = await openMetered(10);
  for (let i = 0; i < 300; i += 1) {
    const { gate, store } = open();
    await store.read(all, { limit: 16 });
    gate.release();
  }
  expect(reserved[0]).toBe(16 * limits.valueBytesMax);
  expect(reserved.at(-1)).toBe(limits.valueBytesMax);
});

test("lists that turn out large are expected to be large from then on", async () => {
  const { reserved, open } = await openMetered(500_000);
  for (let i = 0; i < 3; i += 1) {
    const { gate, store } = open();
    await store.read(all, { limit: 16 });
    gate.release();
  }
  expect(reserved).toEqual([16, 16, 16].map((values) => values * limits.valueBytesMax));
});

test("reads without values reserve nothing; whoever begins to wait holds nothing any more", async () => {
  const { budget, reserved, open } = await openMetered(100_000);
  const { gate, store } = open();
  await store.read(all, { values: false });
  expect(reserved).toEqual([0]);
  await store.read(all, { limit: 5 });
  expect(gate.heldBytes).toBeGreaterThan(500_000);
  store.watch(all, 0, new AbortController().signal);
  expect([gate.heldBytes, budget.usedBytes]).toEqual([0, 0]);
});

test("a read that fails, and one whose caller is gone, leave nothing held", async () => {
  const { budget, open } = await openMetered(10);
  const { gate, store } = open();
  await expect(store.read(all, { limit: 0 })).rejects.toThrow("limit");
  expect(budget.usedBytes).toBe(0);
  gate.release();
  await expect(store.read(all)).rejects.toMatchObject({ code: "cancelled" });
  expect(budget.usedBytes).toBe(0);
});
