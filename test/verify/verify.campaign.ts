import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openEngine } from "../../src/engines/open-store.ts";
import type { Report } from "../../src/verify/report.ts";
import { ReportText } from "../../src/verify/report.ts";
import { runVerify } from "../../src/verify/verify.ts";
import { verifyWorker } from "../support/campaign.ts";
import { buildExecutable, startExecutable } from "../support/cli-process.ts";
import { engineNamed, sharedEngines } from "../support/engines.ts";
import { scaled } from "../support/scale.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The whole run is five times the quick one. */
const isQuick = scaled(1) < 5;

describe("holdfast verify", () => {
  let executable: Awaited<ReturnType<typeof buildExecutable>>;
  beforeAll(async () => {
    executable = await buildExecutable();
  });
  afterAll(() => executable.remove());

  for (const on of sharedEngines)
    test(`finds every guarantee kept on the user's own store, and leaves nothing in it, on ${on.name}`, async () => {
      const url = await on.freshUrl();
      const { code, stdout, stderr } = await startExecutable(executable.main, ["verify", ...(isQuick ? ["--quick"] : []), "--json", "--store", url]).finished;
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

  test("names the guarantees that an engine breaks which forgets request keys", async () => {
    const report = await runVerify({ quick: true, worker: verifyWorker("forgottenRequestKeys"), storeUrl: await engineNamed("SQLite").freshUrl(), seed: 1 });
    expect(report.passed).toBe(false);
    expect(report.guarantees.filter(({ passed }) => !passed).map(({ id }) => id)).toContain("G9");
    expect(new ReportText().end(report)).toMatch(/FAIL {2}G9 /);
    expect(new ReportText().end(report)).toMatch(/Broken: .*G9/);
  });

  test("names the guarantees that an engine breaks which drops checks", async () => {
    // As many processes meet as a quick run has for its counter and for its claims.
    const worker = verifyWorker("overtaken", "8", await temporaryFolder());
    const report = await runVerify({ quick: true, worker, storeUrl: await engineNamed("SQLite").freshUrl(), seed: 1 });
    const broken = report.guarantees.filter(({ passed }) => !passed);
    expect(broken.map(({ id }) => id)).toEqual(expect.arrayContaining(["G3", "G7", "G8"]));
    expect(broken.flatMap(({ violations }) => violations.map(({ fault }) => fault))).not.toContain("campaign_failed");
    expect(new ReportText().end(report)).toMatch(/Broken: .*G3.*G7.*G8/);
  });

  test("counts a campaign that cannot be carried through as broken", async () => {
    const report = await runVerify({ quick: true, worker: { file: process.execPath, args: ["-e", "process.exit(3)"] } });
    expect(report.guarantees.map(({ passed }) => passed)).not.toContain(true);
    expect(report.guarantees[0]?.violations[0]).toMatchObject({ fault: "campaign_failed" });
  });
});
