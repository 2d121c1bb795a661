import { describe, expect, test } from "vitest";
import { manualClock } from "./manual-clock.ts";

describe("the manual clock", () => {
  test("stands still until it is moved, forwards or backwards", () => {
    const clock = manualClock(1_000);
    expect(clock.nowMs()).toBe(1_000);
    clock.advance(5);
    expect(clock.nowMs()).toBe(1_005);
    clock.set(10);
    expect(clock.nowMs()).toBe(10);
  });

  test("wakes sleepers when their time has come, in the order of their times", async () => {
    const clock = manualClock();
    const woken: number[] = [];
    const sleeping = [30, 10, 20].map((ms) => clock.sleep(ms).then(() => woken.push(ms)));
    clock.advance(9);
    await clock.settle();
    expect(woken).toEqual([]);
    clock.advance(11);
    await clock.settle();
    expect([woken, clock.sleeping()]).toEqual([[10, 20], 1]);
    clock.advance(10);
    await Promise.all(sleeping);
    expect(woken).toEqual([10, 20, 30]);
  });

  test("ends a sleep at once when its signal is aborted", async () => {
    const clock = manualClock();
    const stop = new AbortController();
    const sleeping = clock.sleep(1_000, stop.signal);
    stop.abort();
    await sleeping;
    await clock.sleep(1_000, stop.signal);
    expect(clock.sleeping()).toBe(0);
  });

  test("moves step by step through those who sleep again and again", async () => {
    const clock = manualClock(0);
    const seen: number[] = [];
    void (async () => {
      for (;;) {
        await clock.sleep(10);
        seen.push(clock.nowMs());
      }
    })();
    await clock.advanceBy(35);
    expect([seen, clock.nowMs()]).toEqual([[10, 20, 30], 35]);
  });
});
