import type { EffectAttempt } from "../../domain/effects/finish-effect.ts";
import { keepEffectAlive } from "../../domain/effects/finish-effect.ts";
import type { Clock } from "../../kernel/clock.ts";
import { HoldfastError, isHoldfastError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import type { Scope } from "../../store/transact.ts";

/** A moment on two clocks: the steady one may stand still while a machine sleeps, and the other can be set back. */
export interface TwoClocks {
  readonly hostMs: number;
  readonly steadyMs: number;
}

export const momentOn = (clock: Clock): TwoClocks => ({ hostMs: clock.nowMs(), steadyMs: performance.now() });
/** The longer of both measures. */
const msSince = (clock: Clock, { hostMs, steadyMs }: TwoClocks): number => Math.max(clock.nowMs() - hostMs, performance.now() - steadyMs);

/** A store that needs as long as the live time for each sign of life never lets a call leave. */
const provingMax = 3;

export interface LiveCallOptions {
  readonly scope: Scope;
  readonly log: Log;
  readonly liveMs: number;
}

/** A call that was begun: gives signs of life, and says whether it may still leave. */
export class LiveCall {
  readonly #options: LiveCallOptions;
  readonly #attempt: EffectAttempt;
  readonly #lost = new AbortController();
  /** The record was this attempt's then, or later. */
  #ownedAt: TwoClocks;

  /** `askedAt`: before its begin was sent to the store, whose answer may have taken any time. */
  constructor(options: LiveCallOptions, { id, token }: EffectAttempt, askedAt: TwoClocks) {
    this.#options = options;
    this.#attempt = { id, token };
    this.#ownedAt = askedAt;
  }

  /** Aborted when the record no longer belongs to this attempt: the effect was resolved, or begun again. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /**
   * Called right before the call leaves. Rejects if the record is lost, or if that cannot be determined: the process may have been suspended for longer
   * than its live time, and another proxy may have made the call since. Asks the store only if the last heartbeat is not recent.
   */
  async requireOwned(): Promise<void> {
    const { scope, liveMs } = this.#options;
    for (let tries = 0; ; tries += 1) {
      this.#lost.signal.throwIfAborted();
      if (msSince(scope.clock, this.#ownedAt) <= liveMs / 2) return;
      if (tries === provingMax) throw new HoldfastError("unavailable", "The store does not confirm in time that the record is still this call's.");
      await this.#giveSign();
    }
  }

  async giveSigns(over: AbortSignal): Promise<void> {
    const { scope, liveMs, log } = this.#options;
    for (;;) {
      await scope.clock.sleep(liveMs / 3, over);
      if (over.aborted) return;
      try {
        await this.#giveSign();
      } catch (error) {
        log("warn", "call_not_kept_alive", { effect: this.#attempt.id, problem: String(error) });
      }
      if (this.#lost.signal.aborted) return;
    }
  }

  async #giveSign(): Promise<void> {
    const { scope, liveMs } = this.#options;
    const at = momentOn(scope.clock);
    try {
      await keepEffectAlive(scope, { ...this.#attempt, liveMs });
      this.#ownedAt = at;
    } catch (error) {
      // A store that cannot be reached may come back in time; who has lost the record has lost it for good.
      if (isHoldfastError(error, "conflict") || isHoldfastError(error, "not_found")) this.#lost.abort(error);
      throw error;
    }
  }
}
