import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openEngine } from "../../src/engines/open-store.ts";
import type { CampaignContext, CampaignResult } from "../../src/verify/campaign.ts";
import type { EngineUnderTest } from "./engines.ts";
import { engineNamed } from "./engines.ts";
import type { Fault } from "./faulty-engine.ts";
import { faults } from "./faulty-engine.ts";
import { openProgress } from "./open-progress.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { workersDir } from "./worker-build.ts";

/** How to start a worker of `holdfast verify`; with a fault, one whose engine has it, and what the fault wants to know. */
export const verifyWorker = (...fault: readonly [fault?: Fault, ...rest: string[]]) => ({
  file: process.execPath,
  args: [join(workersDir, "verify-worker.mjs"), ...fault.filter((word) => word !== undefined)],
});

/** A new store and workers on it; with a fault, workers (and for the log, the auditor too) whose engine has that fault. */
export async function openCampaign({
  on = engineNamed("SQLite"),
  fault,
  auditorFault,
  meeting,
  seed = 20_261_115,
}: {
  readonly on?: EngineUnderTest;
  readonly fault?: Fault;
  readonly auditorFault?: Fault;
  /** How many workers meet, where the fault is that they do. */
  readonly meeting?: number;
  readonly seed?: number;
} = {}): Promise<CampaignContext> {
  const storeUrl = await on.freshUrl();
  const engine = await openEngine(storeUrl);
  onTestFinished(() => engine[Symbol.asyncDispose]());
  const tell = openProgress(`campaign on ${on.name}`);
  const worker = meeting === undefined ? verifyWorker(fault) : verifyWorker(fault, String(meeting), await temporaryFolder());
  return { storeUrl, engine: auditorFault === undefined ? engine : faults[auditorFault](engine), namespace: "campaign", worker, seed, onProgress: (done) => tell(done, 1) };
}

/** The figures stand in the test's output, so that a report can quote them. */
export function printMetrics(what: string, { figures, violations }: CampaignResult, startedMs: number): void {
  const counts = Object.entries(figures).map(([name, count]) => `${name.replaceAll("_", " ")} ${count.toLocaleString("en")}`);
  console.log(`${what}: ${counts.join(", ")}; violations ${violations.length}; ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`);
}

/** Runs a campaign and prints what it did. */
export async function runAndPrint(what: string, campaign: () => Promise<CampaignResult>): Promise<CampaignResult> {
  const startedMs = performance.now();
  const result = await campaign();
  printMetrics(what, result, startedMs);
  return result;
}

/** What was lost is either missing at the end of the log or followed by another commit in its place. */
export const showsLoss = (faults: readonly string[]): boolean => faults.some((fault) => /^acknowledged_(commit|write)_(missing|differs)$/.test(fault));

/** The same campaign elsewhere in the same store. */
export const elsewhere = (context: CampaignContext, attempt: number): CampaignContext => ({
  ...context,
  namespace: `${context.namespace}-${attempt}`,
  seed: context.seed + attempt,
});

export const faultsIn = ({ violations }: CampaignResult): readonly string[] => [...new Set(violations.map((violation) => violation.fault))];
