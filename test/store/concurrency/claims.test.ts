import { describe, expect, test } from "vitest";
import { handovers } from "../../../src/verify/campaigns/handovers.ts";
import { oneWinner } from "../../../src/verify/campaigns/one-winner.ts";
import { faultsIn, openCampaign, runAndPrint } from "../../support/campaign.ts";

describe("claims raced for by many processes (G8)", () => {
  test("have exactly one winner each: 32 racers, 500 runs", { timeout: 180_000 }, async () => {
    const context = await openCampaign();
    const result = await runAndPrint("claims", () => oneWinner(context, { racers: 32, runs: 500 }));
    expect(result.violations).toEqual([]);
    expect(result.figures).toMatchObject({ runs: 500, winners: 500 });
    // One that always wins would mean that there was no race.
    expect(result.figures.different_winners).toBeGreaterThan(8);
  });

  test("are seen to have several when the engine drops checks", { timeout: 60_000 }, async () => {
    const context = await openCampaign({ fault: "droppedChecks" });
    expect(faultsIn(await oneWinner(context, { racers: 8, runs: 40 }))).toContain("several_winners");
  });
});

describe("a run whose workers are killed or stopped at every step (G8)", () => {
  test("is resumed from the last acknowledged step, and the replaced worker changes nothing", { timeout: 180_000 }, async () => {
    const context = await openCampaign();
    const result = await runAndPrint("hand-over", () => handovers(context, { runs: 12, steps: 12, inParallel: 4 }));
    expect(result.violations).toEqual([]);
    expect(result.figures.killed).toBeGreaterThan(50);
    expect(result.figures.stopped_refused).toBeGreaterThan(20);
  });

  test("is seen to be written to by the replaced worker when the engine drops checks", { timeout: 120_000 }, async () => {
    const context = await openCampaign({ fault: "droppedChecks" });
    const seen = new Set<string>();
    // Only a worker that was stopped between its read and its commit shows the fault: a few more tries make that certain enough.
    for (let attempt = 0; attempt < 4 && !seen.has("replaced_worker_wrote"); attempt += 1)
      for (const fault of faultsIn(await handovers({ ...context, namespace: `attempt-${attempt}` }, { runs: 4, steps: 9, inParallel: 4 }))) seen.add(fault);
    expect(seen).toContain("replaced_worker_wrote");
  });
});
