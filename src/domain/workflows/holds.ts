import type { Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { workflowKeys } from "../keyspace.ts";
import type { AcquireInput, RenewResult } from "../leases/leases.ts";
import { releaseLease, renewLease } from "../leases/leases.ts";
import { giveBackRun, renewClaim } from "./workflows.ts";

/** A claim is a lease, so callers that renew or release a resource need not know which kind it is. */

export function renewHold(scope: Scope, input: AcquireInput & { readonly token?: Revision }): Promise<RenewResult> {
  const runId = workflowKeys.runOfResource(input.resource);
  return runId === undefined ? renewLease(scope, input) : renewClaim(scope, { runId, agentId: input.holder, ttlMs: input.ttlMs, token: input.token });
}

export function releaseHold(scope: Scope, input: { readonly resource: string; readonly holder: string; readonly token?: Revision }): Promise<{ readonly released: boolean }> {
  const runId = workflowKeys.runOfResource(input.resource);
  return runId === undefined ? releaseLease(scope, input) : giveBackRun(scope, { runId, agentId: input.holder, token: input.token });
}
