import { describe, expect, test } from "vitest";
import type { Overview } from "../../../src/surfaces/dashboard/api.ts";
import { RememberedCounts } from "../../../src/surfaces/dashboard/remembered-counts.ts";
import { shareReads } from "../../../src/surfaces/dashboard/share-reads.ts";
import { openMemoryApi } from "./open-api.ts";

describe("many people looking at once", () => {
  test("cost two looks, and none of them is shown what was read before they asked", async () => {
    let reads = 0;
    const gates: (() => void)[] = [];
    const look = shareReads(async () => {
      const nth = ++reads;
      await new Promise<void>((resolve) => gates.push(resolve));
      return nth;
    });
    const first = look();
    const later = Array.from({ length: 50 }, look);
    gates.shift()?.();
    expect(await first).toBe(1);
    await expect.poll(() => gates.length).toBe(1);
    gates.shift()?.();
    expect(await Promise.all(later)).toEqual(Array.from({ length: 50 }, () => 2));
    const last = look();
    gates.shift()?.();
    expect([await last, reads]).toEqual([3, 3]);
  });

  test("keep reading after a failed read", async () => {
    let reads = 0;
    const look = shareReads(async () => {
      reads += 1;
      if (reads === 1) throw new Error("down");
      return reads;
    });
    const [first, second] = [look(), look()];
    await expect(first).rejects.toThrow("down");
    expect(await second).toBe(2);
  });

  test("see each other's changes in the overview at once", async () => {
    const api = openMemoryApi();
    for (let i = 1; i <= 20; i += 1) {
      const [overview] = await Promise.all([
        api.agent("state_set", { key: `k${i}`, value: i }).then(() => api.get<Overview>("/api/ns/team/overview")),
        api.get("/api/ns/team/overview"),
      ]);
      expect(overview.counts.keys).toBe(i);
    }
  });

  test("do not make a large store count all day long: a count that took long is remembered for a while, a fast one is not", async () => {
    const { base, clock } = openMemoryApi();
    let counted = 0;
    let tookMs = 50;
    const store = {
      ...base.store,
      count: async () => {
        clock.advance(tookMs);
        counted += 1;
        return counted;
      },
    };
    const counts = new RememberedCounts();
    const range = { start: "a" };
    const count = () => counts.count({ store, clock }, range);
    expect([await count(), await count()]).toEqual([1, 1]);
    clock.advance(399);
    expect(await count()).toBe(1);
    clock.advance(1);
    expect(await count()).toBe(2);
    tookMs = 0;
    clock.advance(400);
    expect([await count(), await count()]).toEqual([3, 4]);
    // However long it takes, nobody is shown a number older than a second.
    tookMs = 60_000;
    await count();
    clock.advance(1_000);
    expect(await count()).toBe(6);
  });

  test("learn of a failure, and the next one who asks counts again", async () => {
    const { base, clock } = openMemoryApi();
    let failing = true;
    const store = {
      ...base.store,
      count: async () => {
        clock.advance(10);
        if (failing) throw new Error("down");
        return 7;
      },
    };
    const counts = new RememberedCounts();
    await expect(counts.count({ store, clock }, { start: "" })).rejects.toThrow("down");
    failing = false;
    expect(await counts.count({ store, clock }, { start: "" })).toBe(7);
  });
});
