import { describe, expect, test } from "vitest";
import { fencing } from "../../../src/verify/campaigns/fencing.ts";
import { openCampaign, runAndPrint } from "../../support/campaign.ts";
import { sharedEngines } from "../../support/engines.ts";
import { scaled } from "../../support/scale.ts";

for (const on of sharedEngines)
  describe(`holders stopped past their time and then continued (G7) on ${on.name}`, () => {
    const takeOvers = scaled(on.isServer ? 340 : 1_000, 20);

    test(`have every stale write refused in ${takeOvers} take-overs`, async () => {
      const context = await openCampaign({ on });
      const result = await runAndPrint(`fencing on ${on.name}`, () => fencing(context, { takeOvers, crews: 2, leasesPerCrew: 10 }));
      expect(result.violations).toEqual([]);
      expect(result.figures.take_overs).toBeGreaterThanOrEqual(takeOvers);
      expect(result.figures.stale_writes_refused).toBeGreaterThanOrEqual(takeOvers);
      expect(result.figures.guarded_writes_accepted).toBeGreaterThan(takeOvers / 10);
    });
  });
