import type { Meter } from "../kernel/meter.ts";
import { secondsBounds } from "../kernel/meter.ts";
import type { ToolOutcome } from "../tools/run-tool.ts";
import type { ToolObserver } from "../tools/tool-observer.ts";

/** Negative answers: no error, but the caller did not get what it requested. */
const refusals: Readonly<Record<string, { readonly member: string; readonly kind: "lease" | "workflow" }>> = {
  lease_acquire: { member: "acquired", kind: "lease" },
  lease_renew: { member: "renewed", kind: "lease" },
  workflow_claim: { member: "claimed", kind: "workflow" },
};

export function openToolMetrics(meter: Meter): ToolObserver {
  const calls = meter.counter("holdfast_tool_calls_total", "Tool calls by outcome: ok or an error code.", ["tool", "outcome"]);
  const seconds = meter.histogram("holdfast_tool_call_seconds", "Duration of tool calls, including time spent in queues.", secondsBounds, ["tool"]);
  const inFlight = meter.level("holdfast_tool_calls_in_flight", "Tool calls in progress.").of();
  const refused = meter.counter("holdfast_holds_refused_total", "Leases and claims refused, because another agent holds them or there is nothing to claim.", ["kind"]);
  for (const kind of ["lease", "workflow"]) refused.of(kind);
  return {
    began() {
      inFlight.add(1);
      return meter.nowMs();
    },
    ended(beganMs, { name }, outcome) {
      inFlight.add(-1);
      seconds.of(name).record((meter.nowMs() - beganMs) / 1_000);
      calls.of(name, outcome.ok ? "ok" : outcome.error.code).add();
      const refusal = refusalOf(name, outcome);
      if (refusal !== undefined) refused.of(refusal).add();
    },
  };
}

function refusalOf(tool: string, outcome: ToolOutcome): "lease" | "workflow" | undefined {
  const known = outcome.ok && Object.hasOwn(refusals, tool) ? refusals[tool] : undefined;
  return known !== undefined && outcome.ok && outcome.structured[known.member] === false ? known.kind : undefined;
}
