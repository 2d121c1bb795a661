import { describe, expect, test } from "vitest";
import { retrySafe } from "../../src/verify/campaigns/retry.ts";
import { openCampaign, runAndPrint } from "../support/campaign.ts";
import { sharedEngines } from "../support/engines.ts";
import { scaled } from "../support/scale.ts";

for (const on of sharedEngines)
  describe(`requests whose answer was cut off (G9) on ${on.name}`, () => {
    const cuts = scaled(on.isServer ? 40 : 120, 12);

    test(`have exactly one effect and one answer, however often they are sent again, after ${cuts} cuts`, async () => {
      const context = await openCampaign({ on });
      const result = await runAndPrint(`retry on ${on.name}`, () => retrySafe(context, { cuts, lines: 4 }));
      expect(result.violations).toEqual([]);
      expect(result.figures.cut_before_the_answer).toBeGreaterThan(cuts / 6);
      expect(result.figures.effects).toBe(result.figures.requests);
    });
  });
