/** The library on a server's store, for every runtime with `fetch`: nothing here needs Node. */

export { type ErrorCode, errorCodes, HoldfastError, isHoldfastError } from "./kernel/errors.ts";
export type { Json, JsonObject } from "./kernel/json.ts";
export { version } from "./kernel/version.ts";
export { type ConnectOptions, connectHoldfast } from "./surfaces/client/connect-holdfast.ts";
export type { Blobs } from "./surfaces/library/blobs.ts";
export type { CallOptions, WriteOptions } from "./surfaces/library/call-options.ts";
export type { EffectOptions, Effects, OnceOptions, OnceResult } from "./surfaces/library/effects.ts";
export type { Holdfast, LeaseRef, Leases, Sessions, SetOptions, State, Tags, Workflows } from "./surfaces/library/holdfast.ts";
export type { EntryInput, Journal, Knowledge, Research, ResearchInput, ResumeOptions, ResumeText, WorkspaceOptions } from "./surfaces/library/memory.ts";
export { type NewWorkflow, runWorkflow, startWorkflow } from "./surfaces/library/run-workflow.ts";
export { type WithLeaseOptions, type WithLeaseResult, withLease } from "./surfaces/library/with-lease.ts";
export { type WorkOptions, workWorkflows } from "./surfaces/library/work-workflows.ts";
export {
  EffectNotDone,
  EffectUnknown,
  type SignalOptions,
  type StepAttempt,
  type StepOptions,
  type StepOutput,
  type WorkerOptions,
  type WorkflowContext,
  type WorkflowHandler,
  type WorkflowOutcome,
  type WorkflowSteps,
} from "./surfaces/library/workflow.ts";
export { signalWorkflow } from "./surfaces/library/workflow-signals.ts";
