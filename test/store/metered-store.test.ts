import { expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { Budget } from "../../src/kernel/budget.ts";
import type { HoldfastError } from "../../src/kernel/errors.ts";
import { FairQueue } from "../../src/kernel/fair-queue.ts";
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
  reserved.length = 0;
  return { budget, reserved, open, plain, engine };
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
  const firstParts = reserved.filter((_, i) => i % (reserved.length / 3) === 0);
  expect(firstParts).toHaveLength(3);
  for (const bytes of firstParts) expect(bytes).toBeGreaterThan(8 * limits.valueBytesMax);
});

test("large values are read in parts, between which others are served, and are all of one revision", async () => {
  const { plain, reserved, open } = await openMetered(300_000);
  const { store, gate } = open();
  const written: Promise<unknown>[] = [];
  const { leave } = gate;
  // Between the parts somebody writes to a key of the last one and adds another.
  gate.leave = (entered, bytes) => {
    written.push(
      plain.commit({
        writer: "w",
        writes: [
          { op: "put", key: "k/9", value: "late" },
          { op: "put", key: "k/99", value: "late" },
        ],
      }),
    );
    return written.length > 2 ? leave.call(gate, entered, bytes) : written[0]?.then(() => leave.call(gate, entered, bytes));
  };
  const { entries, revision, more, rest } = await store.read(all);
  expect([entries.length, revision, more, rest]).toEqual([20, 20, false, undefined]);
  expect(new Set(entries.map(({ value }) => (value as string).length))).toEqual(new Set([300_000]));
  // Two values fill a part.
  expect(reserved).toHaveLength(10);
  await Promise.all(written);
});

test("parts keep to the limit, to the order and to what the caller wants at most", async () => {
  const { plain, open } = await openMetered(300_000);
  const { store } = open();
  const whole = await plain.read(all);
  const keys = whole.entries.map(({ key }) => key);
  const limited = await store.read(all, { limit: 5 });
  expect([limited.entries.map(({ key }) => key), limited.more]).toEqual([keys.slice(0, 5), true]);
  const reversed = await store.read([{ start: "k/", end: "k/3" }, { start: "k/3" }], { reverse: true });
  expect(reversed.entries.map(({ key }) => key)).toEqual(keys.toReversed());
  const short = await store.read(all, { charactersMax: 900_000 });
  // Nothing is read that the caller would not take.
  expect(short.entries.length).toBe(3);
  expect(short.more).toBe(false);
  const rest = await store.read(short.rest ?? []);
  expect([...short.entries, ...rest.entries].map(({ key }) => key)).toEqual(keys);
});

test("where the first part's revision is forgotten before the last part is read, the read begins again", async () => {
  const { engine, plain, open } = await openMetered(300_000);
  const { store, gate } = open();
  const { leave } = gate;
  let parts = 0;
  gate.leave = (entered, bytes) => {
    parts += 1;
    if (parts !== 1) return leave.call(gate, entered, bytes);
    return (async () => {
      for (const value of ["later", "late"]) await plain.commit({ writer: "w", writes: [{ op: "put", key: "k/9", value }] });
      while ((await engine.compact("test", { ageMs: 0, revisions: 1, tombstones: 0 }, 500)).more);
      await leave.call(gate, entered, bytes);
    })();
  };
  const { entries, revision } = await store.read(all);
  expect([entries.length, revision, entries.at(-1)?.value]).toEqual([20, 22, "late"]);
});

test("reads without values reserve nothing; a caller that begins to wait holds nothing any more", async () => {
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

test("a call whose caller goes away while it waits for its turn takes no memory any more", async () => {
  const budget = new Budget(1_000_000_000);
  const turns: (() => void)[] = [];
  let nowMs = 0;
  const queue = new FairQueue({ turn: (then) => void turns.push(then), nowMs: () => nowMs });
  const gates = new AnswerGates({ budget, queue });
  // Others are at work, so that the next read waits for its turn.
  expect(queue.pause("other")).toBeUndefined();
  nowMs += 100;
  const gate = gates.open("reader");
  const entered = Promise.resolve(gate.enter(1)).then(
    () => "entered",
    (error: HoldfastError) => error.code,
  );
  gate.release();
  for (let i = 0; i < 10; i += 1) {
    turns.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect([await entered, budget.usedBytes]).toEqual(["cancelled", 0]);
});
