import { claimRun } from "../../domain/workflows/claims.ts";
import { resumeRun } from "../../domain/workflows/find-runs.ts";
import { checkpointRun, finishRun } from "../../domain/workflows/workflows.ts";
import { isHoldfastError } from "../../kernel/errors.ts";
import type { JobContext, RunJob } from "../job.ts";

/**
 * Claims each run it receives as soon as possible, resumes after the last recorded step and records the rest one by one. It
 * reports before and after each step, so that the parent can kill or stop it between any two of these lines.
 */
export const stepsJob: RunJob = async (context) => {
  for await (const { run, steps, ttlMs } of context.commands) await work(context, String(run), Number(steps), Number(ttlMs));
};

async function work({ job, scope, clock, say }: JobContext, runId: string, steps: number, ttlMs: number): Promise<void> {
  const by = { runId, agentId: job.name };
  try {
    let claim = await claimRun(scope, { ...by, ttlMs });
    while (!claim.ok) {
      await clock.sleep(2);
      claim = await claimRun(scope, { ...by, ttlMs });
    }
    const { view } = await resumeRun(scope, runId, { limit: 1 });
    say({ claimed: claim.token, found: view.lastStep });
    for (let step = view.lastStep + 1; step <= steps; step += 1) {
      say({ sent: step });
      await checkpointRun(scope, { ...by, token: claim.token, step, output: `${job.name} ${step}` });
      say({ acknowledged: step });
    }
    await finishRun(scope, { ...by, token: claim.token, ending: { status: "done", result: job.name } });
    say({ finished: true });
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    say({ refused: error.code });
  }
}
