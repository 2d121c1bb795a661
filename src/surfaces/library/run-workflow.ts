import { claimResource } from "../../domain/claim-resource.ts";
import { HoldfastError, isHoldfastError } from "../../kernel/errors.ts";
import { randomHex } from "../../kernel/ids.ts";
import type { Json } from "../../kernel/json.ts";
import type { Holdfast, Tags } from "./holdfast.ts";
import { monotonicClock } from "./monotonic-clock.ts";
import type { ClaimedRun, Interruption } from "./run-execution.ts";
import { RunExecution } from "./run-execution.ts";
import type { StepOutput, WorkerOptions, WorkflowHandler, WorkflowOutcome } from "./workflow.ts";
import { StoredSteps } from "./workflow-steps.ts";

export interface NewWorkflow<Input extends Json = Json> {
  readonly name: string;
  /** Creating a run with an existing id returns the existing run. */
  readonly runId?: string;
  readonly input: Input;
  /** Added to the tag `workflow`, which every run gets and which holds the workflow's name. */
  readonly tags?: Tags;
  readonly priority?: number;
}

export const workerDefaults = { ttlMs: 30_000, holdMs: 30_000, lookAgainMs: 60_000, agent: "worker" } as const;

/** The tag by which workers find the runs of a workflow. */
export const workflowTag = "workflow";

/** Creates a run for `workWorkflows` to claim. */
export async function startWorkflow<Input extends Json>(
  { workflows }: Pick<Holdfast, "workflows">,
  { name, runId, input, tags, priority }: NewWorkflow<Input>,
): Promise<{ readonly runId: string; readonly created: boolean }> {
  const made = await workflows.create({ name, runId, input, tags: { ...tags, [workflowTag]: name }, priority });
  if (made.name !== name)
    throw new HoldfastError("conflict", `Run ${made.runId} is a run of ${JSON.stringify(made.name)}, not of ${JSON.stringify(name)}; nothing was changed.`, {
      hint: "Give runs of different workflows different ids.",
      details: { run_id: made.runId, name: made.name },
    });
  return made;
}

/**
 * Creates the run, or claims the one with this id, and works on it until it ends, is given back or is lost to another worker. Finished steps are not run
 * again but return their stored outputs. An error thrown by the function ends the run as failed. A store error is thrown and leaves the run to the next worker.
 */
export async function runWorkflow<Input extends Json, Result extends StepOutput>(
  holdfast: Holdfast,
  options: NewWorkflow<Input> & WorkerOptions,
  handler: WorkflowHandler<Input, Result>,
): Promise<WorkflowOutcome<Result>> {
  const { runId } = await startWorkflow(holdfast, options);
  try {
    const outcome = await claimAndWork(holdfast, { runId }, options, handler);
    if (outcome !== undefined) return outcome;
  } catch (error) {
    if (!isHoldfastError(error, "workflow_finished")) throw error;
  }
  return endingOf(holdfast, runId);
}

/** Claims the run with the id, or the next one with the tags, and works on it. Undefined if there is no run to claim. */
export async function claimAndWork<Input extends Json, Result extends StepOutput>(
  holdfast: Holdfast,
  what: { readonly runId: string } | { readonly tags: Tags },
  options: WorkerOptions,
  handler: WorkflowHandler<Input, Result>,
): Promise<WorkflowOutcome<Result> | undefined> {
  const { ttlMs = workerDefaults.ttlMs, agent: name = workerDefaults.agent, clock = monotonicClock } = options;
  const agent = `${name}-${randomHex(8)}`;
  const askedAtMs = clock.nowMs();
  const claimed = await holdfast.workflows.claim(what, { ttlMs, agent });
  if (!claimed.ok) return claimed.runId === undefined ? undefined : { status: "held", runId: claimed.runId, heldBy: claimed.heldBy };
  const { runId, token, expiresAtMs } = claimed;
  const claim = { resource: claimResource(runId), token };
  return work({ holdfast, runId, claim, agent, ttlMs, clock, askedAtMs, claimedAtStoreMs: expiresAtMs - ttlMs }, options, handler);
}

async function work<Input extends Json, Result extends StepOutput>(
  run: ClaimedRun,
  { signal, holdMs = workerDefaults.holdMs, lookAgainMs = workerDefaults.lookAgainMs }: WorkerOptions,
  handler: WorkflowHandler<Input, Result>,
): Promise<WorkflowOutcome<Result>> {
  const { holdfast, runId, claim, agent } = run;
  const execution = new RunExecution(run, signal);
  const settled = await perform(execution, { holdMs, lookAgainMs }, handler);
  await execution.end();
  const { interruption } = execution;
  if (interruption !== undefined) return settleInterrupted(run, interruption);
  const ending =
    "error" in settled ? ({ status: "failed", error: errorFacts(settled.error), retry: false } as const) : ({ status: "done", result: settled.result as Json } as const);
  try {
    await holdfast.workflows.finish(runId, ending, { token: claim.token, agent });
  } catch (error) {
    if (!isHoldfastError(error, "claim_lost") && !isHoldfastError(error, "claim_held") && !isHoldfastError(error, "workflow_finished")) throw error;
    return settleInterrupted(run, { is: "lost" });
  }
  return "error" in settled ? { status: "failed", runId, error: errorFacts(settled.error) } : { status: "done", runId, result: settled.result };
}

async function perform<Input extends Json, Result extends StepOutput>(
  execution: RunExecution,
  limits: { readonly holdMs: number; readonly lookAgainMs: number },
  handler: WorkflowHandler<Input, Result>,
): Promise<{ readonly result: Result } | { readonly error: unknown }> {
  const { holdfast, runId, claim } = execution.run;
  try {
    const { view, input, steps } = await execution.call(readRun(holdfast, runId));
    const context = { runId, name: view.name, tags: view.tags, input: (input ?? null) as Input, attempts: view.attempts, claim, signal: execution.signal };
    return { result: await handler(new StoredSteps(execution, steps, limits), context) };
  } catch (error) {
    return { error };
  }
}

const stepsAtOnce = 200;

/** Reads the run with all of its steps. */
async function readRun({ workflows }: Holdfast, runId: string) {
  const { view, input, steps: first, more: moreAfterFirst } = await workflows.resume(runId, { stepsAfter: 0, limit: stepsAtOnce });
  const steps = [...first];
  for (let more = moreAfterFirst; more; ) {
    const page = await workflows.resume(runId, { stepsAfter: steps.at(-1)?.step ?? 0, limit: stepsAtOnce });
    steps.push(...page.steps);
    more = page.more && page.steps.length > 0;
  }
  return { view, input, steps };
}

async function settleInterrupted<Result extends StepOutput>({ holdfast, runId, claim, agent }: ClaimedRun, interruption: Interruption): Promise<WorkflowOutcome<Result>> {
  const { workflows, state } = holdfast;
  const giveBack = (claimableAfterMs?: number) => workflows.giveBack(runId, { token: claim.token, agent, claimableAfterMs });
  switch (interruption.is) {
    case "failing":
      throw interruption.error;
    case "stopped":
      await giveBack();
      return { status: "stopped", runId };
    case "lost": {
      const { status } = await workflows.get(runId);
      return status === "cancelled" ? { status, runId } : { status: "held", runId, heldBy: interruption.heldBy };
    }
    case "parked": {
      const { reason, step, effectId, awaited, afterMs } = interruption;
      await giveBack(afterMs);
      // A signal sent between the last check and giving the run back could not wake the run, so check once more.
      if (awaited !== undefined && ((await state.get(awaited.key))?.version ?? 0) > awaited.versionAbove) await workflows.wake(runId);
      return reason === "effect_unknown" ? { status: "parked", runId, reason, step, effectId: effectId as string } : { status: "parked", runId, reason, step };
    }
  }
}

/** The outcome of a run that this call could not claim. */
async function endingOf<Result extends StepOutput>({ workflows }: Holdfast, runId: string): Promise<WorkflowOutcome<Result>> {
  const { status, result, error, agentId } = await workflows.get(runId);
  if (status === "done") return { status, runId, result: result as Result };
  if (status === "failed") return { status, runId, error: error ?? null };
  return status === "cancelled" ? { status, runId } : { status: "held", runId, heldBy: agentId };
}

/** The part of an error that is stored with a failed run and shown. */
function errorFacts(error: unknown): Json {
  if (!(error instanceof Error)) return { message: String(error).slice(0, messageCharactersMax) };
  return { name: error.name, message: error.message.toWellFormed().slice(0, messageCharactersMax), ...(isHoldfastError(error) ? { code: error.code } : {}) };
}
const messageCharactersMax = 2_000;
