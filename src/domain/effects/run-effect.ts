import type { Scope } from "../../store/transact.ts";
import type { BeginInput } from "./begin-effect.ts";
import { beginEffect } from "./begin-effect.ts";
import { BegunAttempts } from "./begun-attempts.ts";
import type { EffectReport } from "./finish-effect.ts";
import { finishEffect, keepEffectAlive } from "./finish-effect.ts";
import type { RanEffect, RunningAttempt } from "./perform-effect.ts";
import { performEffect } from "./perform-effect.ts";

/** Performs an effect on this store. */
export function runEffect(scope: Scope, input: BeginInput, perform: (attempt: RunningAttempt) => Promise<EffectReport>): Promise<RanEffect> {
  // The caller's abort signal must not interrupt a report.
  const attempts = new BegunAttempts();
  const own: Scope = { ...scope, signal: undefined };
  return performEffect(
    {
      clock: scope.clock,
      liveMs: input.liveMs,
      begin: () => beginEffect(scope, input, attempts),
      keepAlive: (attempt) => keepEffectAlive(own, { ...attempt, liveMs: input.liveMs }),
      finish: (attempt, outcome) => finishEffect(own, { ...attempt, outcome }, attempts),
    },
    perform,
  );
}
