import type { EffectPolicy } from "../../domain/effects/effect.ts";
import type { Clock } from "../../kernel/clock.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import type { LeaseRef, Tags } from "./holdfast.ts";

/** The return type of a step or a workflow; the value is stored as JSON. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing is a step too.
export type StepOutput = Json | undefined | void;

export interface StepAttempt {
  /** 1, 2, 3 …; every worker starts at 1. */
  readonly attempt: number;
  /** Aborts when this worker must stop, for example because it lost the run. */
  readonly signal: AbortSignal;
  /** For an effect: an id that is the same for every attempt. Pass it to the other side as the idempotency key, if it accepts one. */
  readonly effectId?: string;
}

export interface StepOptions {
  /** How often a failing step is retried before its error is thrown; 0 by default. */
  readonly retries?: number;
  /** Delay before the first retry, doubled for each further one up to a minute; 1 second by default. */
  readonly backoffMs?: number;
  /** Set it if the step acts outside the store and must not happen twice: it is recorded before and after. */
  readonly effect?: boolean;
  /** For an effect: its arguments. The same step with different arguments fails with `conflict` and never returns the earlier answer. */
  readonly args?: Json;
  /** For an effect whose outcome is unknown: "ask" (default) parks the run, "retry" performs it again, "assume-done" treats it as done. */
  readonly policy?: EffectPolicy;
  /** For an effect: returns true if the error proves that nothing took effect, so that the step may be retried. `EffectNotDone` always does. */
  readonly isHarmless?: (error: unknown) => boolean;
}

export interface SignalOptions {
  /** How long to wait, counted from when the run first reached the step; unlimited by default. */
  readonly timeoutMs?: number;
  /** The step's name, needed if a run waits for the same signal several times; the signal's name by default. */
  readonly name?: string;
}

/** Steps are identified by their names. No worker runs a finished step again; it returns its stored output. */
export interface WorkflowSteps {
  run<Output extends StepOutput>(name: string, work: (attempt: StepAttempt) => Promise<Output> | Output, options?: StepOptions): Promise<Output>;
  /** A long sleep gives the run back; the worker that claims it afterwards continues. */
  sleep(name: string, ms: number): Promise<void>;
  /** Returns the payload sent by `signalWorkflow`; undefined after a timeout. */
  waitFor<Payload extends Json = Json>(signal: string, options?: SignalOptions): Promise<Payload | undefined>;
}

export interface WorkflowContext<Input extends Json> {
  readonly runId: string;
  readonly name: string;
  readonly tags: Tags;
  /** The input given when the run was created. */
  readonly input: Input;
  /** How many times the run has been claimed, including this time. */
  readonly attempts: number;
  /** Pass it as `lease` with your own writes, so that the store rejects those of a replaced worker. */
  readonly claim: LeaseRef;
  /** Aborts when the claim is lost, the run was cancelled, or the caller stops. */
  readonly signal: AbortSignal;
}

export type WorkflowHandler<Input extends Json, Result extends StepOutput> = (steps: WorkflowSteps, context: WorkflowContext<Input>) => Promise<Result> | Result;

export interface WorkerOptions {
  /** How long the claim lasts without a heartbeat, and so how soon another worker can take over from a dead one; 30 seconds by default. */
  readonly ttlMs?: number;
  /** The worker's name in history; each claim appends a random suffix. */
  readonly agent?: string;
  /** Stops the work: the run is given back. */
  readonly signal?: AbortSignal;
  /** A sleep or a wait for a signal that lasts longer gives the run back meanwhile; 30 seconds by default. */
  readonly holdMs?: number;
  /** How often a run that waits for a signal or for an effect's resolution is checked again; 1 minute by default. */
  readonly lookAgainMs?: number;
  /** For tests; must be monotonic. */
  readonly clock?: Pick<Clock, "nowMs" | "sleep">;
}

/** The worker options that the steps need. */
export type StepLimits = Required<Pick<WorkerOptions, "holdMs" | "lookAgainMs">>;

/** The outcome of working on a run. */
export type WorkflowOutcome<Result extends StepOutput> =
  | { readonly status: "done"; readonly runId: string; readonly result: Result }
  | { readonly status: "failed"; readonly runId: string; readonly error: Json }
  | { readonly status: "cancelled"; readonly runId: string }
  /** Given back until the sleep ends, a signal arrives or the effect is resolved. */
  | { readonly status: "parked"; readonly runId: string; readonly reason: "sleep" | "signal"; readonly step: string }
  | { readonly status: "parked"; readonly runId: string; readonly reason: "effect_unknown"; readonly step: string; readonly effectId: string }
  /** Another worker has the run, or took it over from this one. */
  | { readonly status: "held"; readonly runId: string; readonly heldBy?: string }
  /** The caller's signal aborted, and the run was given back. */
  | { readonly status: "stopped"; readonly runId: string };

/** Throw it from the work of an effect if nothing took effect, so that the step may be retried. */
export class EffectNotDone extends Error {
  override readonly name = "EffectNotDone";
}

/** An effect began, but may or may not have happened. The run is parked until the effect is resolved (`effects.resolve`). */
export class EffectUnknown extends HoldfastError {
  readonly effectId: string;
  readonly step: string;

  constructor(runId: string, step: string, effectId: string, cause?: unknown) {
    super("outcome_unknown", `Whether step ${JSON.stringify(step)} of run ${runId} took effect is unknown; the run waits until effect ${effectId} is resolved.`, {
      hint: "Find out whether it happened, and call effects.resolve with the answer.",
      details: { run_id: runId, step, effect_id: effectId },
      cause,
    });
    this.name = "EffectUnknown";
    this.effectId = effectId;
    this.step = step;
  }
}
