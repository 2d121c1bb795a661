import type { Clock } from "../kernel/clock.ts";
import { HoldfastError } from "../kernel/errors.ts";
import type { Log } from "../kernel/log.ts";
import type { Embedder } from "../search/embedder.ts";
import { isRefusedText } from "../search/embedder.ts";

export const guardLimits = {
  /** A question is answered without the model rather than late. */
  askedMsMax: 500,
  storedMsMax: 30_000,
  /** After this many failures in a row, no calls are made for `restMs`. Then one call tries again. */
  failuresMax: 3,
  restMs: 30_000,
  inFlightMax: 8,
} as const;

/** Questions use `asking`; background work has more time. Both share the known state of the model's health. */
export interface GuardedEmbedder {
  readonly asking: Embedder;
  readonly background: Embedder;
}

/** A circuit breaker: limits the time of each call, and stops calling a model that does not answer. */
export function guardEmbedder(embedder: Embedder, { clock, log }: { readonly clock: Clock; readonly log: Log }): GuardedEmbedder {
  const { modelId } = embedder;
  let [failures, inFlight, restsUntilMs] = [0, 0, Number.NEGATIVE_INFINITY];
  const guarded = (limitMs: number): Embedder => ({
    modelId,
    async embed(texts, as, signal) {
      const now = clock.nowMs();
      // A clock that was set back must not make the rest longer.
      if (now < restsUntilMs && now >= restsUntilMs - guardLimits.restMs)
        throw new HoldfastError("unavailable", "The embedding model has failed several times in a row; it will be tried again later.");
      if (inFlight >= guardLimits.inFlightMax) throw new HoldfastError("unavailable", "The embedding model is busy.");
      const [late, ended] = [new AbortController(), new AbortController()];
      void clock.rest(limitMs, ended.signal).then(() => late.abort());
      inFlight += 1;
      try {
        const answer = await Promise.race([embedder.embed(texts, as, AbortSignal.any([signal, late.signal])), whenAborted(late.signal)]);
        failures = 0;
        return answer;
      } catch (error) {
        if (signal.aborted) throw error;
        // A refusal is an answer: one caller's text must not switch the model off for all.
        failures = isRefusedText(error) ? 0 : failures + 1;
        if (failures >= guardLimits.failuresMax) {
          restsUntilMs = clock.nowMs() + guardLimits.restMs;
          // Only the first time: an endpoint that is down for a day is one event.
          if (failures === guardLimits.failuresMax) log("warn", "embeddings_unavailable", { model: modelId, problem: error instanceof Error ? error.message : String(error) });
        }
        throw error;
      } finally {
        inFlight -= 1;
        ended.abort();
      }
    },
  });
  return { asking: guarded(guardLimits.askedMsMax), background: guarded(guardLimits.storedMsMax) };
}

const whenAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new HoldfastError("unavailable", "The embedding model did not answer in time.")), { once: true });
  });
