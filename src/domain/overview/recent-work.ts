import { everything } from "../../store/ranges.ts";
import type { LogQuery, LogRow, Revision, Store } from "../../store/store.ts";
import { systemWriter } from "../../store/store.ts";
import { leaseKeys } from "../keyspace.ts";
import { toHold } from "../leases/lease.ts";
import type { LeaseOverview } from "../leases/lease-overview.ts";
import { asItHappened } from "../log-order.ts";

/**
 * Recent activity, collected from the log and kept between calls. Each call reads what was added since the last one, or only the newest part
 * if that is too much. The cost therefore depends neither on the length of the history nor on how often a person looks.
 */
export interface RecentWork {
  /** The last change by each agent, most recent last. Keyed by the agent's own label or, without one, by the writer. */
  readonly agents: Map<string, LogRow>;
  /** Log rows of lease deadlines, in order: a put is an acquisition or a renewal, a delete is a release, an expiry is a lapse. */
  holds: readonly LogRow[];
  /** Everything up to this revision has been read … */
  through: Revision;
  /** … and nothing at or below this one. */
  since: Revision;
}

export const newRecentWork = (): RecentWork => ({ agents: new Map(), holds: [], through: 0, since: 0 });

/** Limits: how many revisions to go back, how much to read per call, and how much to keep in memory. */
const recent = { revisionsMax: 5_000, pagesMax: 3, agentRowsMax: 250, holdsMax: 4_000, agentsMax: 200 } as const;

/** Updates `work` to this revision. Holds older than `sinceMs` are dropped. */
export async function followWork(store: Store, work: RecentWork, { revision, sinceMs }: { readonly revision: Revision; readonly sinceMs: number }): Promise<void> {
  // The store was rolled back, so everything is read again.
  if (revision < work.through) Object.assign(work, newRecentWork());
  const after = Math.max(work.through, revision - recent.revisionsMax);
  const query = { after, before: revision + 1, reverse: true, lenient: true } as const;
  const [told, held] = await Promise.all([
    store.log({ ...query, ranges: [everything], recorded: {}, values: false, limit: recent.agentRowsMax }),
    readHolds(store, { ...query, ranges: [leaseKeys.deadlines] }),
  ]);
  for (const row of told.rows.toSorted(asItHappened)) {
    // The store's own writes are not an agent's work.
    if (row.writer === systemWriter) continue;
    const who = row.agent ?? row.writer;
    work.agents.delete(who);
    work.agents.set(who, row);
  }
  for (const who of [...work.agents.keys()].slice(0, Math.max(0, work.agents.size - recent.agentsMax))) work.agents.delete(who);
  const follows = after === work.through && held.since === after;
  const holds = [...(follows ? work.holds : []), ...held.rows.toSorted(asItHappened)].filter((row) => row.atMs >= sinceMs);
  if (!follows) work.since = held.since;
  if (holds.length > recent.holdsMax) work.since = Math.max(work.since, (holds.at(-recent.holdsMax) as LogRow).revision - 1);
  work.holds = holds.slice(-recent.holdsMax);
  work.through = revision;
}

/** `since`: nothing at or below this revision was read. */
async function readHolds(store: Store, query: LogQuery & { readonly after: Revision }): Promise<{ readonly rows: LogRow[]; readonly since: Revision }> {
  const rows: LogRow[] = [];
  let { before } = query;
  for (let pages = 0; pages < recent.pagesMax; pages += 1) {
    const page = await store.log({ ...query, before });
    rows.push(...page.rows);
    if (page.done) return { rows, since: query.after };
    before = page.through;
  }
  return { rows, since: (before as Revision) - 1 };
}

export interface Occupancy {
  readonly resource: string;
  /** Oldest first; a span without an end is still held. */
  readonly spans: readonly HeldSpan[];
}
interface HeldSpan {
  readonly holder: string;
  readonly fromMs: number;
  readonly untilMs?: number;
}

/** The time from which the holders are known, if not everything since `sinceMs` was read. */
export const knownSince = ({ holds }: RecentWork, sinceMs: number): number => Math.max(sinceMs, holds[0]?.atMs ?? sinceMs);

/** Who held which resource since a given time. `live`: leases held now, for which the store knows the start. `complete`: whether everything since that time was read. */
export function occupancyOf(
  work: RecentWork,
  { sinceMs, nowMs, live, complete }: { readonly sinceMs: number; readonly nowMs: number; readonly live: readonly LeaseOverview[]; readonly complete: boolean },
): readonly Occupancy[] {
  // Holders before the first row that was read are unknown and must not be drawn.
  const knownSinceMs = complete ? sinceMs : knownSince(work, sinceMs);
  const byResource = new Map<string, LogRow[]>(live.map(({ resource }) => [resource, []]));
  for (const row of work.holds) {
    const resource = leaseKeys.resourceOf(row.key);
    const rows = byResource.get(resource);
    if (rows === undefined) byResource.set(resource, [row]);
    else rows.push(row);
  }
  const liveByResource = new Map(live.map((lease) => [lease.resource, lease]));
  return [...byResource]
    .map(([resource, rows]) => ({ resource, spans: spansOf(rows, { sinceMs, knownSinceMs, nowMs }, liveByResource.get(resource)) }))
    .filter(({ spans }) => spans.length > 0);
}

interface OpenSpan {
  readonly holder: string;
  readonly fromMs: number;
  expiresAtMs: number;
}

function spansOf(
  rows: readonly LogRow[],
  { sinceMs, knownSinceMs, nowMs }: { readonly sinceMs: number; readonly knownSinceMs: number; readonly nowMs: number },
  live: LeaseOverview | undefined,
): readonly HeldSpan[] {
  const spans: HeldSpan[] = [];
  let open: OpenSpan | undefined;
  const close = (atMs: number): void => {
    if (open !== undefined) spans.push({ holder: open.holder, fromMs: open.fromMs, untilMs: Math.max(open.fromMs, Math.min(atMs, open.expiresAtMs)) });
    open = undefined;
  };
  for (const [i, row] of rows.entries()) {
    if (row.op !== "put") {
      close(row.atMs);
      continue;
    }
    const { holder } = toHold(row);
    if (open !== undefined && (open.holder !== holder || open.expiresAtMs <= row.atMs)) close(row.atMs);
    // If the first row is a renewal, the lease was already held.
    open ??= { holder, fromMs: i === 0 && row.record?.op === "renew" ? knownSinceMs : row.atMs, expiresAtMs: 0 };
    open.expiresAtMs = row.expiresAtMs ?? Number.POSITIVE_INFINITY;
  }
  if (open !== undefined && open.expiresAtMs <= nowMs) close(nowMs);
  const held = live ?? open;
  if (held === undefined) return spans;
  const fromMs = live === undefined ? (open as OpenSpan).fromMs : Math.max(sinceMs, live.heldSinceMs);
  return [...spans.filter((span) => live === undefined || span.fromMs < live.heldSinceMs), { holder: held.holder, fromMs }];
}
