import { beginEffect } from "../../domain/effects/begin-effect.ts";
import { BegunAttempts } from "../../domain/effects/begun-attempts.ts";
import { listEffects, readEffect } from "../../domain/effects/find-effects.ts";
import { finishEffect, keepEffectAlive } from "../../domain/effects/finish-effect.ts";
import { resolveEffect } from "../../domain/effects/resolve-effect.ts";
import type { CallOptions } from "./call-options.ts";
import type { LibraryBase } from "./call-scope.ts";
import { pageDefault, scopeOf } from "./call-scope.ts";
import { liveMsDefault, onceOver } from "./effect-once.ts";
import type { EffectOptions, Effects } from "./effects.ts";

/** These methods are idempotent, so they store no answer under a request key. `begin` uses the key as its nonce, because a transport may deliver the call twice. */
export function bindEffects(base: LibraryBase): Effects {
  const attempts = new BegunAttempts();
  const parts: Omit<Effects, "once"> = {
    async begin(identity, options: EffectOptions & CallOptions & { readonly nonce?: string } = {}) {
      const { guard, liveMs = liveMsDefault, policy, keepMs = base.effectKeepMs, workspace, shownArgs, nonce, agent, signal } = options;
      const input = { identity, guard, liveMs, policy, keepMs, workspace, shownArgs, nonce };
      return beginEffect(scopeOf(base, { agent, signal }, "effects.begin", {}), input, attempts);
    },
    keepAlive: async ({ id, token }, options = {}) => keepEffectAlive(scopeOf(base, options, "effects.keepAlive", {}), { id, token, liveMs: options.liveMs ?? liveMsDefault }),
    finish: async ({ id, token }, outcome, options = {}) => finishEffect(scopeOf(base, options, "effects.finish", {}), { id, token, outcome }, attempts),
    resolve: async (input, options = {}) => resolveEffect(scopeOf(base, options, "effects.resolve", {}), input),
    get: async (id) => readEffect(base.scope, id),
    list: async ({ limit = pageDefault, ...query } = {}) => listEffects(base.scope, { ...query, limit }),
  };
  return { ...parts, once: onceOver(parts, base.scope.clock) };
}
