import { isHoldfastError } from "../../kernel/errors.ts";
import { everything } from "../../store/ranges.ts";
import type { Revision, Store } from "../../store/store.ts";

export interface CommitRate {
  /** False if history does not reach back that far. */
  readonly complete: boolean;
  /** True if the store was so busy that some minute boundaries are still estimates. Each further request brings them closer. */
  readonly estimated: boolean;
  /** Oldest first; the last minute is still in progress. */
  readonly minutes: readonly { readonly atMs: number; readonly commits: number; readonly through: Revision }[];
  /** The current revision at the start of the first minute. */
  readonly since: Revision;
}

/** Revision numbers without a commit: above the first number and below the second (see NamespaceFacts). */
export type Gaps = readonly (readonly [kept: Revision, base: Revision])[];

/** Known commit times near minute boundaries. The past does not change, so the next read starts from them. */
export interface RateMemory {
  points: readonly Point[];
}
interface Point {
  readonly revision: Revision;
  /** The time of the newest row at or below `revision`; minus infinity if no such row is stored. */
  readonly atMs: number;
}
export const newRateMemory = (): RateMemory => ({ points: [] });

const minuteMs = 60_000;
/** The number of time steps in one response; each is a minute unless another length is requested. */
export const stepsShown = 60;
/** Rows read at once from the end of the log. For a quiet hour, they are all that is needed. */
const newestRows = 300;
/** Single-row log reads per response. In a busy hour, minute boundaries start as estimates and become accurate over the next responses. */
const looksMax = 120;
/** A minute boundary may be off by this fraction of the hour's commits, which is too little to see in a bar chart. */
const precision = 1 / 4_000;

/**
 * Commits per minute over the last hour, without reading the commits. Revisions are consecutive, so the commits in a minute are the
 * difference of two revisions. A few reads of the log find the last revision before each minute boundary.
 */
export async function readCommitRate(
  store: Store,
  memory: RateMemory,
  { nowMs, revision, gaps, stepMs = minuteMs }: { readonly nowMs: number; readonly revision: Revision; readonly gaps: Gaps; readonly stepMs?: number },
): Promise<CommitRate> {
  const lastMs = Math.floor(nowMs / stepMs) * stepMs;
  const starts = Array.from({ length: stepsShown }, (_, i) => lastMs - (stepsShown - 1 - i) * stepMs);
  // The store was rolled back, so the remembered points are no longer valid.
  if (memory.points.some((point) => point.revision > revision)) memory.points = [];
  const { points, estimated } = await findBeginnings(store, memory.points, starts, revision);
  memory.points = starts.flatMap((atMs) => [below(points, atMs), above(points, atMs) ?? []].flat()).filter((point, i, all) => all.indexOf(point) === i);
  const bounds = [...starts.map((atMs) => estimate(points, atMs)), revision];
  const minutes = starts.map((atMs, i) => {
    const [from, to] = [bounds[i] as Revision, bounds[i + 1] as Revision];
    return { atMs, commits: Math.max(0, to - from - leapt(gaps, from, to)), through: to };
  });
  const since = bounds[0] as Revision;
  return { complete: await isKept(store, since), estimated, minutes, since };
}

/** How many revision numbers between two revisions have no commit. */
const leapt = (gaps: Gaps, from: Revision, to: Revision): number => gaps.reduce((sum, [kept, base]) => sum + Math.max(0, Math.min(to, base) - Math.max(from, kept) - 1), 0);

/** Searches for all boundaries at once: each point found narrows the other searches too, and each round sends its reads together. */
async function findBeginnings(
  store: Store,
  known: readonly Point[],
  starts: readonly number[],
  revision: Revision,
): Promise<{ readonly points: readonly Point[]; readonly estimated: boolean }> {
  const byRevision = new Map([{ revision: 0, atMs: Number.NEGATIVE_INFINITY }, ...known, ...(await readNewest(store, revision))].map((point) => [point.revision, point]));
  let looks = 0;
  for (;;) {
    const points = [...byRevision.values()].sort((a, b) => a.revision - b.revision);
    const tolerance = Math.max(1, Math.floor((revision - below(points, starts[0] as number).revision) * precision));
    const asked = new Set<Revision>();
    for (const atMs of starts) {
      const [from, to] = [below(points, atMs), above(points, atMs)];
      if (to !== undefined && to.revision - from.revision > tolerance) asked.add(between(from, to, atMs));
    }
    if (asked.size === 0 || looks + asked.size > looksMax) return { points, estimated: asked.size > 0 };
    looks += asked.size;
    for (const point of await Promise.all([...asked].map((each) => probe(store, each)))) byRevision.set(point.revision, point);
  }
}

const below = (points: readonly Point[], atMs: number): Point => points.findLast((point) => point.atMs < atMs) ?? (points[0] as Point);
const above = (points: readonly Point[], atMs: number): Point | undefined => points.find((point) => point.atMs >= atMs);

/** The next revision to read. Interpolation assumes an even rate, but commits come in bursts, so the result stays away from both ends. */
function between(from: Point, to: Point, atMs: number): Revision {
  const width = to.revision - from.revision;
  return from.revision + Math.min(width - 1, Math.max(1, Math.round(width * Math.min(0.7, Math.max(0.3, shareOf(from, to, atMs))))));
}

const shareOf = (from: Point, to: Point, atMs: number): number => (Number.isFinite(from.atMs) ? (atMs - from.atMs) / (to.atMs - from.atMs) : 0.5);

/** The last revision before a time, interpolated between two known points. */
function estimate(points: readonly Point[], atMs: number): Revision {
  const [from, to] = [below(points, atMs), above(points, atMs)];
  if (to === undefined || !Number.isFinite(from.atMs)) return from.revision;
  return from.revision + Math.floor((to.revision - from.revision - 1) * Math.min(1, Math.max(0, shareOf(from, to, atMs))));
}

async function readNewest(store: Store, revision: Revision): Promise<readonly Point[]> {
  const { rows } = await store.log({ ranges: [everything], before: revision + 1, reverse: true, limit: newestRows, values: false, lenient: true });
  const newest = { revision, atMs: rows[0]?.atMs ?? Number.NEGATIVE_INFINITY };
  return [newest, ...rows.map((row) => ({ revision: row.revision, atMs: row.atMs }))];
}

async function probe(store: Store, revision: Revision): Promise<Point> {
  // Reading a single revision costs only its own few rows. After compaction it may have none left; the newest row before it is used then.
  const asked = { ranges: [everything], before: revision + 1, limit: 1, values: false, lenient: true } as const;
  const [row] = (await store.log({ ...asked, after: Math.max(0, revision - 1) })).rows;
  const [found] = row === undefined && revision > 0 ? (await store.log({ ...asked, reverse: true })).rows : [row];
  return { revision, atMs: found?.atMs ?? Number.NEGATIVE_INFINITY };
}

/** Whether history after this revision is complete. */
async function isKept(store: Store, after: Revision): Promise<boolean> {
  try {
    await store.log({ ranges: [everything], after, limit: 1, values: false });
    return true;
  } catch (error) {
    if (isHoldfastError(error, "compacted")) return false;
    throw error;
  }
}
