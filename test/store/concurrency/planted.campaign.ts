import { describe, expect, test } from "vitest";
import { handovers } from "../../../src/verify/campaigns/handovers.ts";
import { faultsIn, openCampaign } from "../../support/campaign.ts";

// What only a campaign can catch; the rest is in test/verify/short-campaigns.test.ts. Neither the faults nor the audits know the driver: once, on this Node, is enough.

describe("claims on an engine that drops checks", () => {
  test("are seen to be written to by the replaced worker", async () => {
    const context = await openCampaign({ fault: "droppedChecks" });
    const seen = new Set<string>();
    // Only a worker that was stopped between its read and its commit shows the fault: a few more tries make that certain enough.
    for (let attempt = 0; attempt < 12 && !seen.has("replaced_worker_wrote"); attempt += 1)
      for (const fault of faultsIn(await handovers({ ...context, namespace: `attempt-${attempt}` }, { runs: 4, steps: 9, inParallel: 4 }))) seen.add(fault);
    expect(seen).toContain("replaced_worker_wrote");
  });
});
