import { describe, expect, test } from "vitest";
import { retrySafe } from "../../src/verify/campaigns/retry.ts";
import { faultsIn, openCampaign, runAndPrint } from "../support/campaign.ts";

describe("requests whose answer was cut off (G9)", () => {
  test("have exactly one effect and one answer, however often they are sent again", { timeout: 120_000 }, async () => {
    const context = await openCampaign();
    const result = await runAndPrint("retry", () => retrySafe(context, { cuts: 120, lines: 4 }));
    expect(result.violations).toEqual([]);
    expect(result.figures.cut_before_the_answer).toBeGreaterThan(20);
    expect(result.figures.effects).toBe(result.figures.requests);
  });

  test("are seen to have two when the engine forgets request keys", { timeout: 60_000 }, async () => {
    const context = await openCampaign({ fault: "forgottenRequestKeys" });
    expect(faultsIn(await retrySafe(context, { cuts: 4, lines: 2 }))).toEqual(expect.arrayContaining(["effect_twice", "answers_differ"]));
  });
});
