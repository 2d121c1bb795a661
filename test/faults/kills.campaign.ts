import { describe, expect, test } from "vitest";
import { faultsIn, runAndPrint, showsLoss } from "../support/campaign.ts";
import type { EngineLoad } from "../support/engine-faults/engine-load.ts";
import { killAndAudit } from "../support/engine-faults/kill-engine.ts";
import { serversUnderTest, withDeadline } from "../support/engine-faults/servers-under-test.ts";
import { scaled } from "../support/scale.ts";

const deadlineMs = 2_000;
const kills = scaled(50, 5);

for (const { name, start } of serversUnderTest) {
  describe(`the engine's server killed under load (G1, G3, G4, G5, G9, G10, G19) on ${name}`, () => {
    test(`${kills} times and restarted loses nothing acknowledged, and serves again within 5 s`, async () => {
      await using server = await start();
      const isEnough = (load: EngineLoad): boolean => load.ended("outcome_unknown") > kills / 5 && load.resolved > 0;
      const options = { url: withDeadline(server.url, deadlineMs), deadlineMs, kills, isEnough };
      const result = await runAndPrint(`kill -9 of the server on ${name}`, () => killAndAudit(server, options));
      expect(result.violations).toEqual([]);
      // A campaign in which nothing was written proves nothing.
      expect(result.figures.commits_acknowledged).toBeGreaterThan(20 * kills);
    });

    test("shows an engine that answers before it commits", async () => {
      await using server = await start();
      const result = await killAndAudit(server, { url: withDeadline(server.url, deadlineMs), deadlineMs, kills: 3, fault: "answerBeforeCommit" });
      expect(faultsIn(result)).toSatisfy(showsLoss);
    });
  });
}
