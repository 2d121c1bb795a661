import type { BeginInput, BegunEffect } from "../../domain/effects/begin-effect.ts";
import type { EffectState, Resolver } from "../../domain/effects/effect.ts";
import type { EffectDetail, EffectPage, EffectQuery } from "../../domain/effects/find-effects.ts";
import type { EffectAttempt, EffectReport, FinishedEffect } from "../../domain/effects/finish-effect.ts";
import type { EffectIdentity } from "../../domain/effects/identity.ts";
import type { RunningAttempt } from "../../domain/effects/perform-effect.ts";
import type { ResolveInput } from "../../domain/effects/resolve-effect.ts";
import type { Json } from "../../kernel/json.ts";
import type { CallOptions } from "./call-options.ts";

/** Options for beginning an effect; `liveMs` is one minute by default. */
export type EffectOptions = Omit<BeginInput, "identity" | "liveMs" | "nonce"> & Partial<Pick<BeginInput, "liveMs">>;

export interface OnceOptions extends EffectOptions, CallOptions {
  /** Returns true if the error proves that nothing took effect, so that the effect may begin again. Any other error leaves the outcome unknown. */
  readonly isHarmless?: (error: unknown) => boolean;
}

export type OnceResult<Answer extends Json> =
  /** `repeated` means that the effect was done before and this is its stored answer. `answerKept` is false if the answer could not be stored. */
  | {
      readonly ok: true;
      readonly id: string;
      readonly answer: Answer;
      readonly repeated: boolean;
      readonly answerKept: boolean;
      readonly resolved?: Resolver;
      readonly attempts: number;
    }
  /** `in_flight` means that a live owner is performing the effect. `unknown` means that it may have happened and must be resolved first. */
  | { readonly ok: false; readonly id: string; readonly reason: "in_flight" | "unknown"; readonly sinceMs: number; readonly agent?: string; readonly attempts: number };

/** Records actions outside the store that must not happen twice. Each happens at most once unless a caller allows a repeat, and every unknown outcome is reported. */
export interface Effects {
  /** Only the outcome `begun` allows you to perform the effect. The record is durable before this resolves. */
  begin(identity: EffectIdentity, options?: EffectOptions & CallOptions): Promise<BegunEffect>;
  /** Extends the live time of an effect that takes longer than `liveMs`. */
  keepAlive(attempt: EffectAttempt, options?: { readonly liveMs?: number } & CallOptions): Promise<{ readonly liveUntilMs: number }>;
  finish(attempt: EffectAttempt, outcome: EffectReport, options?: CallOptions): Promise<FinishedEffect>;
  /** Ends an effect whose outcome is unknown, after you have checked whether it happened. */
  resolve(input: ResolveInput, options?: CallOptions): Promise<FinishedEffect>;
  get(id: string): Promise<EffectDetail | undefined>;
  /** Lists unknown effects first, then those in flight, then ended ones, newest first. Pass `next` as `after` for the next page. */
  list(query?: Partial<EffectQuery> & { readonly state?: EffectState }): Promise<EffectPage>;
  /** Begins the effect, calls the function, keeps the record alive meanwhile and reports the outcome. A repeat gets the function's stored return value. */
  once<Answer extends Json>(identity: EffectIdentity, perform: (attempt: RunningAttempt) => Promise<Answer> | Answer, options?: OnceOptions): Promise<OnceResult<Answer>>;
}
