import { readLeaseOverview } from "../../domain/leases/lease-overview.ts";
import { findRuns } from "../../domain/workflows/find-runs.ts";
import { formatDuration } from "../../kernel/duration.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { Finding } from "./doctor.ts";

const longHeldMs = 3_600_000;
const namedMax = 5;
const scannedMax = 200;

/** What waits for somebody who may never come: lapsed claims, leases held for long, lines of waiters. */
export async function findStuckWork(base: ToolBase): Promise<Finding[]> {
  const { leases, nowMs } = await readLeaseOverview(base, scannedMax);
  const old = leases.filter((lease) => nowMs - lease.heldSinceMs > longHeldMs);
  const awaited = leases.filter((lease) => lease.awaited);
  const lapsed = await lapsedRuns(base);
  return [
    finding(
      "claims",
      lapsed.map((run) => `${run.runId} (${run.name}, last held by ${run.agentId ?? "nobody"}, step ${run.lastStep})`),
      "no run was left behind by its worker",
      (list) => `begun, but nobody works on: ${list}`,
      "Start a worker that claims them, or cancel with: holdfast workflow finish RUN_ID cancelled",
    ),
    finding(
      "leases",
      old.map((lease) => `${lease.resource} (${lease.holder}, for ${formatDuration(nowMs - lease.heldSinceMs)})`),
      "no lease has been held for more than an hour",
      (list) => `held for more than an hour: ${list}`,
      "Check whether the holder still works; a lease that is not renewed ends by itself.",
    ),
    finding(
      "waiting lines",
      awaited.map((lease) => `${lease.resource} (held by ${lease.holder})`),
      "nobody waits in line for a lease",
      (list) => `somebody waits for: ${list}`,
      "Normal while the holder works; shorter leases make the line move.",
    ),
  ];
}

/** Runs that somebody had begun and nobody holds now. */
async function lapsedRuns(base: ToolBase) {
  const { runs } = await findRuns(base, { tags: [], claimable: false, limit: scannedMax, status: "running" });
  return runs.filter((run) => run.claimExpiresAtMs === undefined && run.agentId !== undefined);
}

function finding(check: string, items: readonly string[], fine: string, says: (list: string) => string, fix: string): Finding {
  if (items.length === 0) return { check, status: "ok", says: fine };
  const more = items.length > namedMax ? ` and ${items.length - namedMax} more` : "";
  return { check, status: "warn", says: says(items.slice(0, namedMax).join(", ") + more), fix };
}
