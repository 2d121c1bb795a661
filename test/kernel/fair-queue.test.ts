import { expect, test } from "vitest";
import { FairQueue } from "../../src/kernel/fair-queue.ts";

/** Work takes the time it says, by a clock that nothing else moves. */
function openQueue({ sliceMs = 8 } = {}) {
  let nowMs = 0;
  let turns = 0;
  const served: string[] = [];
  const queue = new FairQueue({
    turn: (then) =>
      void setImmediate(() => {
        turns += 1;
        then();
      }),
    nowMs: () => nowMs,
    sliceMs,
  });
  const work = async (owner: string, ms: number, parts = 1): Promise<void> => {
    const turn = queue.enter(owner);
    if (turn !== undefined) await turn;
    for (let part = 0; part < parts; part += 1) {
      const pause = part === 0 ? undefined : queue.pause(owner);
      if (pause !== undefined) await pause;
      nowMs += ms;
      served.push(owner);
    }
  };
  return { queue, served, work, now: () => nowMs, turns: () => turns };
}

const countOf = (served: readonly string[], owner: string): number => served.filter((each) => each === owner).length;

test("a request on an idle server starts at once", () => {
  const { queue } = openQueue();
  expect(queue.enter("only")).toBeUndefined();
});

test("a cheap request of one owner is not behind all the expensive ones of another", async () => {
  const { served, work } = openQueue();
  const hostile = Array.from({ length: 50 }, () => work("hostile", 100));
  await work("quiet", 1);
  const before = countOf(served, "hostile");
  await Promise.all(hostile);
  expect(before).toBeLessThanOrEqual(2);
  expect(countOf(served, "hostile")).toBe(50);
});

test("owners share time, not calls: one whose calls cost ten times as much gets a tenth of them", async () => {
  const { served, work } = openQueue();
  const all = [...Array.from({ length: 20 }, () => work("dear", 100)), ...Array.from({ length: 200 }, () => work("cheap", 10))];
  while (countOf(served, "cheap") < 100) await new Promise((resolve) => setImmediate(resolve));
  expect(countOf(served, "dear")).toBeGreaterThanOrEqual(8);
  expect(countOf(served, "dear")).toBeLessThanOrEqual(13);
  await Promise.all(all);
});

test("an owner that was quiet for long has saved nothing up", async () => {
  const { served, work } = openQueue();
  await work("late", 50);
  for (let i = 0; i < 20; i += 1) await work("busy", 50);
  served.length = 0;
  const all = [...Array.from({ length: 10 }, () => work("late", 50)), ...Array.from({ length: 10 }, () => work("busy", 50))];
  await Promise.all(all);
  expect(countOf(served.slice(0, 10), "busy")).toBeGreaterThanOrEqual(4);
});

test("long work is cut where it pauses, and others are served in between", async () => {
  const { served, work } = openQueue();
  const long = work("long", 5, 100);
  await new Promise((resolve) => setImmediate(resolve));
  await work("quiet", 1);
  expect(countOf(served, "long")).toBeLessThan(10);
  await long;
  expect(countOf(served, "long")).toBe(100);
});

test("work within a slice is not cut: cheap requests that come together share a turn", async () => {
  const { work, turns } = openQueue();
  await work("one", 0.01);
  const before = turns();
  await Promise.all(Array.from({ length: 200 }, () => work("one", 0.01)));
  expect(turns() - before).toBeLessThan(20);
});

test("the event loop turns when a slice is used up", async () => {
  const { work, turns } = openQueue();
  const before = turns();
  await Promise.all(Array.from({ length: 30 }, () => work("one", 10)));
  expect(turns() - before).toBeGreaterThanOrEqual(29);
});

test("many owners come and go, and every request is served", async () => {
  const { queue, served, work } = openQueue();
  await Promise.all(Array.from({ length: 3_000 }, (_, i) => work(`owner ${i}`, 1)));
  expect([served.length, queue.waiting]).toEqual([3_000, 0]);
});
