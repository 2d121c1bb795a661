import type { Activity } from "../../domain/history/activity.ts";
import { toActivities } from "../../domain/history/activity.ts";
import { readRunNames } from "../../domain/history/activity-titles.ts";
import { workflowKeys } from "../../domain/keyspace.ts";
import type { LeaseOverview } from "../../domain/leases/lease-overview.ts";
import { readLeaseOverview } from "../../domain/leases/lease-overview.ts";
import type { Gaps, RateMemory } from "../../domain/overview/commit-rate.ts";
import { newRateMemory, readCommitRate, stepsShown } from "../../domain/overview/commit-rate.ts";
import type { Counts } from "../../domain/overview/counts.ts";
import { readCounts } from "../../domain/overview/counts.ts";
import type { Occupancy, RecentWork } from "../../domain/overview/recent-work.ts";
import { followWork, knownSince, newRecentWork, occupancyOf } from "../../domain/overview/recent-work.ts";
import type { StuckWork } from "../../domain/overview/stuck-work.ts";
import { findStuckWork } from "../../domain/overview/stuck-work.ts";
import { findRuns } from "../../domain/workflows/find-runs.ts";
import type { RunView } from "../../domain/workflows/workflows.ts";
import { formatDuration } from "../../kernel/duration.ts";
import { readTogether } from "../../store/read-together.ts";
import type { Store } from "../../store/store.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { HealthAnswer, Overview } from "./api.ts";
import type { ApiRoute } from "./api-route.ts";
import { readHealth, visibleHealth } from "./health-route.ts";
import { oneOf, readQuery } from "./read-query.ts";
import type { RememberedCounts } from "./remembered-counts.ts";
import { toLeaseRow } from "./run-routes.ts";
import { shareReads } from "./share-reads.ts";

/** How much the overview reads. Each part is bounded, so the cost does not grow with the store. */
const looked = { runs: 100, leases: 500, durations: 60, agents: 30, occupied: 24, stuck: 50 } as const;
const hourMs = 3_600_000;
const ranges = { "15m": hourMs / 4, "1h": hourMs, "6h": 6 * hourMs, "24h": 24 * hourMs, "7d": 168 * hourMs } as const;
const rangeNames = Object.keys(ranges) as readonly (keyof typeof ranges)[];
/** A queue that moves needs no attention: an agent must have waited behind this holder for at least this long. */
const lineMovesMs = 60_000;

/** Cached per namespace between requests. */
interface Memory {
  readonly rate: RateMemory;
  readonly work: RecentWork;
}

export function openOverviewRoute(counts: RememberedCounts): ApiRoute {
  const asked = new WeakMap<Store, Map<number, () => Promise<Overview>>>();
  const askOf = (base: ToolBase, rangeMs: number): (() => Promise<Overview>) => {
    const ofStore = asked.get(base.store) ?? new Map<number, () => Promise<Overview>>();
    asked.set(base.store, ofStore);
    const known = ofStore.get(rangeMs);
    if (known !== undefined) return known;
    const memory: Memory = { rate: newRateMemory(), work: newRecentWork() };
    // The result depends on the store, not on the caller, so all callers share it.
    const ask = shareReads(() => readOverview(base, memory, counts, rangeMs));
    ofStore.set(rangeMs, ask);
    return ask;
  };
  return {
    method: "GET",
    path: "/api/ns/:namespace/overview",
    needs: "read",
    async handle({ base, query }) {
      const { range = "1h" } = readQuery(query, { range: oneOf(rangeNames) });
      const overview = await askOf(base, ranges[range])();
      return { json: { ...overview, health: visibleHealth(base, overview.health) } };
    },
  };
}

/** Everything is read as of one revision, except the counts, which are cached briefly. */
async function readOverview(base: ToolBase, memory: Memory, remembered: RememberedCounts, rangeMs: number): Promise<Overview> {
  const [health, counts] = await Promise.all([readHealth(base), readCounts((range) => remembered.count(base, range))]);
  return readTogether(base.store, (store) => lookAround({ ...base, store }, memory, { health, counts, rangeMs }));
}

async function lookAround(
  base: ToolBase,
  memory: Memory,
  { health, counts, rangeMs }: { readonly health: HealthAnswer; readonly counts: Counts; readonly rangeMs: number },
): Promise<Overview> {
  const { store } = base;
  const { nowMs, revision } = await store.position();
  const [found, { leases, more }] = await Promise.all([findRuns(base, { tags: [], claimable: false, limit: looked.runs }), readLeaseOverview(base, looked.leases)]);
  const sinceMs = nowMs - rangeMs;
  const [commits, stuck] = await Promise.all([
    readCommitRate(store, memory.rate, { nowMs, revision, gaps: gapsIn(health), stepMs: rangeMs / stepsShown }),
    findStuckWork(base, leases, nowMs),
    followWork(store, memory.work, { revision, sinceMs }),
  ]);
  const complete = commits.complete && memory.work.since <= commits.since;
  const occupancy = byInterest(occupancyOf(memory.work, { sinceMs, nowMs, live: leases, complete }));
  const [agents, leaseOccupancy] = await Promise.all([
    toActivities(base, [...memory.work.agents.values()].slice(-looked.agents).reverse()),
    withRunNames(base, occupancy.slice(0, looked.occupied)),
  ]);
  return {
    nowMs,
    rangeMs,
    revision,
    counts,
    failedRuns: { count: found.runs.filter(({ status }) => status === "failed").length, of: found.runs.length },
    commitsPerMinute: { complete: commits.complete, ...(commits.estimated ? { estimated: true } : {}), minutes: commits.minutes },
    runDurations: durationsOf(found.runs, sinceMs),
    leaseOccupancy: leaseOccupancy,
    leaseOccupancyOf: { resources: occupancy.length, heldNow: occupancy.filter(isHeldNow).length },
    leaseOccupancyComplete: complete && !more,
    ...(complete ? {} : { leaseOccupancySinceMs: knownSince(memory.work, sinceMs) }),
    agentsMore: memory.work.agents.size > looked.agents,
    agents: agents.map((last) => {
      const agent = last.agent ?? last.writer;
      return { agent, writer: last.writer, lastAtMs: last.atMs, lastDid: didOf(last), holds: leases.filter(({ holder }) => holder === agent).length };
    }),
    stuck: stuckList(stuck, nowMs).slice(0, looked.stuck),
    health,
  };
}

/** Half a sentence, shown beside the agent's name. */
function didOf({ kind, operation, subject, title, written }: Activity): string {
  const what = title ?? subject;
  if (kind === "session") return `${operation} a session`;
  if (written !== undefined) return written === "journal" ? "wrote in the journal" : `saved research on ${what}`;
  if (kind !== "workflow") return `${operation} ${what}`;
  if (operation === "done") return `finished ${what}`;
  if (operation === "failed") return `ended ${what} as failed`;
  if (operation === "claim renewed") return `renewed its claim on ${what}`;
  return operation.startsWith("step ") ? `${operation} of ${what}` : `${operation} ${what}`;
}

const gapsIn = ({ facts }: HealthAnswer): Gaps => (Array.isArray(facts.gaps) ? (facts.gaps as unknown as Gaps) : []);

const durationsOf = (runs: readonly RunView[], sinceMs: number): Overview["runDurations"] =>
  runs
    .filter(({ status, updatedAtMs }) => (status === "done" || status === "failed" || status === "cancelled") && updatedAtMs >= sinceMs)
    .sort((a, b) => b.updatedAtMs - a.updatedAtMs)
    .slice(0, looked.durations)
    .map(({ runId, name, status, startedAtMs, createdAtMs, updatedAtMs }) => ({ runId, name, status, startedAtMs: startedAtMs ?? createdAtMs, endedAtMs: updatedAtMs }));

/** Leases before claims, of which there may be hundreds; then the most recently held first. */
function byInterest(resources: readonly Occupancy[]): readonly Occupancy[] {
  const isClaim = (resource: string): number => (workflowKeys.runOfResource(resource) === undefined ? 0 : 1);
  const lastMs = ({ spans }: Occupancy): number => spans.at(-1)?.untilMs ?? Number.POSITIVE_INFINITY;
  return resources.toSorted((a, b) => isClaim(a.resource) - isClaim(b.resource) || (lastMs(b) === lastMs(a) ? 0 : lastMs(b) - lastMs(a)) || (a.resource < b.resource ? -1 : 1));
}

const isHeldNow = ({ spans }: Occupancy): boolean => spans.at(-1)?.untilMs === undefined;

/** A claim's resource is an id; people know the run by its name. */
async function withRunNames(base: ToolBase, leaseOccupancy: readonly Occupancy[]): Promise<Overview["leaseOccupancy"]> {
  const runOf = ({ resource }: Occupancy): string | undefined => workflowKeys.runOfResource(resource);
  const names = await readRunNames(
    base,
    leaseOccupancy.flatMap((lease) => runOf(lease) ?? []),
  );
  return leaseOccupancy.map((lease) => {
    const title = names.get(runOf(lease) ?? "");
    return title === undefined ? lease : { ...lease, title };
  });
}

const stuckLease = (lease: LeaseOverview) => ({ kind: "lease" as const, id: lease.resource, sinceMs: lease.heldSinceMs, lease: toLeaseRow(lease, new Map()) });

function stuckList({ abandoned, longHeld, awaited, unknown }: StuckWork, nowMs: number): Overview["stuck"] {
  const isPlain = ({ resource }: LeaseOverview): boolean => workflowKeys.runOfResource(resource) === undefined;
  const lines = awaited.filter((lease) => isPlain(lease) && nowMs - lease.heldSinceMs > lineMovesMs);
  return [
    ...unknown.map(({ id, token, name, tool, agent, writer, begunAtMs }) => ({
      kind: "effect" as const,
      id,
      token,
      title: name ?? tool,
      why: `was begun by ${agent ?? writer}, and it is not known whether it took place`,
      sinceMs: begunAtMs,
    })),
    ...abandoned.map(({ runId, name, holder, token, lastStep, sinceMs }) => ({
      kind: "run" as const,
      id: runId,
      title: name,
      token,
      why: `${holder} stopped ${lastStep === 0 ? "before the first step" : `after step ${lastStep}`}, and no agent has taken over`,
      sinceMs,
    })),
    ...lines.map((lease) => ({
      ...stuckLease(lease),
      why: `${lease.waiters.length === 1 ? `${lease.waiters[0]} waits` : `${lease.waiters.length} wait`} for ${lease.holder}, who has held it for ${formatDuration(nowMs - lease.heldSinceMs)}`,
    })),
    ...longHeld
      // A run that takes hours but reports steps is not stuck.
      .filter((lease) => isPlain(lease) && !lines.includes(lease))
      .map((lease) => ({ ...stuckLease(lease), why: `held by ${lease.holder} for ${formatDuration(nowMs - lease.heldSinceMs)}` })),
  ];
}
