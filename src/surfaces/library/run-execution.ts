import type { Clock } from "../../kernel/clock.ts";
import type { ErrorCode } from "../../kernel/errors.ts";
import { isHoldfastError } from "../../kernel/errors.ts";
import type { HoldLoss } from "../../kernel/keep-alive.ts";
import { keepHold } from "../../kernel/keep-alive.ts";
import { linkedAbort } from "../../kernel/linked-abort.ts";
import type { Holdfast, LeaseRef } from "./holdfast.ts";

/** A run that this process has claimed. */
export interface ClaimedRun {
  readonly holdfast: Holdfast;
  readonly runId: string;
  readonly claim: LeaseRef;
  /** The holder's name, unique to this claim: two workers with the same name must not mistake each other's claims for their own. */
  readonly agent: string;
  readonly ttlMs: number;
  readonly clock: Pick<Clock, "nowMs" | "sleep">;
  /** The time on that clock before the claim was requested, and the store's time when the claim was granted. */
  readonly askedAtMs: number;
  readonly claimedAtStoreMs: number;
}

/** The state entry for which a parked run waits. */
export interface AwaitedSignal {
  readonly key: string;
  readonly versionAbove: number;
}

/** Why work on a run ends before its function returns. */
export type Interruption =
  | { readonly is: "lost"; readonly heldBy?: string }
  | { readonly is: "stopped" }
  | {
      readonly is: "parked";
      readonly reason: "sleep" | "signal" | "effect_unknown";
      readonly step: string;
      readonly effectId?: string;
      readonly awaited?: AwaitedSignal;
      readonly afterMs: number;
      readonly error?: Error;
    }
  /** The store failed and the run is unchanged, so the next worker continues it. */
  | { readonly is: "failing"; readonly error: unknown };

/** Thrown into the workflow's function to end it. Catching it there has no effect, because every further step throws it again. */
class RunInterrupted extends Error {
  override readonly name = "RunInterrupted";
}

/** Errors that mean this worker no longer has the run. */
const lossCodes: ReadonlySet<ErrorCode> = new Set(["claim_lost", "claim_held", "lease_lost", "workflow_finished", "not_found"]);
/** Errors caused by the workflow's own arguments; its function gets them as they are. */
const ownCodes: ReadonlySet<ErrorCode> = new Set(["invalid_input", "limit_exceeded", "conflict", "ambiguous"]);

/** A worker that cannot renew its claim stops when this fraction of the claim's time is left. */
const reserve = 1 / 10;

/** One worker's execution of a run: sends the heartbeat and holds the reason for an interruption. */
export class RunExecution {
  readonly run: ClaimedRun;
  readonly #over = new AbortController();
  readonly #abort: ReturnType<typeof linkedAbort>;
  readonly #keeping: Promise<void>;
  #interruption: Interruption | undefined;

  constructor(run: ClaimedRun, stop: AbortSignal | undefined) {
    this.run = run;
    this.#abort = linkedAbort();
    stop?.addEventListener("abort", this.#onStop, { once: true });
    if (stop?.aborted) this.#onStop();
    const { holdfast, runId, claim, agent, ttlMs, clock, askedAtMs } = run;
    const renew = () => holdfast.workflows.renew(runId, { ttlMs, token: claim.token, agent });
    this.#keeping = keepHold({ clock, ttlMs, reserveMs: ttlMs * reserve, grantedAtMs: askedAtMs, renewAtOnce: false, renew }, this.#over.signal).then((loss) => {
      stop?.removeEventListener("abort", this.#onStop);
      if (loss !== undefined) this.interrupt({ is: "lost", heldBy: heldBy(loss) });
    });
  }

  /** Aborts when work on the run must stop. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get interruption(): Interruption | undefined {
    return this.#interruption;
  }

  /** Stores the first reason only. Returns the error for the caller to throw. */
  interrupt(interruption: Interruption): Error {
    this.#interruption ??= interruption;
    const error = this.#error(this.#interruption);
    this.#abort.abort(error);
    return error;
  }

  requireGoing(): void {
    if (this.#interruption !== undefined) throw this.#error(this.#interruption);
  }

  /** The store's time, estimated from the claim and the local monotonic clock. */
  storeNowMs(): number {
    const { clock, askedAtMs, claimedAtStoreMs } = this.run;
    return claimedAtStoreMs + (clock.nowMs() - askedAtMs);
  }

  /** Awaits a store call for this run. Interrupts the run if the call fails or shows that this worker no longer has the run. */
  async call<Answer>(asked: Promise<Answer>): Promise<Answer> {
    try {
      return await asked;
    } catch (error) {
      if (isHoldfastError(error) && ownCodes.has(error.code)) throw error;
      throw this.interrupt(isHoldfastError(error) && lossCodes.has(error.code) ? { is: "lost" } : { is: "failing", error });
    }
  }

  /** Stops the heartbeat after the work has ended in any way. */
  async end(): Promise<void> {
    this.#over.abort();
    await this.#keeping;
  }

  readonly #onStop = (): void => void this.interrupt({ is: "stopped" });

  #error(interruption: Interruption): Error {
    if (interruption.is === "parked" && interruption.error !== undefined) return interruption.error;
    const why = { lost: "another worker has it, or it was cancelled", stopped: "the worker stops", parked: "it was given back until later", failing: "the store failed" };
    return new RunInterrupted(`Run ${this.run.runId} is interrupted: ${why[interruption.is]}.`, interruption.is === "failing" ? { cause: interruption.error } : undefined);
  }
}

const heldBy = (loss: HoldLoss): string | undefined => (loss.is === "taken" ? loss.heldBy : undefined);
