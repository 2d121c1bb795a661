import { describe, expect, test } from "vitest";
import { type PowerLossResult, type PowerLossRun, runPowerLoss } from "../support/power-loss/crash-states.ts";

const size = { groups: [3, 1, 2], actions: 40, seed: 20_261_115 } as const;

async function runAndPrint(run: PowerLossRun): Promise<PowerLossResult> {
  const startedMs = performance.now();
  const result = await runPowerLoss(run);
  const seconds = (performance.now() - startedMs) / 1_000;
  console.log(
    `power loss (synchronous=${run.normal ? "NORMAL, planted" : "FULL"}): states ${result.states}, bad ${result.bad}, at risk ${result.statesAtRisk}, disk events ${result.diskEvents}, syncs ${result.syncs}, ` +
      `commits acknowledged ${result.acknowledged}, faults ${JSON.stringify(result.faults)}${result.firstDetail === undefined ? "" : `, first: ${result.firstDetail}`}; ${seconds.toFixed(1)} s`,
  );
  return result;
}

describe("a loss of power (G1)", () => {
  test("takes nothing that was acknowledged, in any of 2,000 states that the disk could be left in", { timeout: 240_000 }, async () => {
    const result = await runAndPrint({ ...size, states: 2_000 });
    expect(result.firstDetail).toBeUndefined();
    expect(result).toMatchObject({ states: 2_000, bad: 0 });
    // A disk on which nothing is ever at risk would pass anything.
    expect(result.statesAtRisk).toBeGreaterThan(500);
    expect(result.acknowledged).toBeGreaterThan(100);
  });

  test("is seen to take acknowledged writes when SQLite is set to synchronous=NORMAL", { timeout: 120_000 }, async () => {
    const result = await runAndPrint({ ...size, states: 300, normal: true });
    expect(result.bad).toBeGreaterThan(100);
    expect(result.faults.acknowledged_commit_missing).toBeGreaterThan(50);
  });
});
