import { describe, expect, test } from "vitest";
import { ReportText } from "../../src/verify/report.ts";
import { openCommandLine } from "../support/cli-host.ts";

test("the report tells a campaign once and refers to it from then on", () => {
  const guarantee = (id: "G1" | "G4") => ({ id, promise: `promise of ${id}`, passed: true, figures: { kills: { kills: 1_200, commits: 3 } }, violations: [] });
  const report = { passed: true, version: "1.2.3", engine: "sqlite", durability: "on disk", seed: 1, seconds: 2, guarantees: [guarantee("G1"), guarantee("G4")] };
  const lines = new ReportText().end(report).split("\n");
  expect(lines.filter((line) => line.includes("1,200 kills"))).toHaveLength(1);
  expect(lines[lines.findIndex((line) => line.includes("promise of G4")) + 1]).toBe("           kills: see G1");
});

describe("the verify command", () => {
  test("prints the report for people and exits with 0 when every guarantee held", async () => {
    expect(await openCommandLine().run(["verify"])).toMatchObject({ code: 0, stdout: "the report\n" });
  });

  test("exits with 1 when a guarantee was broken", async () => {
    expect(await openCommandLine().run(["verify", "--store", "sqlite:broken"])).toMatchObject({ code: 1, stdout: "the report\n" });
  });

  test("passes its options on, and prints the report for scripts as one line of JSON", async () => {
    expect(await openCommandLine().json("verify", "--quick", "--seed", "7")).toEqual({ quick: true, seed: 7 });
  });

  test.each(["-1", "1.5", "x", "4294967296"])("refuses the seed %s", async (seed) => {
    const { code, stderr } = await openCommandLine().run(["verify", `--seed=${seed}`]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/--seed: must be a whole number from 0 to 4294967295/);
  });
});
