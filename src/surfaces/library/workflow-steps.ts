import { invalidInput } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import { performEffectStep } from "./effect-step.ts";
import { requireWait } from "./require-wait.ts";
import type { RunExecution } from "./run-execution.ts";
import { backoffOf } from "./step-backoff.ts";
import type { SignalOptions, StepAttempt, StepLimits, StepOptions, StepOutput, WorkflowSteps } from "./workflow.ts";
import { signalKey } from "./workflow-signals.ts";

/** The stored record of a step, under its number. A sleep or a wait first stores its end time, and is marked done later. */
type StepRecord =
  | { readonly step: string; readonly kind: "run"; readonly output?: Json }
  | { readonly step: string; readonly kind: "sleep"; readonly untilMs: number; readonly done?: true }
  | { readonly step: string; readonly kind: "signal"; readonly signal: string; readonly untilMs?: number; readonly done?: true; readonly output?: Json; readonly version?: number };

interface KnownStep {
  readonly number: number;
  readonly record: StepRecord;
}

/** The steps of a run during one worker's execution. */
export class StoredSteps implements WorkflowSteps {
  readonly #execution: RunExecution;
  readonly #limits: StepLimits;
  readonly #known = new Map<string, KnownStep>();
  /** Names used in this execution: a second step of the same name would silently get the first one's output. */
  readonly #used = new Set<string>();
  #last = 0;

  constructor(execution: RunExecution, stored: readonly { readonly step: number; readonly output: Json }[], limits: StepLimits) {
    this.#execution = execution;
    this.#limits = limits;
    for (const { step, output } of stored) {
      this.#last = Math.max(this.#last, step);
      if (isStepRecord(output)) this.#known.set(output.step, { number: step, record: output });
    }
  }

  async run<Output extends StepOutput>(name: string, work: (attempt: StepAttempt) => Promise<Output> | Output, options: StepOptions = {}): Promise<Output> {
    const known = this.#begin(name, "run");
    if (known !== undefined) return known.output as Output;
    const output = options.effect === true ? await performEffectStep(this.#execution, name, work, options, this.#limits, this.#pause) : await this.#tryWork(work, options);
    // The effect is already recorded, so a crash after this repeats nothing.
    await this.#save({ step: name, kind: "run", ...(output === undefined ? {} : { output: output as Json }) });
    return output as Output;
  }

  async sleep(name: string, ms: number): Promise<void> {
    const known = this.#begin(name, "sleep");
    if (known?.done) return;
    const untilMs = known?.untilMs ?? this.#execution.storeNowMs() + requireWait(ms, "ms");
    if (known === undefined) await this.#save({ step: name, kind: "sleep", untilMs });
    const leftMs = untilMs - this.#execution.storeNowMs();
    if (leftMs > this.#limits.holdMs) throw this.#execution.interrupt({ is: "parked", reason: "sleep", step: name, afterMs: leftMs });
    await this.#pause(leftMs);
    await this.#save({ step: name, kind: "sleep", untilMs, done: true });
  }

  async waitFor<Payload extends Json = Json>(signal: string, { timeoutMs, name = signal }: SignalOptions = {}): Promise<Payload | undefined> {
    const known = this.#begin(name, "signal");
    if (known?.done) return known.output as Payload | undefined;
    const execution = this.#execution;
    const { holdfast, runId } = execution.run;
    const untilMs = known === undefined ? (timeoutMs === undefined ? undefined : execution.storeNowMs() + requireWait(timeoutMs, "timeoutMs")) : known.untilMs;
    const record = { step: name, kind: "signal", signal, ...(untilMs === undefined ? {} : { untilMs }) } as const;
    if (known === undefined) await this.#save(record);
    const key = signalKey(runId, signal);
    const leftMs = (untilMs ?? Number.POSITIVE_INFINITY) - execution.storeNowMs();
    const versionAbove = this.#takenVersion(signal);
    const entry = await execution.call(holdfast.state.waitFor(key, { versionAbove, timeoutMs: Math.max(0, Math.min(leftMs, this.#limits.holdMs)), signal: execution.signal }));
    execution.requireGoing();
    if (entry !== undefined && entry.version > versionAbove) {
      await this.#save({ ...record, done: true, output: entry.value, version: entry.version });
      // A newer signal is kept.
      await execution.call(holdfast.state.delete(key, { expectedVersion: entry.version, lease: execution.run.claim, agent: execution.run.agent }));
      return entry.value as Payload;
    }
    const restMs = (untilMs ?? Number.POSITIVE_INFINITY) - execution.storeNowMs();
    if (restMs > 0) throw execution.interrupt({ is: "parked", reason: "signal", step: name, awaited: { key, versionAbove }, afterMs: Math.min(restMs, this.#limits.lookAgainMs) });
    await this.#save({ ...record, done: true });
    return undefined;
  }

  /** The highest version of this signal that a step has received: after a crash, a received signal may still be stored. */
  #takenVersion(signal: string): number {
    const versions = [...this.#known.values()].map(({ record }) => (record.kind === "signal" && record.signal === signal ? (record.version ?? 0) : 0));
    return Math.max(0, ...versions);
  }

  #begin<Kind extends StepRecord["kind"]>(name: string, kind: Kind): Extract<StepRecord, { readonly kind: Kind }> | undefined {
    this.#execution.requireGoing();
    if (typeof name !== "string" || name === "") throw invalidInput("name", "must be a non-empty string");
    if (this.#used.has(name)) throw invalidInput("name", `each step of a workflow needs a name of its own; ${JSON.stringify(name)} was used twice`);
    this.#used.add(name);
    const record = this.#known.get(name)?.record;
    if (record !== undefined && record.kind !== kind) throw invalidInput("name", `${JSON.stringify(name)} is stored as a step of another kind (${record.kind}, not ${kind})`);
    return record as Extract<StepRecord, { readonly kind: Kind }> | undefined;
  }

  async #save(record: StepRecord): Promise<void> {
    this.#execution.requireGoing();
    const { holdfast, runId, claim, agent } = this.#execution.run;
    // The number is reserved before the call, because concurrent steps need different numbers.
    const number = this.#known.get(record.step)?.number ?? this.#last + 1;
    this.#last = Math.max(this.#last, number);
    this.#known.set(record.step, { number, record });
    await this.#execution.call(holdfast.workflows.checkpoint(runId, number, record as unknown as Json, { token: claim.token, agent }));
  }

  async #tryWork<Output>(work: (attempt: StepAttempt) => Promise<Output> | Output, { retries = 0, backoffMs }: StepOptions): Promise<Output> {
    const { signal } = this.#execution;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work({ attempt, signal });
      } catch (error) {
        this.#execution.requireGoing();
        if (attempt > retries) throw error;
        await this.#pause(backoffOf(attempt, backoffMs));
      }
    }
  }

  /** Throws if the run is interrupted during the pause. */
  readonly #pause = async (ms: number): Promise<void> => {
    if (ms > 0) await this.#execution.run.clock.sleep(ms, this.#execution.signal);
    this.#execution.requireGoing();
  };
}

/** True for steps written by this runner; other programs may have reported steps of the same run. */
const isStepRecord = (output: Json): output is StepRecord & Json => {
  const { step, kind } = (output ?? {}) as { readonly step?: unknown; readonly kind?: unknown };
  return typeof step === "string" && (kind === "run" || kind === "sleep" || kind === "signal");
};
