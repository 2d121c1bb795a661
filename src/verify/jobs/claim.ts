import { claimRun } from "../../domain/workflows/claims.ts";
import type { RunJob } from "../job.ts";
import { answerCommands } from "../job.ts";
import type { WorkerMessage } from "../worker-process.ts";

const claimTtlMs = 60_000;

/** Claims each run it receives at once and reports whether it won. */
export const claimJob: RunJob = (context) =>
  answerCommands(context, async ({ run }): Promise<WorkerMessage> => {
    const result = await claimRun(context.scope, { runId: String(run), agentId: context.job.name, ttlMs: claimTtlMs });
    return result.ok ? { won: true, token: result.token } : { won: false, heldBy: result.heldBy ?? null };
  });
