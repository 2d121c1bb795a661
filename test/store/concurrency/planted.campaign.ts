import { describe, expect, test } from "vitest";
import { fencing } from "../../../src/verify/campaigns/fencing.ts";
import { handovers } from "../../../src/verify/campaigns/handovers.ts";
import { oneWinner } from "../../../src/verify/campaigns/one-winner.ts";
import { elsewhere, faultsIn, openCampaign, shows, untilFound } from "../../support/campaign.ts";

// What the campaigns of this folder must catch. Neither the faults nor the audits know the driver: once, on this Node, is enough.

describe("claims on an engine that drops checks", () => {
  test("are seen to have several winners", async () => {
    const context = await openCampaign({ fault: "droppedChecks" });
    const race = (attempt: number) => oneWinner(elsewhere(context, attempt), { racers: 8, runs: 40 });
    expect(await untilFound(race, shows("several_winners"))).toContain("several_winners");
  });

  test("are seen to be written to by the replaced worker", async () => {
    const context = await openCampaign({ fault: "droppedChecks" });
    const seen = new Set<string>();
    // Only a worker that was stopped between its read and its commit shows the fault: a few more tries make that certain enough.
    for (let attempt = 0; attempt < 12 && !seen.has("replaced_worker_wrote"); attempt += 1)
      for (const fault of faultsIn(await handovers({ ...context, namespace: `attempt-${attempt}` }, { runs: 4, steps: 9, inParallel: 4 }))) seen.add(fault);
    expect(seen).toContain("replaced_worker_wrote");
  });
});

test("holders are seen to write on when the engine drops checks", async () => {
  const context = await openCampaign({ fault: "droppedChecks" });
  const takeOver = (attempt: number) => fencing(elsewhere(context, attempt), { takeOvers: 20, crews: 1, leasesPerCrew: 5 });
  expect(await untilFound(takeOver, shows("stale_write_accepted"))).toContain("stale_write_accepted");
});
