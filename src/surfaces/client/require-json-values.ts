import type { EffectReport } from "../../domain/effects/finish-effect.ts";
import { isHoldfastError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import { requireJson } from "../../store/require-json.ts";

/** Arguments that may hold any JSON value. */
const values = ["value", "output", "context", "input", "result", "error", "answer", "args", "shownArgs"];

/** Rejects values that `JSON.stringify` would silently change (a Date, NaN, undefined), with the same errors as the embedded library. */
export function requireJsonValues(given: Readonly<Record<string, unknown>>): void {
  for (const name of values) if (given[name] !== undefined) requireJson(given[name] as Json, name);
  if (Array.isArray(given.writes)) for (const write of given.writes as readonly { readonly value?: Json }[]) if (write?.value !== undefined) requireJson(write.value, "writes");
}

/** Never fails because of the answer: the effect happened. An answer that cannot be sent is replaced by a note with the reason. */
export function sendableReport(report: EffectReport): EffectReport {
  if (report.state === "unknown") return report;
  try {
    requireJson(report.state === "done" ? report.answer : report.error, "answer");
    return report;
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    const note = { answer_not_kept: error.message };
    return report.state === "done" ? { state: "done", answer: note } : { state: "failed", error: note };
  }
}
