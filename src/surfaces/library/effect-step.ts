import { claimResource } from "../../domain/claim-resource.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import type { OnceResult } from "./effects.ts";
import type { RunExecution } from "./run-execution.ts";
import { backoffOf } from "./step-backoff.ts";
import type { StepAttempt, StepLimits, StepOptions, StepOutput } from "./workflow.ts";
import { EffectNotDone, EffectUnknown } from "./workflow.ts";

/** How often to check whether an effect begun by a former worker has ended. */
const inFlightLookMs = 200;

/**
 * Performs a step that acts outside the store. The claim guards its beginning, so that a replaced worker cannot begin it. The record is identified by run and
 * name, so that the next worker gets the first answer. By default, an effect whose outcome is unknown is never retried automatically.
 */
export async function performEffectStep<Output extends StepOutput>(
  execution: RunExecution,
  name: string,
  work: (attempt: StepAttempt) => Promise<Output> | Output,
  { retries = 0, backoffMs, args = null, policy = "ask", isHarmless = () => false }: StepOptions,
  { lookAgainMs }: StepLimits,
  pause: (ms: number) => Promise<void>,
): Promise<Json> {
  const { holdfast, runId, claim, agent, ttlMs } = execution.run;
  const provesNothing = (error: unknown): boolean => error instanceof EffectNotDone || isHarmless(error);
  for (let attempt = 1; ; ) {
    execution.requireGoing();
    let thrown: { readonly error: unknown } | undefined;
    let effectId = "";
    let result: OnceResult<Json>;
    try {
      result = await holdfast.effects.once(
        { run: runId, name, tool: name, args },
        async ({ id }) => {
          effectId = id;
          try {
            return ((await work({ attempt, effectId: id, signal: execution.signal })) ?? null) as Json;
          } catch (error) {
            thrown = { error };
            throw error;
          }
        },
        { guard: { resource: claimResource(runId), token: claim.token }, liveMs: ttlMs, policy, agent, isHarmless: provesNothing },
      );
    } catch (error) {
      if (thrown === undefined) {
        if (effectId === "") return execution.call(Promise.reject(error));
        // The effect was performed but not recorded. The next worker finds it unknown, or resolved by a person.
        throw execution.interrupt({ is: "failing", error });
      }
      const isUnknown = !provesNothing(thrown.error);
      if (isUnknown && policy === "ask") throw park(execution, new EffectUnknown(runId, name, effectId, thrown.error), lookAgainMs);
      if (attempt > retries && !(isUnknown && policy === "assume-done")) throw thrown.error;
      await pause(backoffOf(attempt, backoffMs));
      attempt += 1;
      continue;
    }
    if (result.ok) return requireKept(name, result);
    if (result.reason === "unknown") throw park(execution, new EffectUnknown(runId, name, result.id), lookAgainMs);
    // A former worker's effect stays live slightly longer than its claim.
    await pause(Math.min(inFlightLookMs, ttlMs / 10));
  }
}

/** A note in place of the answer must not become the step's output. */
function requireKept(name: string, { id, answer, answerKept, resolved }: Extract<OnceResult<Json>, { readonly ok: true }>): Json {
  if (answerKept || resolved !== undefined) return answer;
  throw new HoldfastError("limit_exceeded", `The effect of step ${JSON.stringify(name)} was done before, but its answer could not be stored, so the step has no output.`, {
    hint: "Return less from the step: a reference instead of the whole answer. The effect itself is not repeated.",
    details: { step: name, effect: id },
  });
}

const park = (execution: RunExecution, error: EffectUnknown, afterMs: number): Error =>
  execution.interrupt({ is: "parked", reason: "effect_unknown", step: error.step, effectId: error.effectId, afterMs, error });
