import { HoldfastError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import type { CallOptions } from "./call-options.ts";
import type { Holdfast } from "./holdfast.ts";

/** The state key of a signal. Signals are stored, because one may arrive before the run waits for it or while no worker has the run. */
export const signalKey = (runId: string, name: string): string => `workflow-signal/${runId}/${name}`;

/** A signal that no step receives expires after this time. */
const keptMsDefault = 30 * 86_400_000;

/**
 * Sends a payload to a run, which receives it from `step.waitFor(name)`, and wakes the run if it was given back to wait. A second signal of the same name
 * replaces one that the run has not received yet.
 */
export async function signalWorkflow(
  { state, workflows }: Pick<Holdfast, "state" | "workflows">,
  runId: string,
  name: string,
  payload: Json = null,
  { keptMs = keptMsDefault, ...options }: CallOptions & { readonly keptMs?: number } = {},
): Promise<void> {
  const { status } = await workflows.get(runId);
  if (status === "done" || status === "failed" || status === "cancelled")
    throw new HoldfastError("workflow_finished", `Run ${runId} is ${status}; it accepts no more signals.`, { details: { run_id: runId, status } });
  await state.set(signalKey(runId, name), payload, { ...options, ttlMs: keptMs });
  // The signal is stored before the run wakes, so that the woken run finds it.
  await workflows.wake(runId, options);
}
