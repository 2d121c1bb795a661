import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openEngine } from "../../src/engines/open-store.ts";
import type { CampaignContext, CampaignResult } from "../../src/verify/campaign.ts";
import type { Fault } from "./faulty-engine.ts";
import { faults } from "./faulty-engine.ts";
import { workersDir } from "./worker-build.ts";

/** A new SQLite file and workers on it; with a fault, workers (and for the log, the auditor too) whose engine has that fault. */
export async function openCampaign({
  fault,
  auditorFault,
  seed = 20_261_115,
}: {
  readonly fault?: Fault;
  readonly auditorFault?: Fault;
  readonly seed?: number;
} = {}): Promise<CampaignContext> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-campaign-"));
  const storeUrl = `sqlite:${join(folder, "holdfast.db")}`;
  const engine = await openEngine(storeUrl);
  onTestFinished(async () => {
    await engine[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });
  const worker = { file: process.execPath, args: [join(workersDir, "verify-worker.mjs"), ...(fault === undefined ? [] : [fault])] };
  return { storeUrl, engine: auditorFault === undefined ? engine : faults[auditorFault](engine), namespace: "campaign", worker, seed };
}

/** The figures stand in the test's output, so that a report can quote them. */
export function printFigures(what: string, { figures, violations }: CampaignResult, startedMs: number): void {
  const counts = Object.entries(figures).map(([name, count]) => `${name.replaceAll("_", " ")} ${count.toLocaleString("en")}`);
  console.log(`${what}: ${counts.join(", ")}; violations ${violations.length}; ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`);
}

/** Runs a campaign and prints what it did. */
export async function runAndPrint(what: string, campaign: () => Promise<CampaignResult>): Promise<CampaignResult> {
  const startedMs = performance.now();
  const result = await campaign();
  printFigures(what, result, startedMs);
  return result;
}

export const faultsIn = ({ violations }: CampaignResult): readonly string[] => [...new Set(violations.map((violation) => violation.fault))];
