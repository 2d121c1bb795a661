import type { ServerResponse } from "node:http";
import { Budget } from "../../../kernel/budget.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { FairQueue } from "../../../kernel/fair-queue.ts";
import type { AnswerGate } from "../../../store/answer-gates.ts";
import { AnswerGates } from "../../../store/answer-gates.ts";

/** Bytes of responses being built: for all callers, for one caller, and the reserve for callers that hold nothing; and how many calls of one caller may wait for memory. */
export const answerLimits = { bytesMax: 67_108_864, principalBytesMax: 25_165_824, reserveBytesMax: 16_777_216, principalWaitingMax: 1_024 } as const;

type AnswerLimits = { readonly [Name in keyof typeof answerLimits]: number };

export const openAnswerGates = ({ turn }: Pick<Clock, "turn">, limits: AnswerLimits = answerLimits): AnswerGates =>
  new AnswerGates({
    budget: new Budget(limits.bytesMax, { ownerBytesMax: limits.principalBytesMax, reserveBytesMax: limits.reserveBytesMax, ownerWaitingMax: limits.principalWaitingMax }),
    queue: new FairQueue({ turn, nowMs: () => performance.now() }),
  });

/** A response takes memory until the client has received it. A small one is not worth a listener. */
export function releaseWhenSent(gate: AnswerGate, response: ServerResponse): void {
  if (gate.heldBytes < smallAnswerBytes || response.closed || response.writableFinished) gate.release();
  else response.once("close", () => gate.release());
}
const smallAnswerBytes = 65_536;
