import type { Scope } from "../../store/transact.ts";
import { transact } from "../../store/transact.ts";
import { workflowKeys } from "../keyspace.ts";
import { runWrites } from "./run-index.ts";
import { isFinished } from "./workflow.ts";
import { requireRun } from "./workflows.ts";

/** Makes a run that was given back for later claimable now, because what it waits for has happened. */
export function wakeRun(scope: Scope, runId: string): Promise<{ readonly woken: boolean }> {
  return transact<null, { woken: boolean }>(scope, {
    async decide() {
      const { run, revision, claim } = await requireRun(scope.store, runId);
      if (claim.live !== undefined || isFinished(run) || run.indexed?.zone !== "claimed") return { answer: { woken: false } };
      return { checks: [{ key: workflowKeys.run(runId), revision }], writes: runWrites(runId, run, { ...run, indexed: { zone: "ready" } }, "wake"), note: null };
    },
    finish: () => ({ woken: true }),
  });
}
