import { describe, expect, test } from "vitest";
import { killNine } from "../../src/verify/campaigns/kill-nine.ts";
import { openCampaign, runAndPrint } from "../support/campaign.ts";
import { sharedEngines } from "../support/engines.ts";
import { scaled } from "../support/scale.ts";

for (const on of sharedEngines)
  describe(`processes killed at random (G1, G4, G5, G11) on ${on.name}`, () => {
    const kills = scaled(on.isServer ? 100 : 300, 20);

    test(`lose nothing acknowledged, tear nothing, and leave history equal to state after ${kills} kills`, async () => {
      const context = await openCampaign({ on });
      const result = await runAndPrint(`kill -9 on ${on.name}`, () => killNine(context, { kills, workers: 6 }));
      expect(result.violations).toEqual([]);
      expect(result.figures.kills).toBeGreaterThanOrEqual(kills);
      // A campaign in which nothing was written, or nothing was cut, proves nothing.
      expect(result.figures.commits_acknowledged).toBeGreaterThan(kills);
      expect(result.figures.commits_unanswered).toBeGreaterThan(kills / 3);
    });
  });
