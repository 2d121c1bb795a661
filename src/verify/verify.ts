import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEngine } from "../engines/open-store.ts";
import { systemClock } from "../kernel/clock.ts";
import { HoldfastError, invalidInput } from "../kernel/errors.ts";
import { randomHex } from "../kernel/ids.ts";
import { version } from "../kernel/version.ts";
import type { Engine } from "../store/store.ts";
import type { CampaignContext, CampaignResult } from "./campaign.ts";
import { atomicity } from "./campaigns/atomicity.ts";
import { effectsOnce } from "./campaigns/effects.ts";
import { expiring } from "./campaigns/expiring.ts";
import { fencing } from "./campaigns/fencing.ts";
import { handovers } from "./campaigns/handovers.ts";
import { increments } from "./campaigns/increments.ts";
import { killNine } from "./campaigns/kill-nine.ts";
import { oneByOne } from "./campaigns/one-by-one.ts";
import { oneWinner } from "./campaigns/one-winner.ts";
import { retrySafe } from "./campaigns/retry.ts";
import { watching } from "./campaigns/watching.ts";
import type { Violation } from "./checkers/violation.ts";
import type { Guarantee, GuaranteeReport, Report } from "./report.ts";
import { promises } from "./report.ts";
import type { WorkerCommand } from "./worker-process.ts";

export interface VerifyOptions {
  /** The user's own store; only namespaces that begin with `verify-` are used. Absent: a new SQLite file in the system's temporary folder. */
  readonly storeUrl?: string;
  readonly worker: WorkerCommand;
  /** Run about a fifth of the work. */
  readonly quick?: boolean;
  readonly seed?: number;
  /** On abort, the workers are ended, the data is removed, and the run fails with `cancelled`. */
  readonly signal?: AbortSignal;
  /** Called with the current campaign and its progress, from 0 to 1. */
  readonly onProgress?: (campaign: string, done: number, place: { readonly nth: number; readonly of: number }) => void;
  /** Called with a guarantee once every campaign that tests it has run. */
  readonly onJudged?: (guarantee: GuaranteeReport) => void;
}

interface Campaign {
  readonly name: string;
  readonly tests: readonly Guarantee[];
  run(context: CampaignContext, quick: boolean): Promise<CampaignResult>;
}

const campaigns: readonly Campaign[] = [
  { name: "one by one", tests: ["G1", "G3", "G4", "G5", "G6", "G9"], run: (context, quick) => oneByOne(context, { workers: quick ? 1 : 3 }) },
  { name: "increments", tests: ["G3"], run: (context, quick) => increments(context, quick ? { workers: 8, times: 50 } : { workers: 16, times: 250 }) },
  { name: "racing claims", tests: ["G8"], run: (context, quick) => oneWinner(context, quick ? { racers: 8, runs: 25 } : { racers: 16, runs: 100 }) },
  { name: "hand-overs", tests: ["G8"], run: (context, quick) => handovers(context, { runs: quick ? 3 : 8, steps: quick ? 6 : 8, inParallel: 3 }) },
  { name: "stopped holders", tests: ["G7"], run: (context, quick) => fencing(context, { takeOvers: quick ? 40 : 200, crews: 2, leasesPerCrew: 10 }) },
  { name: "several keys at once", tests: ["G5"], run: (context, quick) => atomicity(context, { forMs: quick ? 800 : 3_000, kills: quick ? 1 : 5 }) },
  { name: "short lives", tests: ["G6"], run: (context, quick) => expiring(context, { forMs: quick ? 1_000 : 4_000 }) },
  { name: "cut answers", tests: ["G9"], run: (context, quick) => retrySafe(context, { cuts: quick ? 12 : 50, lines: 3 }) },
  { name: "effects", tests: ["G20", "G21", "G22"], run: (context, quick) => effectsOnce(context, { runs: quick ? 3 : 12, effects: quick ? 4 : 6, inParallel: 3 }) },
  { name: "killed watchers", tests: ["G10"], run: (context, quick) => watching(context, { lives: quick ? 4 : 12, writers: 2 }) },
  { name: "killed writers", tests: ["G1", "G4", "G5", "G11"], run: (context, quick) => killNine(context, { kills: quick ? 40 : 200, workers: 4 }) },
];

/** Tests the guarantees on this machine: real processes use the given store, are killed, stopped and raced, and what they leave behind is audited. */
export async function runVerify({ storeUrl, worker, quick = false, seed = Number.parseInt(randomHex(8), 16), signal, onProgress, onJudged }: VerifyOptions): Promise<Report> {
  if (storeUrl?.startsWith("memory:"))
    throw invalidInput("store", "verify needs a store that several processes can open, and memory: exists in one process only. Pass another --store, or none");
  if (process.platform === "win32") throw invalidInput("verify", "needs a system on which processes can be stopped and continued (SIGSTOP); Windows does not support this");
  const startedMs = systemClock.nowMs();
  const place = storeUrl === undefined ? await mkdtemp(join(tmpdir(), "holdfast-verify-")) : undefined;
  const url = storeUrl ?? `sqlite:${join(place as string, "holdfast.db")}`;
  try {
    await using engine = await openEngine(url);
    const namespace = `verify-${randomHex(8)}`;
    const outcomes: (CampaignResult & { readonly campaign: Campaign })[] = [];
    try {
      for (const [index, campaign] of campaigns.entries()) {
        requireWanted(signal);
        const progress = (done: number): void => onProgress?.(campaign.name, done, { nth: index + 1, of: campaigns.length });
        progress(0);
        const context: CampaignContext = { storeUrl: url, engine, namespace, worker, signal, seed: seed + index, onProgress: progress };
        outcomes.push({ campaign, ...(await untilCancelled(runCampaign(campaign, context, quick), signal)) });
        progress(1);
        for (const id of judgedAfter(index)) onJudged?.(judge(id, outcomes));
      }
    } finally {
      if (place === undefined) await cleanUp(engine, namespace);
    }
    const { engine: engineName, durability } = await engine.health(namespace);
    const guarantees = (Object.keys(promises) as Guarantee[]).map((id) => judge(id, outcomes));
    return {
      passed: guarantees.every((guarantee) => guarantee.passed),
      version,
      engine: engineName,
      durability,
      seed,
      seconds: Math.round((systemClock.nowMs() - startedMs) / 1_000),
      guarantees,
    };
  } finally {
    if (place !== undefined) await rm(place, { recursive: true, force: true });
  }
}

/** The guarantees for which this campaign is the last test. */
const judgedAfter = (index: number): readonly Guarantee[] =>
  (Object.keys(promises) as Guarantee[]).filter((id) => campaigns.findLastIndex(({ tests }) => tests.includes(id)) === index);

/** A campaign that fails to complete has proved nothing, which counts as a violation of every guarantee it tests. */
async function runCampaign(campaign: Campaign, context: CampaignContext, quick: boolean): Promise<CampaignResult> {
  try {
    return await campaign.run(context, quick);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { figures: {}, violations: campaign.tests.map((guarantee): Violation => ({ guarantee, fault: "campaign_failed", detail: `${campaign.name}: ${detail}` })) };
  }
}

/** A campaign whose workers were killed either fails or waits forever for a message that never comes. It gets a short time to end and is then abandoned. */
async function untilCancelled<T>(campaign: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const settled = new AbortController();
  const cancelled = new Promise<void>((resolve) => {
    signal?.addEventListener("abort", () => void systemClock.sleep(cancelWaitMs, settled.signal).then(resolve, resolve), { signal: settled.signal });
  });
  const result = await Promise.race([campaign, cancelled]).finally(() => settled.abort());
  requireWanted(signal);
  return result as T;
}

const cancelWaitMs = 2_000;

function requireWanted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new HoldfastError("cancelled", "verify was interrupted; its workers have ended and its data is removed.");
}

function judge(id: Guarantee, outcomes: readonly (CampaignResult & { readonly campaign: Campaign })[]): GuaranteeReport {
  const about = outcomes.filter(({ campaign, violations }) => campaign.tests.includes(id) || violations.some((violation) => violation.guarantee === id));
  const violations = about.flatMap((outcome) => outcome.violations.filter((violation) => violation.guarantee === id));
  return { id, promise: promises[id], passed: violations.length === 0, figures: Object.fromEntries(about.map(({ campaign, figures }) => [campaign.name, figures])), violations };
}

const cleaningsMax = 5;

/**
 * Removes the scratch namespaces without a trace, then checks again: a server may apply a killed worker's last writes a little later.
 * The seal rejects such writes while a namespace is being cleared.
 */
async function cleanUp(engine: Engine, prefix: string): Promise<void> {
  for (let cleaning = 0; cleaning < cleaningsMax; cleaning += 1) {
    const left = (await engine.namespaces()).filter((namespace) => namespace.startsWith(`${prefix}-`));
    if (left.length === 0) return;
    for (const namespace of left) {
      await engine.seal(namespace, { state: "filling", progress: null });
      await engine.clear(namespace);
    }
  }
}
