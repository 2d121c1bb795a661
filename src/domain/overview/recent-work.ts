import { limits } from "../../store/limits.ts";
import { everything } from "../../store/ranges.ts";
import type { LogRow, Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import type { Activity } from "../history/activity.ts";
import { toActivities } from "../history/activity.ts";
import { leaseKeys } from "../keyspace.ts";
import type { LeaseOverview } from "../leases/lease-overview.ts";
import { asItHappened } from "../log-order.ts";

/** Somebody who was active lately. */
export interface RecentAgent {
  /** The name it gave itself, or the writer's where it gave none. */
  readonly agent: string;
  readonly writer: string;
  readonly last: Activity;
}

/** Rows looked at, newest first: who did nothing within them is not told. */
const agentRowsMax = 1_000;

/** Who did something, the one who did the last thing first. What the store does by itself is nobody's work. */
export async function readRecentAgents(
  { store }: Pick<Scope, "store">,
  { after, systemWriter, limit }: { readonly after: Revision; readonly systemWriter: string; readonly limit: number },
): Promise<readonly RecentAgent[]> {
  const { rows } = await store.log({ ranges: [everything], after, reverse: true, recorded: {}, values: false, lenient: true, limit: agentRowsMax });
  const newest = new Map<string, LogRow>();
  for (const row of rows) {
    const who = row.agent ?? row.writer;
    if (row.writer === systemWriter || newest.has(who)) continue;
    if (newest.size === limit) break;
    newest.set(who, row);
  }
  const did = await toActivities({ store }, [...newest.values()]);
  return did.map((last) => ({ agent: last.agent ?? last.writer, writer: last.writer, last }));
}

export interface Occupancy {
  readonly resource: string;
  /** Oldest first; an open end is held now. */
  readonly spans: readonly HeldSpan[];
}
interface HeldSpan {
  readonly holder: string;
  readonly fromMs: number;
  readonly untilMs?: number;
}

/** Pages of the log read for the picture: what does not fit is older and left out. */
const occupancyPagesMax = 3;

/**
 * Who held what since a moment, from the deadlines' own rows: taken and renewed is a put, given up a delete, lapsed an expiry.
 * `complete`: everything after `after` was looked at.
 */
export async function readOccupancy(
  { store }: Pick<Scope, "store">,
  { after, sinceMs, nowMs, live }: { readonly after: Revision; readonly sinceMs: number; readonly nowMs: number; readonly live: readonly LeaseOverview[] },
): Promise<{ readonly resources: readonly Occupancy[]; readonly complete: boolean }> {
  const rows: LogRow[] = [];
  let before: Revision | undefined;
  let complete = false;
  for (let pages = 0; pages < occupancyPagesMax && !complete; pages += 1) {
    const page = await store.log({ ranges: [leaseKeys.deadlines], after, before, reverse: true, lenient: true, limit: limits.logRowsMax });
    rows.push(...page.rows);
    complete = page.done;
    before = page.through;
  }
  const oldestMs = complete ? sinceMs : Math.max(sinceMs, rows.at(-1)?.atMs ?? nowMs);
  const byResource = new Map<string, LogRow[]>();
  for (const row of rows.toSorted(asItHappened)) {
    const resource = leaseKeys.resourceOf(row.key);
    byResource.set(resource, [...(byResource.get(resource) ?? []), row]);
  }
  for (const { resource } of live) if (!byResource.has(resource)) byResource.set(resource, []);
  const liveByResource = new Map(live.map((lease) => [lease.resource, lease]));
  const resources = [...byResource].map(([resource, ofIt]) => ({ resource, spans: spansOf(ofIt, oldestMs, nowMs, liveByResource.get(resource)) }));
  return { resources: resources.filter(({ spans }) => spans.length > 0), complete };
}

interface OpenSpan {
  readonly holder: string;
  readonly fromMs: number;
  expiresAtMs: number;
}

function spansOf(rows: readonly LogRow[], oldestMs: number, nowMs: number, live: LeaseOverview | undefined): readonly HeldSpan[] {
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
    const { holder } = row.value as { readonly holder: string };
    if (open !== undefined && (open.holder !== holder || open.expiresAtMs <= row.atMs)) close(row.atMs);
    // The first row that is left may be a renewal: then it was held already.
    const fromMs: number = i === 0 && row.record?.op === "renew" ? oldestMs : row.atMs;
    open ??= { holder, fromMs, expiresAtMs: 0 };
    open.expiresAtMs = row.expiresAtMs ?? Number.POSITIVE_INFINITY;
  }
  if (open !== undefined && open.expiresAtMs <= nowMs) close(nowMs);
  // Of what is held now the store knows since when, however often it was renewed.
  if (open !== undefined) spans.push({ holder: open.holder, fromMs: live?.holder === open.holder ? Math.max(oldestMs, live.heldSinceMs) : open.fromMs });
  else if (rows.length === 0 && live !== undefined) spans.push({ holder: live.holder, fromMs: Math.max(oldestMs, live.heldSinceMs) });
  return spans;
}
