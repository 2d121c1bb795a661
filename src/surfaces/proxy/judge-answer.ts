import type { EffectReport } from "../../domain/effects/finish-effect.ts";
import type { Json } from "../../kernel/json.ts";
import type { ServerMessage } from "../connect/messages-in.ts";
import { isPlainObject } from "../mcp/json-rpc.ts";
import { inexactNumbersIn } from "./inexact-numbers.ts";
import type { ToolRule } from "./tool-rules.ts";

/** The outcome of a call that was sent. */
export type SentOutcome =
  | { readonly kind: "answered"; readonly message: ServerMessage; readonly text: string }
  /** `line` is the transport's error response, if there is one. */
  | { readonly kind: "lost"; readonly reason: string; readonly mayHaveHappened: boolean; readonly line?: string };

/** An answer as stored: its result or error, or the whole text if parsing would change a number in it. */
export type StoredAnswer = { readonly result: Json } | { readonly error: Json } | { readonly text: string };

/**
 * Protocol errors for requests that were not carried out: unreadable (-32700, -32600), unknown method (-32601), invalid parameters (-32602),
 * wrong headers, capabilities or protocol revision (-32020 to -32022), or a page that the user must visit first (-32042).
 */
const notCarriedOut: ReadonlySet<unknown> = new Set([-32_700, -32_600, -32_601, -32_602, -32_020, -32_021, -32_022, -32_042]);

/** Decides what to record. Any other error counts as the call's answer, so that the call is not silently repeated. */
export function judgeOutcome(outcome: SentOutcome, { errors }: ToolRule): EffectReport {
  if (outcome.kind === "lost") return outcome.mayHaveHappened ? { state: "unknown", reason: outcome.reason } : { state: "failed", error: { reason: outcome.reason } };
  const { message, text } = outcome;
  const { result, error } = message;
  // The call is not over: the client has to call again with the input that the upstream requires.
  if (result?.resultType === "input_required") return { state: "failed", error: { reason: "the upstream requires input first" } };
  const isRefused = error !== undefined && notCarriedOut.has(isPlainObject(error) ? error.code : undefined);
  if (isRefused || (result?.isError === true && errors === "retryable")) return { state: "failed", error: storedAnswer(message, text) };
  if (result === undefined && error === undefined) return { state: "unknown", reason: "the upstream's answer has neither a result nor an error" };
  return { state: "done", answer: storedAnswer(message, text) };
}

const storedAnswer = ({ result, error }: ServerMessage, text: string): Json & StoredAnswer => {
  if (inexactNumbersIn(text).length > 0) return { text };
  return error === undefined ? { result: result as Json } : { error: error as Json };
};

/**
 * Whether the reconcile tool found evidence of the unknown call: `member` of its answer is `true` or not empty.
 * Undefined if the answer is an error or has no such member.
 */
export function judgeReconciled(message: ServerMessage, member: string): boolean | undefined {
  const { result } = message;
  if (result === undefined || result.isError === true) return undefined;
  const answer = isPlainObject(result.structuredContent) ? result.structuredContent : jsonContentOf(result.content);
  if (answer === undefined || !Object.hasOwn(answer, member)) return undefined;
  const found = answer[member];
  if (typeof found === "boolean") return found;
  if (found === null || found === "" || found === 0) return false;
  return typeof found === "object" ? Object.keys(found as object).length > 0 : true;
}

/** The JSON object in an answer with exactly one text part. */
function jsonContentOf(content: unknown): Record<string, unknown> | undefined {
  const texts = Array.isArray(content) ? content.filter((part) => isPlainObject(part) && part.type === "text") : [];
  if (texts.length !== 1) return undefined;
  try {
    const value: unknown = JSON.parse(String((texts[0] as Record<string, unknown>).text));
    return isPlainObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
