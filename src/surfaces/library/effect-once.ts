import type { EffectReport } from "../../domain/effects/finish-effect.ts";
import type { EffectParts, RanEffect } from "../../domain/effects/perform-effect.ts";
import { performEffect } from "../../domain/effects/perform-effect.ts";
import type { Json } from "../../kernel/json.ts";
import type { Effects, OnceResult } from "./effects.ts";

export const liveMsDefault = 60_000;

/** Implements `effects.once` with the other methods, so that it works the same on an embedded store and over a server. */
export function onceOver({ begin, keepAlive, finish }: Pick<Effects, "begin" | "keepAlive" | "finish">, clock: EffectParts["clock"]): Effects["once"] {
  return async <Answer extends Json>(...[identity, perform, { isHarmless, signal: _, ...options } = {}]: Parameters<Effects["once"]>): Promise<OnceResult<Answer>> => {
    const { liveMs = liveMsDefault, agent } = options;
    const harmless: { error?: unknown } = {};
    const parts: EffectParts = {
      clock,
      liveMs,
      begin: () => begin(identity, { ...options, liveMs }),
      keepAlive: (attempt) => keepAlive(attempt, { liveMs, agent }),
      finish: (attempt, report) => finish(attempt, report, { agent }),
    };
    const ran = await performEffect(parts, async (attempt): Promise<EffectReport> => {
      try {
        return { state: "done", answer: await perform(attempt) };
      } catch (error) {
        if (isHarmless?.(error) !== true) throw error;
        harmless.error = error;
        return { state: "failed", error: error instanceof Error ? error.message : String(error) };
      }
    });
    if ("error" in harmless) throw harmless.error;
    return toOnceResult<Answer>(ran);
  };
}

function toOnceResult<Answer extends Json>(ran: RanEffect): OnceResult<Answer> {
  const { id } = ran;
  if (ran.outcome === "performed") {
    const answer = ran.report.state === "done" ? ran.report.answer : null;
    return { ok: true, id, answer: answer as Answer, repeated: false, answerKept: true, attempts: ran.attempt };
  }
  if (ran.outcome === "done") return { ok: true, id, answer: ran.answer as Answer, repeated: true, answerKept: ran.answerKept, resolved: ran.resolved, attempts: ran.attempts };
  return { ok: false, id, reason: ran.outcome, sinceMs: ran.sinceMs, agent: ran.agent, attempts: ran.attempts };
}
