import type { Violation } from "../../../src/verify/checkers/violation.ts";
import { Violations } from "../../../src/verify/checkers/violation.ts";
import type { Call } from "./recorded-calls.ts";

export interface CallRules {
  /** What the store's URL says one call may take. */
  readonly deadlineMs: number;
  /** What the timers and the work between them may add on a quiet machine. */
  readonly slackMs: number;
}

/** A commit that comes while a batch is on its way waits for that one's end first; if that one gets no answer, only who has come within this time before is sent at all. */
const queueMs = 250;
const limitOf = ({ kind, pace = 1 }: Call, { deadlineMs, slackMs }: CallRules): number => (deadlineMs + (kind === "commit" ? queueMs : 0) + slackMs) * pace;

/** G19. However the engine fails, every call comes back within its time: answered, as a failure that changed nothing, or, for a write, as one whose outcome is unknown. */
export function checkCalls(calls: readonly Call[], rules: CallRules): readonly Violation[] {
  const violations = new Violations("G19");
  for (const call of calls) {
    const { client, kind, ended, tookMs, says } = call;
    if (ended === undefined || tookMs === undefined) violations.add("call_never_ended", `A ${kind} of ${client} has not come back.`);
    else if (tookMs > limitOf(call, rules))
      violations.add(
        "call_too_late",
        `A ${kind} of ${client} took ${tookMs} ms to end (${ended}${says === undefined ? "" : `: ${says}`}); its deadline is ${rules.deadlineMs} ms, the machine ${(call.pace ?? 1).toFixed(1)} times slower than a quiet one.`,
      );
    else if (ended === "outcome_unknown" && kind !== "commit") violations.add("read_unknown", `A ${kind} of ${client} ended as outcome_unknown, and it changes nothing.`);
    else if (!expected.includes(ended)) violations.add("unexpected_failure", `A ${kind} of ${client} ended as ${ended}: ${says}`);
  }
  return violations.list();
}

const expected: readonly string[] = ["answered", "unavailable", "outcome_unknown"];
