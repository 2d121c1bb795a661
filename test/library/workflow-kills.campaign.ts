import { describe, expect, test } from "vitest";
import { sharedEngines } from "../support/engines.ts";
import { scaled } from "../support/scale.ts";
import type { PoolResult } from "./workflow-pool.ts";
import { claimMs, idleMs, runPool } from "./workflow-pool.ts";

const items = scaled(1_000, 60);
const steps = 5;

for (const on of sharedEngines)
  describe(`workflows whose workers are killed at random on ${on.name}`, () => {
    test(`${items} items × ${steps} steps: each effect once, none skipped, taken over within the claim time`, async () => {
      const kills = scaled(60, 8);
      const result = await runPool({ url: await on.freshUrl(), items, steps, workers: 5, kills });
      console.info(`workflows on ${on.name}: ${summary(result)}`);
      expect({ doubled: result.doubled, skipped: result.skipped, notDone: result.notDone }).toEqual({ doubled: [], skipped: [], notDone: [] });
      expect(result.effects).toBe(items * steps);
      // A campaign in which nobody died in the middle of something proves nothing.
      expect(result.takeOvers.length).toBeGreaterThan(0);
      expect(result.unknown).toBeGreaterThan(0);
      // The claim's time, a rest between two looks for work, and the run that the next free worker has in hand.
      for (const { ms, pace } of result.takeOvers) expect(ms).toBeLessThan((claimMs + idleMs + 1_000) * pace);
    });
  });

describe("the campaign sees", () => {
  const [on] = sharedEngines;
  test.each(["record after the effect", "retry what is unknown"] as const)("workers that %s", async (fault) => {
    const result = await runPool({ url: await (on as NonNullable<typeof on>).freshUrl(), items: 60, steps, workers: 5, kills: 12, fault });
    expect(result.doubled.length).toBeGreaterThan(0);
  });
});

const summary = ({ kills, effects, unknown, doubled, skipped, takeOvers }: PoolResult): string =>
  `${kills} kills, ${effects} effects, ${doubled.length} doubled, ${skipped.length} skipped, ${unknown} unknown and resolved, ${takeOvers.length} take-overs, the longest ${takeOvers[0]?.ms.toFixed(0)} ms at pace ${takeOvers[0]?.pace.toFixed(1)}`;
