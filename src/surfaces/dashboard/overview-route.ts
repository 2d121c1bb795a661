import type { Activity } from "../../domain/history/activity.ts";
import { workflowKeys } from "../../domain/keyspace.ts";
import type { LeaseOverview } from "../../domain/leases/lease-overview.ts";
import { readLeaseOverview } from "../../domain/leases/lease-overview.ts";
import type { Gaps, MinuteMarks } from "../../domain/overview/commit-rate.ts";
import { readCommitRate } from "../../domain/overview/commit-rate.ts";
import type { Counts } from "../../domain/overview/counts.ts";
import { readCounts } from "../../domain/overview/counts.ts";
import { readOccupancy, readRecentAgents } from "../../domain/overview/recent-work.ts";
import type { StuckWork } from "../../domain/overview/stuck-work.ts";
import { findStuckWork } from "../../domain/overview/stuck-work.ts";
import { findRuns } from "../../domain/workflows/find-runs.ts";
import { runStatuses } from "../../domain/workflows/workflow.ts";
import type { RunView } from "../../domain/workflows/workflows.ts";
import { formatDuration } from "../../kernel/duration.ts";
import type { Store } from "../../store/store.ts";
import { systemWriter } from "../../store/store.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { HealthView, Overview, RunStatusName } from "./api.ts";
import type { ApiRoute } from "./api-route.ts";
import { readHealthView } from "./health-route.ts";
import { readQuery } from "./read-query.ts";

/** How far the overview looks. Each part has its bound, so that the whole costs the same however much there is. */
const looked = { runs: 200, leases: 500, durations: 60, agents: 30, occupied: 24, stuck: 50, revisions: 10_000 } as const;
const hourMs = 3_600_000;
/** A line that moves is no news: somebody must have waited behind this holder for a while. */
const lineMovesMs = 60_000;

/** What is remembered of a namespace between two looks. */
interface Memory {
  readonly marks: MinuteMarks;
  counts?: { readonly counts: Counts; readonly untilMs: number };
}

export function openOverviewRoute(): ApiRoute {
  const memories = new WeakMap<Store, Memory>();
  const memoryOf = (store: Store): Memory => {
    const known = memories.get(store);
    if (known !== undefined) return known;
    const fresh: Memory = { marks: new Map() };
    memories.set(store, fresh);
    return fresh;
  };
  return {
    method: "GET",
    path: "/api/ns/:namespace/overview",
    needs: "read",
    async handle({ base, query }) {
      readQuery(query, {});
      return { json: await readOverview(base, memoryOf(base.store)) };
    },
  };
}

async function readOverview(base: ToolBase, memory: Memory): Promise<Overview> {
  const { store } = base;
  const health = await readHealthView(base);
  const [counts, found, held] = await Promise.all([
    countsOf(base, memory),
    findRuns(base, { tags: [], claimable: false, limit: looked.runs }),
    readLeaseOverview(base, looked.leases),
  ]);
  const { nowMs, revision, leases } = held;
  const commits = await readCommitRate(store, { nowMs, revision, gaps: gapsIn(health), marks: memory.marks });
  const hourAgo = Math.min(...[...memory.marks.values()], revision);
  const after = Math.max(hourAgo, revision - looked.revisions);
  const [agents, occupancy, stuck] = await Promise.all([
    readRecentAgents(base, { after, systemWriter, limit: looked.agents }),
    readOccupancy(base, { after, sinceMs: nowMs - hourMs, nowMs, live: leases }),
    findStuckWork(base, leases, nowMs),
  ]);
  return {
    nowMs,
    revision,
    counts,
    runsByStatus: { looked: found.runs.length, byStatus: byStatus(found.runs) },
    commitsPerMinute: commits,
    runDurations: durationsOf(found.runs),
    leaseOccupancy: byInterest(occupancy.resources).slice(0, looked.occupied),
    leaseOccupancyComplete: occupancy.complete && after === hourAgo && commits.complete,
    agents: agents.map(({ agent, writer, last }) => ({
      agent,
      writer,
      lastAtMs: last.atMs,
      lastDid: didOf(last),
      holds: leases.filter(({ holder }) => holder === agent).length,
    })),
    stuck: stuckList(stuck, nowMs).slice(0, looked.stuck),
    health,
  };
}

/** In half a sentence, for a line beside the name. */
function didOf({ kind, operation, subject, title, written }: Activity): string {
  if (kind === "session") return `${operation} a session`;
  if (written !== undefined) return written === "journal" ? "wrote in the journal" : `saved research${title === undefined ? "" : `: ${title}`}`;
  return operation.startsWith("step ") ? `${operation} of ${title ?? subject}` : `${operation} ${title ?? subject}`;
}

/** Counting is the one part that grows with what there is: a count that took long is not repeated at once, so that it never takes more than a tenth of the time. */
async function countsOf({ store, clock }: ToolBase, memory: Memory): Promise<Counts> {
  const beganMs = clock.nowMs();
  if (memory.counts !== undefined && beganMs < memory.counts.untilMs) return memory.counts.counts;
  const counts = await readCounts({ store });
  const endedMs = clock.nowMs();
  memory.counts = { counts, untilMs: endedMs + Math.min(2_000, (endedMs - beganMs) * 10) };
  return counts;
}

const gapsIn = ({ facts }: HealthView): Gaps => (Array.isArray(facts.gaps) ? (facts.gaps as unknown as Gaps) : []);

function byStatus(runs: readonly RunView[]): Record<RunStatusName, number> {
  const counts = Object.fromEntries(runStatuses.map((status) => [status, 0])) as Record<RunStatusName, number>;
  for (const { status } of runs) counts[status] += 1;
  return counts;
}

const durationsOf = (runs: readonly RunView[]): Overview["runDurations"] =>
  runs
    .filter(({ status }) => status === "done" || status === "failed" || status === "cancelled")
    .sort((a, b) => b.updatedAtMs - a.updatedAtMs)
    .slice(0, looked.durations)
    .map(({ runId, name, status, startedAtMs, createdAtMs, updatedAtMs }) => ({ runId, name, status, startedAtMs: startedAtMs ?? createdAtMs, endedAtMs: updatedAtMs }));

/** Leases before claims, of which there may be hundreds; then what changed hands last. */
function byInterest(resources: Overview["leaseOccupancy"]): Overview["leaseOccupancy"] {
  const isClaim = (resource: string): number => (workflowKeys.runOfResource(resource) === undefined ? 0 : 1);
  const lastMs = ({ spans }: Overview["leaseOccupancy"][number]): number => spans.at(-1)?.untilMs ?? Number.POSITIVE_INFINITY;
  return resources.toSorted((a, b) => isClaim(a.resource) - isClaim(b.resource) || (lastMs(b) === lastMs(a) ? 0 : lastMs(b) - lastMs(a)) || (a.resource < b.resource ? -1 : 1));
}

function stuckList({ abandoned, longHeld, awaited }: StuckWork, nowMs: number): Overview["stuck"] {
  const isPlain = ({ resource }: LeaseOverview): boolean => workflowKeys.runOfResource(resource) === undefined;
  const lines = awaited.filter((lease) => isPlain(lease) && nowMs - lease.heldSinceMs > lineMovesMs);
  return [
    ...abandoned.map(({ runId, name, holder, lastStep, sinceMs }) => ({
      kind: "run" as const,
      id: runId,
      why: `${name}: ${holder} stopped ${lastStep === 0 ? "before the first step" : `after step ${lastStep}`}, and nobody has taken over`,
      sinceMs,
    })),
    ...lines.map(({ resource, holder, waiters, heldSinceMs }) => ({
      kind: "lease" as const,
      id: resource,
      why: `${waiters.length === 1 ? `${waiters[0]} waits` : `${waiters.length} wait`} for ${holder}, who has held it for ${formatDuration(nowMs - heldSinceMs)}`,
      sinceMs: heldSinceMs,
    })),
    ...longHeld
      // A run that takes hours and reports its steps is not stuck.
      .filter((lease) => isPlain(lease) && !lines.includes(lease))
      .map(({ resource, holder, heldSinceMs }) => ({
        kind: "lease" as const,
        id: resource,
        why: `held by ${holder} for ${formatDuration(nowMs - heldSinceMs)}`,
        sinceMs: heldSinceMs,
      })),
  ];
}
