import { beginEffect } from "../../domain/effects/begin-effect.ts";
import { finishEffect } from "../../domain/effects/finish-effect.ts";
import { workflowKeys } from "../../domain/keyspace.ts";
import { claimRun } from "../../domain/workflows/claims.ts";
import { finishRun } from "../../domain/workflows/workflows.ts";
import { HoldfastError, isHoldfastError } from "../../kernel/errors.ts";
import type { JobContext, RunJob } from "../job.ts";

/**
 * Receives a run, claims it as soon as possible and does its effects one by one. Printing `performed` is the effect: the parent counts it, and kills or stops the
 * process between any two of the lines that it prints.
 */
export const effectsJob: RunJob = async (context) => {
  for await (const { run, effects, ttlMs, liveMs } of context.commands) await work(context, String(run), Number(effects), Number(ttlMs), Number(liveMs));
};

const waitMs = 5;

async function work(context: JobContext, runId: string, effects: number, ttlMs: number, liveMs: number): Promise<void> {
  const { job, scope, clock, say } = context;
  try {
    let claim = await claimRun(scope, { runId, agentId: job.name, ttlMs });
    while (!claim.ok) {
      await clock.sleep(waitMs);
      claim = await claimRun(scope, { runId, agentId: job.name, ttlMs });
    }
    say({ claimed: claim.token });
    for (let step = 1; step <= effects; step += 1) {
      await doOnce(context, { runId, step, token: claim.token, liveMs, ttlMs });
      // A heartbeat. It does not check whether this worker still has the run: refusing is the store's job.
      await claimRun(scope, { runId, agentId: job.name, ttlMs });
    }
    await finishRun(scope, { runId, agentId: job.name, token: claim.token, ending: { status: "done" } });
    say({ finished: true });
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    say({ refused: error.code });
  }
}

interface Duty {
  readonly runId: string;
  readonly step: number;
  readonly token: number;
  readonly liveMs: number;
  readonly ttlMs: number;
}

async function doOnce({ job, scope, clock, say }: JobContext, { runId, step, token, liveMs, ttlMs }: Duty): Promise<void> {
  const identity = { run: runId, step, tool: "count", args: step };
  for (let told = false; ; ) {
    const begun = await beginEffect(scope, { identity, guard: { resource: workflowKeys.resource(runId), token }, liveMs });
    const { id } = begun;
    if (begun.outcome === "begun") {
      const answer = `${job.name} ${step}`;
      say({ performed: step, id, answer });
      await finishEffect(scope, { ...begun, outcome: { state: "done", answer } });
      return say({ acknowledged: step, id });
    }
    if (begun.outcome === "done") return say({ repeated: step, id, answer: begun.answer, resolved: begun.resolved ?? null });
    if (begun.outcome === "unknown" && !told) say({ unknown: step, id });
    told ||= begun.outcome === "unknown";
    await clock.sleep(waitMs);
    // A worker that waits for a person must keep the run meanwhile, and stop waiting if it loses the run.
    const claim = await claimRun(scope, { runId, agentId: job.name, ttlMs });
    if (!claim.ok || claim.token !== token) throw new HoldfastError("claim_lost", "Another worker has the run.");
  }
}
