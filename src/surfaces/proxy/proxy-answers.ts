import type { BegunEffect } from "../../domain/effects/begin-effect.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import type { ServerMessage } from "../connect/messages-in.ts";
import type { RequestId } from "../mcp/json-rpc.ts";
import { isPlainObject } from "../mcp/json-rpc.ts";
import type { SentOutcome, StoredAnswer } from "./judge-answer.ts";
import type { EffectCall } from "./read-call.ts";
import { ordinalArgument, placeKey } from "./read-call.ts";

/** Marks answers that come from the proxy or from a record, in `_meta`. Calls use the same key for their CallPlace. */
const markerKey = placeKey;

type Marker = Readonly<Record<string, unknown>>;
type Answered = Pick<EffectCall, "id" | "isStateless">;

const resultLine = (id: RequestId, result: Readonly<Record<string, unknown>>): string => JSON.stringify({ jsonrpc: "2.0", id, result });
const textOf = (text: string) => ({ type: "text", text });

/** Returns a tool result instead of a protocol error, because clients show tool results to the model. */
const toolError = ({ id, isStateless }: Answered, text: string, marker: Marker, more: readonly unknown[] = []): string =>
  resultLine(id, { ...(isStateless ? { resultType: "complete" } : {}), content: [textOf(text), ...more], isError: true, _meta: { [markerKey]: marker } });

/** The recorded answer of the first call, with a sentence that says so. */
export function recordedLine(
  call: Pick<EffectCall, "id" | "place" | "isStateless">,
  { id: effect, answer, answerKept, resolved, doneAtMs, attempts }: Extract<BegunEffect, { outcome: "done" }>,
): string {
  const at = new Date(doneAtMs).toISOString();
  const marker = { id: effect, state: "done", answered_from_record: true, done_at: at, attempts, ...(resolved === undefined ? {} : { resolved }) };
  const who =
    resolved === undefined
      ? ""
      : resolved === "policy"
        ? " It was assumed done by policy: no answer of the upstream is known."
        : " Its outcome was unknown and then resolved as done.";
  const note = `This call was made before: what you see is its recorded answer of ${at} (effect ${effect}), and it was not made again.${who} ${againOnPurpose(call)}`;
  const stored = (isPlainObject(answer) && answerKept ? answer : {}) as Partial<Record<"result" | "error" | "text", unknown>> & Partial<StoredAnswer>;
  if (stored.error !== undefined)
    return JSON.stringify({ jsonrpc: "2.0", id: call.id, error: { ...(stored.error as object), data: { ...dataOf(stored.error), [markerKey]: { ...marker, note } } } });
  const result = isPlainObject(stored.result) ? stored.result : {};
  const content = Array.isArray(result.content) ? result.content : [];
  const kept = stored.text === undefined ? [] : [textOf(String(stored.text))];
  const lost = answerKept || resolved !== undefined ? [] : [textOf("Its answer was too large to be recorded.")];
  return resultLine(call.id, {
    ...(call.isStateless ? { resultType: "complete" } : {}),
    ...result,
    content: [...content, ...kept, ...lost, textOf(note)],
    _meta: { ...(isPlainObject(result._meta) ? result._meta : {}), [markerKey]: marker },
  });
}

const dataOf = (error: unknown): object => {
  const { data } = error as { readonly data?: unknown };
  return isPlainObject(data) ? data : data === undefined ? {} : { data };
};

const againOnPurpose = ({ place: { name, ordinal = 1 } }: Pick<EffectCall, "place">): string =>
  name === undefined
    ? `To make it once more on purpose, repeat it with the additional argument ${ordinalArgument}: ${ordinal + 1}.`
    : `To make it once more on purpose, give it another name than ${JSON.stringify(name)}.`;

const resolveHint = (effect: string): string =>
  `Find out on the other side whether it took effect. Then run "holdfast effect resolve ${effect} --as done" or "--as failed", or call the tool effects of a Holdfast server; after "failed" the call can be repeated.`;

export function unknownLine(call: Answered, effect: string, reason: string): string {
  return toolError(
    call,
    `It is unknown whether this call took effect: ${reason}. It is recorded as effect ${effect} and will not be made again automatically. ${resolveHint(effect)}`,
    {
      id: effect,
      state: "unknown",
      reason,
    },
  );
}

export function inFlightLine(call: Answered, { id: effect, sinceMs, agent }: Extract<BegunEffect, { outcome: "in_flight" }>): string {
  const since = new Date(sinceMs).toISOString();
  return toolError(
    call,
    `The same call has been in flight since ${since}${agent === undefined ? "" : ` (${agent})`}, and its answer has not come yet (effect ${effect}). This one was not made. Repeat it later to get the answer.`,
    {
      id: effect,
      state: "intended",
      since,
    },
  );
}

/** The call was not sent, because its record could not be written or does not allow the call. */
export function refusedLine(call: Answered, error: unknown): string {
  const { code, message, hint } = error instanceof HoldfastError ? error : new HoldfastError("internal", "Holdfast failed in a way it should not; its log has the details.");
  return toolError(call, `This call was not made: ${message}${hint === undefined ? "" : ` ${hint}`}`, { code, state: "not_made" });
}

/** The call was sent, but its outcome could not be recorded. */
export function unrecordedLine(call: Pick<EffectCall, "id" | "place" | "isStateless">, effect: string, error: unknown, outcome: SentOutcome): string {
  const why = error instanceof HoldfastError ? error.message : "an internal error";
  const said = outcome.kind === "answered" ? contentOf(outcome.message) : [];
  return toolError(
    call,
    `This call was made, but what became of it could not be recorded: ${why} It is effect ${effect}; unless its record says otherwise, its outcome counts as unknown. ${resolveHint(effect)}${said.length === 0 ? "" : " The upstream answered:"}`,
    { id: effect, state: "unrecorded" },
    said,
  );
}

function contentOf({ result, error }: ServerMessage): readonly unknown[] {
  if (Array.isArray(result?.content)) return result.content;
  return [textOf(JSON.stringify(result ?? error))];
}
