import { expect, test } from "vitest";
import { oneByOne } from "../../src/verify/campaigns/one-by-one.ts";
import { faultsIn, openCampaign } from "../support/campaign.ts";
import { sharedEngines } from "../support/engines.ts";
import type { Fault } from "../support/faulty-engine.ts";
import { faults } from "../support/faulty-engine.ts";

/** What the campaign, which is the same with and without --quick, finds in one round. */
const finds = {
  answerBeforeCommit: "acknowledged_commit_missing",
  droppedChecks: "stale_check_passed",
  forgottenRequestKeys: "effect_twice",
  tornCommits: "commit_torn",
  halfCommits: "commit_torn",
  lostLogRecords: "revision_gap",
  shortLives: "lived_too_short",
  restartedVersions: "version_given_again",
} as const satisfies Partial<Record<Fault, string>>;

/**
 * How long a call takes is not what a store promises, and this campaign never loses an answer that a driver could ask for again. The others drop checks,
 * as `droppedChecks` does, or split commits, as `tornCommits` does, where several processes meet.
 */
const elsewhere: readonly Fault[] = ["resentCommits", "endlessReads", "lateReads", "metCounters", "metClaims", "overtaken", "replacedHolder", "replacedWorker", "seenHalves"];

test("every planted fault is among those that are looked for, or of another kind", () => {
  expect([...Object.keys(finds), ...elsewhere].sort()).toEqual(Object.keys(faults).sort());
});

test.each(Object.entries(finds) as [Fault, string][])("one round finds %s without luck", async (fault, shown) => {
  const context = await openCampaign({ fault });
  expect(faultsIn(await oneByOne(context, { workers: 1 }))).toContain(shown);
});

test.each(sharedEngines)("a store without a fault passes on $name", async (engine) => {
  expect(await oneByOne(await openCampaign({ on: engine }), { workers: 1 })).toEqual({ figures: { processes: 1, steps: 6 }, violations: [] });
});
