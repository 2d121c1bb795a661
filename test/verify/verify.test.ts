import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openEngine } from "../../src/engines/open-store.ts";
import { atomicity } from "../../src/verify/campaigns/atomicity.ts";
import { expiring } from "../../src/verify/campaigns/expiring.ts";
import { increments } from "../../src/verify/campaigns/increments.ts";
import { watching } from "../../src/verify/campaigns/watching.ts";
import type { Report } from "../../src/verify/report.ts";
import { ReportText } from "../../src/verify/report.ts";
import { runVerify } from "../../src/verify/verify.ts";
import { elsewhere, openCampaign, shows, untilFound, verifyWorker } from "../support/campaign.ts";
import { buildExecutable, startExecutable } from "../support/cli-process.ts";
import { engineNamed, sharedEngines } from "../support/engines.ts";

describe("holdfast verify", () => {
  let executable: Awaited<ReturnType<typeof buildExecutable>>;
  beforeAll(async () => {
    executable = await buildExecutable();
  });
  afterAll(() => executable.remove());

  for (const on of sharedEngines)
    test(`finds every guarantee kept on the user's own store, and leaves nothing in it, on ${on.name}`, { timeout: 180_000 }, async () => {
      const url = await on.freshUrl();
      const { code, stdout, stderr } = await startExecutable(executable.main, ["verify", "--quick", "--json", "--store", url]).finished;
      expect(stderr).toBe("");
      const report = JSON.parse(stdout) as Report;
      console.log(new ReportText().end(report));
      expect(report.guarantees.filter(({ passed }) => !passed)).toEqual([]);
      await using engine = await openEngine(url);
      expect({ code, passed: report.passed, engine: report.engine }).toEqual({ code: 0, passed: true, engine: engine.name });
      for (const { figures } of report.guarantees) expect(Object.keys(figures).length).toBeGreaterThan(0);
      expect(await engine.namespaces()).toEqual([]);
    });

  test("refuses a store that only one process can open", async () => {
    const { code, stderr } = await startExecutable(executable.main, ["verify", "--store", "memory:"]).finished;
    expect(code).toBe(2);
    expect(stderr).toMatch(/store: verify needs a store that several processes can open/);
  });

  test("names the guarantees that an engine breaks which drops checks", { timeout: 300_000 }, async () => {
    const verify = async (seed: number) => runVerify({ quick: true, worker: verifyWorker("droppedChecks"), storeUrl: await engineNamed("SQLite").freshUrl(), seed });
    const brokenIn = ({ guarantees }: Report) => guarantees.filter(({ passed }) => !passed).map(({ id }) => id);
    const wanted = ["G3", "G7", "G8"] as const;
    let report = await verify(1);
    // Only those who meet can show what is broken, and whether they do is chance: again, until they have.
    for (let seed = 2; seed <= 4 && !wanted.every((id) => brokenIn(report).includes(id)); seed += 1) report = await verify(seed);
    expect(report.passed).toBe(false);
    expect(brokenIn(report)).toEqual(expect.arrayContaining([...wanted]));
    expect(new ReportText().end(report)).toMatch(/FAIL {2}G3 /);
    expect(new ReportText().end(report)).toMatch(/Broken: G3, /);
  });

  test("counts a campaign that cannot be carried through as broken", { timeout: 120_000 }, async () => {
    const report = await runVerify({ quick: true, worker: { file: process.execPath, args: ["-e", "process.exit(3)"] } });
    expect(report.guarantees.map(({ passed }) => passed)).not.toContain(true);
    expect(report.guarantees[0]?.violations[0]).toMatchObject({ fault: "campaign_failed" });
  });
});

describe("campaigns of holdfast verify catch", () => {
  test("increments: an engine that drops checks", { timeout: 120_000 }, async () => {
    const context = await openCampaign({ fault: "droppedChecks" });
    expect(await untilFound((attempt) => increments(elsewhere(context, attempt), { workers: 6, times: 60 }), shows("stale_increment"))).toContain("stale_increment");
  });

  test("several keys at once: an engine that splits commits in two", { timeout: 120_000 }, async () => {
    const context = await openCampaign({ fault: "tornCommits" });
    expect(await untilFound((attempt) => atomicity(elsewhere(context, attempt), { forMs: 600, kills: 0 }), shows("part_differs"))).toContain("part_differs");
  });

  test("short lives: an engine whose entries end early", { timeout: 120_000 }, async () => {
    const context = await openCampaign({ fault: "shortLives" });
    expect(await untilFound((attempt) => expiring(elsewhere(context, attempt), { forMs: 300 }), shows("other_time"))).toContain("other_time");
  });

  test("killed watchers: a watch that misses revisions", { timeout: 120_000 }, async () => {
    const context = await openCampaign({ fault: "lostLogRecords" });
    expect(await untilFound((attempt) => watching(elsewhere(context, attempt), { lives: 3, writers: 2 }), shows("missing"))).toContain("missing");
  });
});
