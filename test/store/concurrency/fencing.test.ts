import { describe, expect, test } from "vitest";
import { fencing } from "../../../src/verify/campaigns/fencing.ts";
import { faultsIn, openCampaign, runAndPrint } from "../../support/campaign.ts";

describe("holders stopped past their time and then continued (G7)", () => {
  test("have every stale write refused in 1,000 take-overs", { timeout: 180_000 }, async () => {
    const context = await openCampaign();
    const result = await runAndPrint("fencing", () => fencing(context, { takeOvers: 1_000, crews: 2, leasesPerCrew: 10 }));
    expect(result.violations).toEqual([]);
    expect(result.figures.take_overs).toBeGreaterThanOrEqual(1_000);
    expect(result.figures.stale_writes_refused).toBeGreaterThanOrEqual(1_000);
    expect(result.figures.guarded_writes_accepted).toBeGreaterThan(100);
  });

  test("are seen to write on when the engine drops checks", { timeout: 60_000 }, async () => {
    const context = await openCampaign({ fault: "droppedChecks" });
    expect(faultsIn(await fencing(context, { takeOvers: 20, crews: 1, leasesPerCrew: 5 }))).toContain("stale_write_accepted");
  });
});
