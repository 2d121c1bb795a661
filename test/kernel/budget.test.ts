import { expect, test } from "vitest";
import { Budget } from "../../src/kernel/budget.ts";

/** What was let in so far, by name, in order. */
function openBudget(...args: ConstructorParameters<typeof Budget>) {
  const budget = new Budget(...args);
  const entered: string[] = [];
  const hold = (name: string, bytes: number, owner?: string) => {
    const holding = budget.open(owner);
    const room = holding.reserve(bytes);
    if (room === undefined) entered.push(name);
    else void room.then(() => entered.push(name));
    return holding;
  };
  return { budget, entered, hold, settle: () => new Promise((resolve) => setImmediate(resolve)) };
}

test("reserves at once while there is room, and lets the next in when bytes are given back", async () => {
  const { budget, entered, hold, settle } = openBudget(100);
  const first = hold("first", 60);
  const second = hold("second", 60);
  hold("third", 10);
  await settle();
  expect([entered, budget.usedBytes, budget.waiting]).toEqual([["first"], 60, 2]);
  first.release();
  await settle();
  expect([entered, budget.usedBytes, budget.waiting]).toEqual([["first", "second", "third"], 70, 0]);
  second.release();
  expect(budget.usedBytes).toBe(10);
});

test("a need above the maximum waits until nothing else is held", async () => {
  const { entered, hold, settle } = openBudget(100);
  const small = hold("small", 1);
  hold("huge", 1_000);
  await settle();
  expect(entered).toEqual(["small"]);
  small.release();
  await settle();
  expect(entered).toEqual(["small", "huge"]);
});

test("an owner's share is its own: one that wants everything does not keep others waiting", async () => {
  const { budget, entered, hold, settle } = openBudget(100, { ownerBytesMax: 40 });
  for (let i = 0; i < 5; i += 1) hold(`hog ${i}`, 20, "hog");
  hold("other", 30, "other");
  await settle();
  expect([entered, budget.usedBytes, budget.waiting]).toEqual([["hog 0", "hog 1", "other"], 70, 3]);
});

test("one that holds nothing is admitted although others hold everything, up to the reserve", async () => {
  const { entered, hold, settle } = openBudget(100, { ownerBytesMax: 100, reserveBytesMax: 10 });
  hold("hog", 100, "hog");
  hold("more", 1, "hog");
  hold("other", 8, "other");
  hold("too much", 8, "third");
  await settle();
  expect(entered).toEqual(["hog", "other"]);
});

test("an answer smaller than reserved frees room, a larger one keeps others out", async () => {
  const { budget, entered, hold, settle } = openBudget(100);
  const list = hold("list", 90);
  hold("next", 50);
  list.change(-80);
  await settle();
  expect([entered, budget.usedBytes]).toEqual([["list", "next"], 60]);
  list.change(500);
  hold("last", 1);
  await settle();
  expect(entered).toEqual(["list", "next"]);
  list.release();
  await settle();
  expect([entered, budget.usedBytes]).toEqual([["list", "next", "last"], 51]);
});

test("holdings that all want to grow do not wait for each other for ever: one of an owner grows, then the next", async () => {
  const { budget, hold, settle } = openBudget(100, { ownerBytesMax: 100 });
  const holdings = [hold("a", 50, "one"), hold("b", 50, "one")];
  const grown: number[] = [];
  for (const [i, holding] of holdings.entries()) {
    const room = holding.reserve(50);
    if (room === undefined) grown.push(i);
    else void room.then(() => grown.push(i));
  }
  await settle();
  expect([grown, budget.usedBytes]).toEqual([[0], 150]);
  holdings[0]?.release();
  await settle();
  expect([grown, budget.usedBytes]).toEqual([[0, 1], 100]);
});

test("as many of one owner wait as the limit says; one more is refused, and others are not", () => {
  const { hold } = openBudget(10, { ownerWaitingMax: 2 });
  hold("first", 10, "hog");
  hold("waits", 10, "hog");
  hold("waits too", 10, "hog");
  expect(() => hold("refused", 10, "hog")).toThrow(expect.objectContaining({ code: "unavailable" }));
  expect(() => hold("other", 10, "other")).not.toThrow();
});

test("parts of a byte leave nothing behind that a need above the maximum would wait for", async () => {
  const { budget, entered, hold, settle } = openBudget(100);
  const holdings = [0.1, 0.2, 0.7].map((bytes) => hold(String(bytes), 30 + bytes));
  for (const holding of holdings) holding.change(-20.3);
  hold("huge", 1_000.5);
  for (const holding of holdings) holding.release();
  await settle();
  expect([entered.at(-1), budget.waiting]).toEqual(["huge", 0]);
});

test("a holding that is released while it waits returns the bytes that it is then granted", async () => {
  const { budget, hold } = openBudget(100);
  const [growing, leaving] = [hold("growing", 50), hold("leaving", 50)];
  growing.reserve(10);
  const room = leaving.reserve(20);
  leaving.release();
  await room;
  leaving.release();
  growing.release();
  expect([budget.usedBytes, budget.waiting]).toEqual([0, 0]);
});
