import { describe, expect, test } from "vitest";
import { handovers } from "../../../src/verify/campaigns/handovers.ts";
import { faultsIn, openCampaign } from "../../support/campaign.ts";

// What only a campaign can catch; the rest is in test/verify/short-campaigns.test.ts. Neither the faults nor the audits know the driver: once, on this Node, is enough.

describe("claims on an engine that drops checks", () => {
  /** Long enough that a claim lapses only because its worker was stopped or killed. */
  const ttlMs = 2_000;

  test("are seen to be written to by the replaced worker", async () => {
    let found: readonly string[] = [];
    // A worker that was stopped before it had read its claim is refused for what it reads: again, until one was stopped between that and its commit.
    while (!found.includes("replaced_worker_wrote"))
      found = faultsIn(await handovers(await openCampaign({ fault: "replacedWorker" }), { runs: 1, steps: 4, inParallel: 1, ttlMs }));
    expect(found).toContain("replaced_worker_wrote");
  });
});
