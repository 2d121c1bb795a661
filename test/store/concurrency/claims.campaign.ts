import { describe, expect, test } from "vitest";
import { handovers } from "../../../src/verify/campaigns/handovers.ts";
import { oneWinner } from "../../../src/verify/campaigns/one-winner.ts";
import { elsewhere, openCampaign, runAndPrint } from "../../support/campaign.ts";
import { sharedEngines } from "../../support/engines.ts";
import { scaled } from "../../support/scale.ts";

for (const on of sharedEngines)
  describe(`claims raced for by many processes (G8) on ${on.name}`, () => {
    const runs = scaled(on.isServer ? 170 : 500, 50);

    test(`have exactly one winner each: 32 racers, ${runs} runs`, async () => {
      const context = await openCampaign({ on });
      const result = await runAndPrint(`claims on ${on.name}`, () => oneWinner(context, { racers: 32, runs }));
      expect(result.violations).toEqual([]);
      expect(result.figures).toMatchObject({ runs, winners: runs });
      // One that always wins would mean that there was no race.
      expect(result.figures.different_winners).toBeGreaterThan(8);
    });
  });

for (const on of sharedEngines)
  describe(`a run whose workers are killed or stopped at every step (G8) on ${on.name}`, () => {
    const size = on.isServer ? { runs: scaled(4, 2), steps: 9, inParallel: 4 } : { runs: scaled(12, 2), steps: 12, inParallel: 4 };

    test("is resumed from the last acknowledged step, and the replaced worker changes nothing", async () => {
      const context = await openCampaign({ on });
      const legs = size.runs * size.steps;
      let seen = { killed: 0, refused: 0 };
      // A worker that has ended its run before the kill reaches it shows nothing: again, until enough were met in the middle.
      for (let attempt = 0; seen.killed <= legs / 3 || seen.refused <= legs / 8; attempt += 1) {
        const { violations, figures } = await runAndPrint(`hand-over on ${on.name}`, () => handovers(elsewhere(context, attempt), size));
        expect(violations).toEqual([]);
        seen = { killed: seen.killed + (figures.killed ?? 0), refused: seen.refused + (figures.stopped_refused ?? 0) };
      }
    });
  });
