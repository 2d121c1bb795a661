import { HoldfastError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import { requireKey } from "../../store/prepare-commit.ts";
import type { Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { transact } from "../../store/transact.ts";
import { workflowKeys } from "../keyspace.ts";
import { dropWrites, guard, leaseIn, leaseRanges } from "../leases/lease.ts";
import { runWrites } from "./run-index.ts";
import type { Run, RunStatus } from "./workflow.ts";
import { ended, givenBack, requireUnfinished } from "./workflow.ts";
import { historySubjectOf, requireRun } from "./workflows.ts";

/**
 * Operator actions on leases and runs that others hold. The token identifies the hold the operator saw, so a later holder is not affected.
 * History names the operator as the writer and shows that it was not the holder.
 */

const overtaken = (what: string, holder: string | undefined, token: Revision | undefined): HoldfastError =>
  new HoldfastError(
    "lease_lost",
    holder === undefined ? `${what} is no longer held; nothing was changed.` : `${what} is now held by ${JSON.stringify(holder)} with another token; nothing was changed.`,
    { hint: "Check the current holder, then decide again.", details: { holder: holder ?? null, token: token ?? null } },
  );

export interface StepIn {
  readonly revision: Revision;
}

/** Ends a lease regardless of its holder, if this token is still current. For a claim, returns the run. */
export function revokeLease(scope: Scope, { resource, token }: { readonly resource: string; readonly token: Revision }): Promise<StepIn> {
  const runId = workflowKeys.runOfResource(resource);
  if (runId !== undefined) return returnRun(scope, { runId, token });
  requireKey(resource, "resource");
  return transact<null, StepIn>(scope, {
    async decide() {
      const { live } = leaseIn(await scope.store.read(leaseRanges(resource)), resource);
      if (live?.token !== token) throw overtaken(`The lease on ${JSON.stringify(resource)}`, live?.holder, live?.token);
      return { checks: guard(resource, token).checks, writes: dropWrites(resource, { kind: "lease", subject: resource }, "revoke"), note: null };
    },
    finish: (_, { revision }) => ({ revision }),
  });
}

/** Takes a run from its holder, whether the claim is live or lapsed. Anyone can claim it at once, and its steps are kept. */
export function returnRun(scope: Scope, { runId, token }: { readonly runId: string; readonly token: Revision }): Promise<StepIn> {
  return transact<null, StepIn>(scope, {
    async decide() {
      const { run, revision, claim } = await requireRun(scope.store, runId);
      requireUnfinished(runId, run);
      const { last } = claim;
      if (last?.token !== token) throw overtaken(`Run ${runId}`, last?.holder, last?.token);
      return {
        checks: [{ key: workflowKeys.run(runId), revision }],
        writes: [
          ...runWrites(runId, run, { ...givenBack(run, last.holder), indexed: { zone: "ready" } }, "return"),
          ...dropWrites(workflowKeys.resource(runId), historySubjectOf(runId), undefined),
        ],
        note: null,
      };
    },
    finish: (_, { revision }) => ({ revision }),
  });
}

/** Ends a run permanently. `token`: the token of the holder the operator saw; absent = there was none. */
export function cancelRun(
  scope: Scope,
  { runId, token, reason }: { readonly runId: string; readonly token?: Revision; readonly reason?: Json },
): Promise<StepIn & { readonly status: RunStatus }> {
  return transact<null, StepIn & { readonly status: RunStatus }>(scope, {
    async decide() {
      const { run, revision, claim } = await requireRun(scope.store, runId);
      requireUnfinished(runId, run);
      const { last } = claim;
      if (last?.token !== token) throw overtaken(`Run ${runId}`, last?.holder, last?.token);
      const after: Run = { ...ended(run, { status: "cancelled", error: reason }, last), indexed: undefined };
      return {
        checks: [{ key: workflowKeys.run(runId), revision }],
        writes: [...runWrites(runId, run, after, "finish"), ...(last === undefined ? [] : dropWrites(workflowKeys.resource(runId), historySubjectOf(runId), undefined))],
        note: null,
      };
    },
    finish: (_, { revision }) => ({ revision, status: "cancelled" }),
  });
}
