import type { BeginInput, BegunEffect } from "../../domain/effects/begin-effect.ts";
import { beginEffect } from "../../domain/effects/begin-effect.ts";
import { BegunAttempts } from "../../domain/effects/begun-attempts.ts";
import type { EffectAttempt, EffectReport } from "../../domain/effects/finish-effect.ts";
import { finishEffect } from "../../domain/effects/finish-effect.ts";
import { resolveEffect } from "../../domain/effects/resolve-effect.ts";
import { effectKeys, workflowKeys } from "../../domain/keyspace.ts";
import { isHoldfastError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import { fingerprint } from "../../kernel/json.ts";
import type { Log } from "../../kernel/log.ts";
import { jsonText } from "../../store/prepare-commit.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Scope } from "../../store/transact.ts";
import { waitForChange } from "../../store/wait-for-change.ts";
import type { TwoClocks } from "./live-call.ts";
import { LiveCall, momentOn } from "./live-call.ts";
import type { EffectCall } from "./read-call.ts";
import type { ToolRule } from "./tool-rules.ts";

export interface CallRecordsOptions {
  readonly scope: Scope;
  readonly log: Log;
  /** Separates the calls of this upstream from those of others. */
  readonly upstreamName: string;
  /** How long an equal call outside a run counts as a repeat of the first one. */
  readonly repeatMs: number;
  /** How long the calls of this process count as in flight after the process is lost. */
  readonly liveMs: number;
  /** How long a call waits for the answer to the same call from another caller. */
  readonly waitMs: number;
  /** How long recording an answer is retried. */
  readonly recordMs: number;
  /** Replaces text that looks like a secret before it is stored; see the setting `secrets`. */
  readonly withoutSecrets?: (value: Json) => Json;
}

export type BegunCall = Extract<BegunEffect, { readonly outcome: "begun" }>;

/** The records of one upstream's calls. */
export class CallRecords {
  readonly #options: CallRecordsOptions;
  readonly #attempts = new BegunAttempts();

  constructor(options: CallRecordsOptions) {
    this.#options = options;
  }

  /** The record is durable when this resolves. If another caller is making the same call, it waits for that call's answer. */
  async begin(call: EffectCall, rule: ToolRule, { signal, onWait }: { readonly signal: AbortSignal; readonly onWait: () => void }): Promise<BegunEffect> {
    const { scope, waitMs } = this.#options;
    const { store, clock } = scope;
    const untilMs = clock.nowMs() + waitMs;
    let begun = await this.#begin(call, rule);
    if (begun.outcome === "in_flight") onWait();
    while (begun.outcome === "in_flight" && clock.nowMs() < untilMs && !signal.aborted) {
      // Reading the position first ensures that no change is missed: a later change is seen by the next begin or ends the wait.
      const { revision, nowMs } = await store.position();
      begun = await this.#begin(call, rule);
      if (begun.outcome !== "in_flight") break;
      // Losing an owner writes nothing, so the wait also ends when the owner's live time does.
      const leftMs = Math.max(1, Math.min(untilMs - clock.nowMs(), begun.liveUntilMs - nowMs + 1));
      await waitForChange(store, clock, keyRange(effectKeys.record(begun.id)), revision, leftMs, signal);
    }
    return begun;
  }

  #begin({ tool, identifyingArgs, place: { run, token, step, ordinal, name } }: EffectCall, { unknown }: ToolRule): Promise<BegunEffect> {
    const { scope, upstreamName, repeatMs, liveMs, withoutSecrets } = this.#options;
    const args = storable(identifyingArgs);
    const input: BeginInput = {
      identity: { scope: upstreamName, run, step, ordinal, tool, args, name },
      guard: run === undefined || token === undefined ? undefined : { resource: workflowKeys.resource(run), token },
      liveMs,
      policy: unknown,
      // Within a run, step and ordinal distinguish equal calls, so their records are kept for the default time instead of the repeat window.
      keepMs: run === undefined ? repeatMs : undefined,
      shownArgs: withoutSecrets?.(args),
    };
    return beginEffect(scope, input, this.#attempts);
  }

  now(): TwoClocks {
    return momentOn(this.#options.scope.clock);
  }

  /** Renews the call's live time until the work ends. */
  async keepAlive<T>(begun: BegunCall, askedAt: TwoClocks, work: (live: LiveCall) => Promise<T>): Promise<T> {
    const live = new LiveCall(this.#options, begun, askedAt);
    const over = new AbortController();
    void live.giveSigns(over.signal);
    return work(live).finally(() => over.abort());
  }

  /** Retries for up to `recordMs`, because only this process has the upstream's answer. Rejects if the answer cannot be recorded or is no longer accepted. */
  async finish({ id, token }: BegunCall, outcome: EffectReport): Promise<void> {
    const { scope, recordMs, withoutSecrets } = this.#options;
    const { clock } = scope;
    const untilMs = clock.nowMs() + recordMs;
    const clean = withoutSecrets === undefined ? outcome : (withoutSecrets(outcome) as EffectReport);
    for (let delayMs = 50; ; delayMs = Math.min(1_000, 2 * delayMs)) {
      try {
        await finishEffect(scope, { id, token, outcome: clean }, this.#attempts);
        return;
      } catch (error) {
        const mayWorkLater = isHoldfastError(error, "unavailable") || isHoldfastError(error, "outcome_unknown") || isHoldfastError(error, "storage_full");
        if (!mayWorkLater || clock.nowMs() + delayMs > untilMs) throw error;
        await clock.sleep(delayMs);
      }
    }
  }

  /** Records what a reconcile tool found out about an unknown outcome. */
  async resolve({ id, token }: EffectAttempt, as: "done" | "failed", answer: Json, reason: string): Promise<void> {
    const { scope, withoutSecrets } = this.#options;
    await resolveEffect(scope, { id, token, as, answer: withoutSecrets?.(answer) ?? answer, reason });
  }
}

/** Arguments that the store cannot hold exactly, because of their size or their numbers, are identified by their digest. */
function storable(args: Json): Json {
  try {
    jsonText(args);
    return args;
  } catch {
    return { digest: fingerprint(args) };
  }
}
