import { invalidInput } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import type { Holdfast, Tags } from "./holdfast.ts";
import { monotonicClock } from "./monotonic-clock.ts";
import { claimAndWork, workflowTag } from "./run-workflow.ts";
import type { StepOutput, WorkerOptions, WorkflowHandler, WorkflowOutcome } from "./workflow.ts";

export interface WorkOptions<Result extends StepOutput> extends WorkerOptions {
  /** Claims runs of this workflow, as created by `startWorkflow` and `runWorkflow`. */
  readonly name?: string;
  /** Claims runs with all of these tags. */
  readonly tags?: Tags;
  /** How many runs to work on at the same time; 1 by default. */
  readonly concurrency?: number;
  /** How long to pause when there is nothing to claim; 1 second by default. */
  readonly idleMs?: number;
  /** Return when there is nothing to claim. */
  readonly stopsWhenIdle?: boolean;
  readonly onOutcome?: (outcome: WorkflowOutcome<Result>) => void;
  /** Called when the store fails; the worker pauses and continues. */
  readonly onError?: (error: unknown) => void;
}

const defaults = { concurrency: 1, idleMs: 1_000 } as const;
const concurrencyMax = 1_000;

/** Claims runs and works on them until the signal aborts. Resolves when every run that it began has ended or was given back. */
export async function workWorkflows<Input extends Json, Result extends StepOutput>(
  holdfast: Holdfast,
  { name, tags = {}, concurrency = defaults.concurrency, idleMs = defaults.idleMs, stopsWhenIdle = false, onOutcome, onError, ...worker }: WorkOptions<Result>,
  handler: WorkflowHandler<Input, Result>,
): Promise<void> {
  if (name === undefined && Object.keys(tags).length === 0)
    throw invalidInput("name", "give the workflow's name, or tags: without either, the runs of every workflow would be taken");
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > concurrencyMax) throw invalidInput("concurrency", `must be a whole number from 1 to ${concurrencyMax}`);
  const { signal, clock = monotonicClock } = worker;
  const wanted = name === undefined ? tags : { ...tags, [workflowTag]: name };
  const workInLine = async (): Promise<void> => {
    while (!signal?.aborted) {
      try {
        const outcome = await claimAndWork(holdfast, { tags: wanted }, worker, handler);
        if (outcome !== undefined) onOutcome?.(outcome);
        else if (stopsWhenIdle) return;
        else await clock.sleep(idleMs, signal);
      } catch (error) {
        onError?.(error);
        await clock.sleep(idleMs, signal);
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, workInLine));
}
