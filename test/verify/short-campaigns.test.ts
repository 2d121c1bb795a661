import { describe, expect, test } from "vitest";
import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { CampaignContext, CampaignResult } from "../../src/verify/campaign.ts";
import { atomicity } from "../../src/verify/campaigns/atomicity.ts";
import { effectsOnce } from "../../src/verify/campaigns/effects.ts";
import { expiring } from "../../src/verify/campaigns/expiring.ts";
import { fencing } from "../../src/verify/campaigns/fencing.ts";
import { handovers } from "../../src/verify/campaigns/handovers.ts";
import { increments } from "../../src/verify/campaigns/increments.ts";
import { killNine } from "../../src/verify/campaigns/kill-nine.ts";
import { oneWinner } from "../../src/verify/campaigns/one-winner.ts";
import { retrySafe } from "../../src/verify/campaigns/retry.ts";
import { watching } from "../../src/verify/campaigns/watching.ts";
import { readWhole } from "../../src/verify/read-whole.ts";
import { faultsIn, openCampaign } from "../support/campaign.ts";
import { checkLinearizable } from "../support/checkers/linearizable.ts";
import { sharedEngines } from "../support/engines.ts";
import { mixedLoad } from "../support/mixed-load.ts";

/** One short campaign per guarantee, with real processes. The long ones are the `*.campaign.ts` beside the code they test. */

interface ShortCampaign {
  readonly guarantees: string;
  readonly run: (context: CampaignContext) => Promise<CampaignResult>;
  /** A figure that must not be 0: otherwise nothing was shown. */
  readonly shows: string;
  /** Runs on every engine. The others run on one: what they show is in the conformance suite of each engine too, and in the long campaigns. */
  readonly everywhere?: boolean;
}

const campaigns: readonly ShortCampaign[] = [
  { guarantees: "G1, G4, G5, G11", run: (context) => killNine(context, { kills: 3, workers: 2 }), shows: "revisions", everywhere: true },
  { guarantees: "G3", run: (context) => increments(context, { workers: 3, times: 8 }), shows: "increments" },
  { guarantees: "G5", run: (context) => atomicity(context, { forMs: 50, kills: 1 }), shows: "looks" },
  { guarantees: "G6", run: (context) => expiring(context, { forMs: 100 }), shows: "entries" },
  { guarantees: "G7", run: (context) => fencing(context, { takeOvers: 2, crews: 1, leasesPerCrew: 2 }), shows: "stale_writes_refused", everywhere: true },
  { guarantees: "G8, one winner", run: (context) => oneWinner(context, { racers: 3, runs: 5 }), shows: "winners" },
  { guarantees: "G8, handed over", run: (context) => handovers(context, { runs: 1, steps: 3, inParallel: 1 }), shows: "hand_overs" },
  { guarantees: "G20, G21, G22", run: (context) => effectsOnce(context, { runs: 1, effects: 3, inParallel: 1 }), shows: "performed" },
  { guarantees: "G9", run: (context) => retrySafe(context, { cuts: 2, lines: 1 }), shows: "sent_again", everywhere: true },
  { guarantees: "G10", run: (context) => watching(context, { lives: 2, writers: 1 }), shows: "revisions_seen" },
];

for (const on of sharedEngines)
  describe(`short campaigns on ${on.name}`, () => {
    for (const { guarantees, run, shows } of campaigns.filter(({ everywhere = false }) => everywhere || !on.isServer))
      test(guarantees, async () => {
        const { violations, figures } = await run(await openCampaign({ on }));
        expect(violations).toEqual([]);
        expect(figures[shows]).toBeGreaterThan(0);
      });

    test("G2", async () => {
      const url = await on.freshUrl();
      await using one = await openEngine(url);
      await using two = await openEngine(url);
      const stores = [one, two, one, two].map((engine) => openNamespaceStore(engine, "shared", systemClock));
      const calls = (await Promise.all(stores.map((store, i) => mixedLoad(store, `client ${i}`, i + 1, 40)))).flat();
      const { rows } = await readWhole(stores[0] as (typeof stores)[number]);
      expect(await checkLinearizable({ calls, rows })).toEqual([]);
      expect(calls.some((call) => call.kind === "commit" && !call.result.ok)).toBe(true);
    });
  });

// Neither the faults nor the audits know the engine: once is enough.
describe("a short campaign catches", () => {
  test("an engine that drops checks: increments that overtook each other (G3)", async () => {
    const context = await openCampaign({ fault: "metCounters", meeting: 2 });
    expect(faultsIn(await increments(context, { workers: 2, times: 3 }))).toContain("stale_increment");
  });

  test("an engine that drops checks: several winners of a claim (G8)", async () => {
    const context = await openCampaign({ fault: "metClaims", meeting: 2 });
    expect(faultsIn(await oneWinner(context, { racers: 2, runs: 2 }))).toContain("several_winners");
  });

  test("an engine that drops checks: a stale holder that writes on (G7)", async () => {
    const context = await openCampaign({ fault: "replacedHolder" });
    expect(faultsIn(await fencing(context, { takeOvers: 1, crews: 1, leasesPerCrew: 1 }))).toContain("stale_write_accepted");
  });

  test("an engine that drops checks: effects that are begun again (G20)", async () => {
    const context = await openCampaign({ fault: "droppedChecks" });
    expect(faultsIn(await effectsOnce(context, { runs: 1, effects: 3, inParallel: 1 }))).toEqual(expect.arrayContaining(["begun_again_without_a_word", "performed_twice"]));
  });

  test("an engine that loses a part of a commit (G5)", async () => {
    const context = await openCampaign({ fault: "halfCommits" });
    expect(faultsIn(await atomicity(context, { forMs: 50, kills: 0 }))).toContain("part_missing");
  });

  test("an engine that splits commits in two: readers that see a mixture (G5)", async () => {
    const context = await openCampaign({ fault: "seenHalves", meeting: 1 });
    expect(faultsIn(await atomicity(context, { forMs: 50, kills: 0 }))).toContain("part_differs");
  });

  test("an engine that splits commits in two: a log that has them so (G5)", async () => {
    const context = await openCampaign({ fault: "tornCommits" });
    expect(faultsIn(await killNine(context, { kills: 4, workers: 1 }))).toContain("commit_torn");
  });

  test("an engine whose entries end early (G6)", async () => {
    const context = await openCampaign({ fault: "shortLives" });
    expect(faultsIn(await expiring(context, { forMs: 50 }))).toContain("other_time");
  });

  test("a watch that misses revisions (G10)", async () => {
    const context = await openCampaign({ fault: "lostLogRecords" });
    expect(faultsIn(await watching(context, { lives: 3, writers: 1 }))).toContain("missing");
  });

  test("an engine that answers before it commits (G1)", async () => {
    const context = await openCampaign({ fault: "answerBeforeCommit" });
    expect(faultsIn(await killNine(context, { kills: 4, workers: 1 }))).toSatisfy(
      (faults: readonly string[]) => faults.includes("acknowledged_commit_missing") || faults.includes("acknowledged_commit_differs"),
    );
  });

  test("a log that lost a record (G4, G11)", async () => {
    const context = await openCampaign({ auditorFault: "lostLogRecords" });
    expect(faultsIn(await killNine(context, { kills: 4, workers: 2 }))).toEqual(expect.arrayContaining(["acknowledged_commit_missing", "revision_gap"]));
  });

  test("an engine that forgets request keys (G9)", async () => {
    const context = await openCampaign({ fault: "forgottenRequestKeys" });
    expect(faultsIn(await retrySafe(context, { cuts: 2, lines: 1 }))).toEqual(expect.arrayContaining(["effect_twice", "answers_differ"]));
  });
});
