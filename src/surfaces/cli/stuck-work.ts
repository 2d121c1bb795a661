import { readLeaseOverview } from "../../domain/leases/lease-overview.ts";
import { findStuckWork } from "../../domain/overview/stuck-work.ts";
import { formatDuration } from "../../kernel/duration.ts";
import { readTogether } from "../../store/read-together.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { Finding } from "./doctor.ts";

const namedMax = 5;
const scannedMax = 200;

/** Work that may wait forever, as findings with a remedy for each. */
export async function stuckFindings(base: ToolBase): Promise<Finding[]> {
  const { abandoned, longHeld, awaited, unknown, nowMs } = await readTogether(base.store, async (store) => {
    const { leases, nowMs: atMs } = await readLeaseOverview({ store }, scannedMax);
    return { ...(await findStuckWork({ store }, leases, atMs)), nowMs: atMs };
  });
  return [
    finding(
      "effects",
      unknown.map((effect) => `${effect.name ?? effect.tool} (${effect.id}, begun ${formatDuration(nowMs - effect.begunAtMs)} ago)`),
      "no effect has an unknown outcome",
      (list) => `it is unknown whether these took place: ${list}`,
      "Find out what happened, then run: holdfast effect resolve ID --as done|failed",
    ),
    finding(
      "claims",
      abandoned.map((run) => `${run.runId} (${run.name}, last held by ${run.holder}, step ${run.lastStep})`),
      "no run was abandoned by its worker",
      (list) => `started, but no agent is working on: ${list}`,
      "Start a worker that claims them, or cancel with: holdfast workflow finish RUN_ID cancelled",
    ),
    finding(
      "leases",
      longHeld.map((lease) => `${lease.resource} (${lease.holder}, for ${formatDuration(nowMs - lease.heldSinceMs)})`),
      "no lease has been held for more than an hour",
      (list) => `held for more than an hour: ${list}`,
      "Check whether the holder is still working; a lease that is not renewed expires.",
    ),
    finding(
      "waiting lines",
      awaited.map((lease) => `${lease.resource} (held by ${lease.holder})`),
      "no agent is waiting for a lease",
      (list) => `agents are waiting for: ${list}`,
      "Normal while the holder works; shorter leases shorten the wait.",
    ),
  ];
}

function finding(check: string, items: readonly string[], fine: string, says: (list: string) => string, fix: string): Finding {
  if (items.length === 0) return { check, status: "ok", says: fine };
  const more = items.length > namedMax ? ` and ${items.length - namedMax} more` : "";
  return { check, status: "warn", says: says(items.slice(0, namedMax).join(", ") + more), fix };
}
