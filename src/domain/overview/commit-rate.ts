import { isHoldfastError } from "../../kernel/errors.ts";
import { everything } from "../../store/ranges.ts";
import type { Revision, Store } from "../../store/store.ts";

export interface CommitRate {
  /** False: history does not reach back that far. */
  readonly complete: boolean;
  /** Oldest first; the last one is not over yet. */
  readonly minutes: readonly { readonly atMs: number; readonly commits: number }[];
}

/** Revisions that were never given to anybody here: above the first number and below the second (see NamespaceFacts). */
export type Gaps = readonly (readonly [kept: Revision, base: Revision])[];

/** At the beginning of these minutes the last commit was this one. What is over does not change, so it is found once. */
export type MinuteMarks = Map<number, Revision>;

const minuteMs = 60_000;
export const minutesShown = 60;
/** Rounds of looking; each halves what is left at least every other time, so that these are enough for more commits than an hour can have. */
const roundsMax = 64;
/** A mark may be off by this part of the hour's commits: a bar's height does not show less. */
const precision = 1 / 4_000;

/**
 * Commits per minute over the last hour, without reading them: revisions are numbered one by one, so what happened in a minute is the difference
 * of two revisions, and which one was the last before a given moment is found by looking at a few rows of the log.
 */
export async function readCommitRate(store: Store, { nowMs, revision, gaps, marks }: { nowMs: number; revision: Revision; gaps: Gaps; marks: MinuteMarks }): Promise<CommitRate> {
  const lastMs = Math.floor(nowMs / minuteMs) * minuteMs;
  const starts = Array.from({ length: minutesShown }, (_, i) => lastMs - (minutesShown - 1 - i) * minuteMs);
  for (const atMs of marks.keys()) if (atMs < (starts[0] as number)) marks.delete(atMs);
  // The store was set back under us: what was found no longer holds.
  if ([...marks.values()].some((mark) => mark > revision)) marks.clear();
  await findMarks(store, starts, revision, marks);
  const bounds = [...starts.map((atMs) => marks.get(atMs) as Revision), revision];
  const minutes = starts.map((atMs, i) => {
    const [from, to] = [bounds[i] as Revision, bounds[i + 1] as Revision];
    return { atMs, commits: Math.max(0, to - from - leapt(gaps, from, to)) };
  });
  return { complete: await isKept(store, bounds[0] as Revision), minutes };
}

/** Is history whole from there on? */
export async function isKept(store: Store, after: Revision): Promise<boolean> {
  try {
    await store.log({ ranges: [everything], after, limit: 1, values: false });
    return true;
  } catch (error) {
    if (isHoldfastError(error, "compacted")) return false;
    throw error;
  }
}

/** How many of the numbers between two revisions were passed over. */
const leapt = (gaps: Gaps, from: Revision, to: Revision): number => gaps.reduce((sum, [kept, base]) => sum + Math.max(0, Math.min(to, base) - Math.max(from, kept) - 1), 0);

interface Point {
  readonly revision: Revision;
  /** Of the newest row at or below it; minus infinity when none is kept. */
  readonly atMs: number;
}

/** Many minutes are looked for at once: what one of them finds narrows the others too, and the questions of a round travel together. */
async function findMarks(store: Store, starts: readonly number[], revision: Revision, marks: MinuteMarks): Promise<void> {
  const newest = await probe(store, revision);
  const points: Point[] = [{ revision: 0, atMs: Number.NEGATIVE_INFINITY }, newest];
  for (const [atMs, mark] of marks) points.push({ revision: mark, atMs: atMs - 1 });
  let wanted = starts.filter((atMs) => !marks.has(atMs));
  for (let round = 0; round < roundsMax && wanted.length > 0; round += 1) {
    points.sort((a, b) => a.revision - b.revision || a.atMs - b.atMs);
    const hourAgo = points.findLast((point) => point.atMs < (starts[0] as number)) ?? newest;
    const tolerance = Math.max(1, Math.floor((revision - hourAgo.revision) * (round < roundsMax / 2 ? precision : precision * 4)));
    const asked = new Set<Revision>();
    wanted = wanted.filter((atMs) => {
      const below = points.findLast((point) => point.atMs < atMs) as Point;
      const above = points.find((point) => point.revision > below.revision && point.atMs >= atMs);
      if (above === undefined || above.revision - below.revision <= tolerance) {
        marks.set(atMs, below.revision);
        return false;
      }
      asked.add(between(below, above, atMs, round));
      return true;
    });
    points.push(...(await Promise.all([...asked].map((each) => probe(store, each)))));
  }
  for (const atMs of wanted) marks.set(atMs, points.findLast((point) => point.atMs < atMs)?.revision ?? 0);
}

/** By proportion, as if commits came evenly; every other time the middle, because they do not. */
function between(below: Point, above: Point, atMs: number, round: number): Revision {
  const width = above.revision - below.revision;
  const share = round % 2 === 1 || !Number.isFinite(below.atMs) ? 0.5 : (atMs - below.atMs) / (above.atMs - below.atMs);
  return below.revision + Math.min(width - 1, Math.max(1, Math.round(width * share)));
}

async function probe(store: Store, revision: Revision): Promise<Point> {
  const { rows } = await store.log({ ranges: [everything], before: revision + 1, reverse: true, limit: 1, values: false, lenient: true });
  return { revision, atMs: rows[0]?.atMs ?? Number.NEGATIVE_INFINITY };
}
