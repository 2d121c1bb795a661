import type { BegunEffect } from "../../domain/effects/begin-effect.ts";
import type { EffectAttempt } from "../../domain/effects/finish-effect.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import type { Log } from "../../kernel/log.ts";
import type { ServerMessage } from "../connect/messages-in.ts";
import type { Request } from "../mcp/json-rpc.ts";
import type { CallRecords } from "./call-records.ts";
import type { SentOutcome } from "./judge-answer.ts";
import { judgeOutcome, judgeReconciled } from "./judge-answer.ts";
import type { LiveCall } from "./live-call.ts";
import { inFlightLine, recordedLine, refusedLine, unknownLine, unrecordedLine } from "./proxy-answers.ts";
import type { EffectCall } from "./read-call.ts";
import { lineFor } from "./read-call.ts";
import type { ToolRule } from "./tool-rules.ts";

/** A call, and the connection that carries it. */
export interface JournalledCall {
  readonly call: EffectCall;
  readonly message: Request;
  /** The message exactly as the client sent it. */
  readonly line: string;
  readonly rule: ToolRule;
  /** Aborted when the client cancels the call. */
  readonly signal: AbortSignal;
  readonly records: CallRecords;
  readonly log: Log;
  /** Yields the call's turn when it is not sent yet, so that later calls need not wait for it. */
  standAside(): void;
  /** Sends the call to the upstream and resolves with its outcome. An answer that arrives after that goes to `onLate`. */
  send(line: string, live: LiveCall, onLate: (outcome: SentOutcome) => void): Promise<SentOutcome>;
  /** Calls a read-only tool of the upstream for the proxy itself; undefined if the tool is not read-only or does not answer. */
  askReadOnly(tool: string, args: Readonly<Record<string, unknown>>): Promise<ServerMessage | undefined>;
}

/**
 * Makes one call of a tool with an effect. The intent is recorded before the call is sent, and the answer before it is passed on.
 * Resolves with the line for the client, or undefined if the client has cancelled the call and expects no answer.
 */
export async function journalCall(journalled: JournalledCall): Promise<string | undefined> {
  const { call, message, line, rule, signal, records, log } = journalled;
  const askedAt = records.now();
  let begun: BegunEffect;
  try {
    begun = await begin(journalled);
  } catch (error) {
    log("warn", "call_not_made", { tool: call.tool, problem: String(error) });
    return refusedLine(call, error);
  }
  switch (begun.outcome) {
    case "done":
      return recordedLine(call, begun);
    case "in_flight":
      return signal.aborted ? undefined : inFlightLine(call, begun);
    case "unknown":
      return unknownLine(call, begun.id, begun.reason ?? "the process that made it was lost before it had an answer");
    default:
  }
  const { id } = begun;
  const attempt = begun;
  const record = (outcome: SentOutcome): Promise<void> => records.finish(attempt, judgeOutcome(outcome, rule));
  const onLate = (late: SentOutcome): void => {
    record(late).catch((error: unknown) => log("warn", "late_answer_not_recorded", { effect: id, problem: String(error) }));
  };
  const leaving = lineFor(call, message, line, { field: rule.idempotentKeyField, effectId: id });
  let outcome: SentOutcome;
  try {
    outcome = await records.keepAlive(attempt, askedAt, (live) => journalled.send(leaving, live, onLate));
  } catch (error) {
    log("warn", "call_not_made", { tool: call.tool, effect: id, problem: String(error) });
    // If another attempt owns the record by now, this changes nothing.
    await record({ kind: "lost", reason: "it was not sent: its record could not be confirmed", mayHaveHappened: false }).catch(() => undefined);
    return refusedLine(call, error);
  }
  try {
    await record(outcome);
  } catch (error) {
    log("warn", "answer_not_recorded", { effect: id, problem: String(error) });
    if (outcome.kind === "answered" || outcome.mayHaveHappened) return unrecordedLine(call, id, error, outcome);
    return signal.aborted ? undefined : refusedLine(call, error);
  }
  if (outcome.kind === "answered") return outcome.text;
  if (signal.aborted) return undefined;
  return outcome.mayHaveHappened ? unknownLine(call, id, outcome.reason) : (outcome.line ?? refusedLine(call, new HoldfastError("unavailable", `${outcome.reason}.`)));
}

async function begin(journalled: JournalledCall): Promise<BegunEffect> {
  const { call, rule, signal, records, standAside } = journalled;
  const begun = await records.begin(call, rule, { signal, onWait: standAside });
  if (begun.outcome !== "unknown" || rule.reconcile === undefined) return begun;
  standAside();
  return (await reconcile(journalled, begun)) ? records.begin(call, rule, { signal, onWait: standAside }) : begun;
}

/** Returns true if the outcome is now known, so that beginning again either sends the call or returns its answer. */
async function reconcile({ call, rule, records, askReadOnly, log }: JournalledCall, { id: effect, token }: EffectAttempt): Promise<boolean> {
  const { reconcile: tool = "", reconcileMember = "found" } = rule;
  const args = rule.idempotentKeyField === undefined ? call.args : { ...call.args, [rule.idempotentKeyField]: effect };
  const answer = await askReadOnly(tool, args);
  const found = answer && judgeReconciled(answer, reconcileMember);
  log("info", "call_reconciled", { effect, tool, found: found ?? "unknown" });
  // The call may have left and not have arrived yet: only a person who knows the upstream can say that this cannot be.
  if (found === undefined || (!found && rule.reconcileAbsent !== "failed")) return false;
  await records.resolve({ id: effect, token }, found ? "done" : "failed", found ? { result: answer?.result as Json } : null, `${tool} ${found ? "found" : "did not find"} it`);
  return true;
}
