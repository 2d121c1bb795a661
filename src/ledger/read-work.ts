import { isOneRevision, pageOf, requireKept, requireUnsealed, rowsToFetch } from "../store/engine-rules.ts";
import { limits } from "../store/limits.ts";
import { compareKeys, singleKey } from "../store/ranges.ts";
import type {
  DumpPage,
  DumpQuery,
  LogPage,
  LogQuery,
  LogRow,
  NamespaceFacts,
  Range,
  ReadOptions,
  Revision,
  SearchAnswer,
  SearchQuery,
  Snapshot,
  StoredRecord,
} from "../store/store.ts";
import { FoundEntries } from "./found-entries.ts";
import { boundsValues, LogPaging } from "./log-paging.ts";
import { judgedAtMs, pastBound } from "./past.ts";
import type { AtMoment, Fetched, FoundKey, PastPart, RowReads, SpaceRow, Work } from "./rows.ts";
import { SearchCandidates } from "./search-candidates.ts";

/** Reads of a namespace, expressed as work on its rows. */

/** Rejects a read of the current state if the seal forbids it, and notes that the caller sees this state. */
export function requireReadable(reads: RowReads, space: SpaceRow, only?: "revision"): void {
  requireUnsealed(space.seal, "read");
  reads.noteShown(space, only);
}

export function* liveWork(reads: RowReads, ranges: readonly Range[], options: ReadOptions): Work<Snapshot> {
  const { space, entries, more, rest } = yield* reads.live(ranges, options);
  requireReadable(reads, space);
  const { revision, nowMs } = space;
  return rest === undefined ? { revision, nowMs, entries, more } : { revision, nowMs, entries, more, rest };
}

export function keySnapshot({ reads, space, entry }: FoundKey): Snapshot {
  requireReadable(reads, space);
  return { revision: space.revision, nowMs: space.nowMs, entries: entry === undefined ? [] : [entry], more: false };
}

/** Reads as of a past revision: for each key with a history, the newest row up to that revision. */
export function* pastWork(reads: RowReads, at: Revision, ranges: readonly Range[], options: ReadOptions): Work<Snapshot> {
  const space = yield* reads.space();
  requireReadable(reads, space);
  const bound = pastBound(at, space);
  const newestAtMs = options.liveAtMs === undefined ? yield* reads.timeBefore(space, bound) : undefined;
  const liveAtMs = judgedAtMs(options, space, newestAtMs);
  // Answers that take several reads name the revision of the first one, which is usually still the newest. The table of live entries then has all of them:
  // an expired entry leaves it with a revision only.
  if (at === space.revision) return { ...(yield* liveWork(reads, ranges, { ...options, liveAtMs })), nowMs: space.nowMs };
  const found = new FoundEntries(options, liveAtMs);
  const start = { revision: at, nowMs: space.nowMs };
  for (const { part, indexOf } of partsOf(ranges, options.reverse)) {
    const next = yield* reads.past(space, part, bound, options, found);
    if (next !== undefined) return { ...start, ...found.stoppedAt(ranges, indexOf(next), next) };
  }
  return { ...start, entries: found.entries, more: false };
}

/** Keys whose past is read in one query. */
const keysPerPart = 1_024;

/** The ranges in reading order. Consecutive single keys are combined, because a listing of runs reads hundreds of them. */
function partsOf(ranges: readonly Range[], reverse = false): { readonly part: PastPart; readonly indexOf: (key: string) => number }[] {
  const parts: { readonly part: { keys: string[] } | { range: Range }; readonly indexOf: (key: string) => number }[] = [];
  for (let n = 0; n < ranges.length; n += 1) {
    const i = reverse ? ranges.length - 1 - n : n;
    const range = ranges[i] as Range;
    const key = singleKey(range);
    const last = parts.at(-1)?.part;
    if (key === undefined || key.includes("\0")) parts.push({ part: { range }, indexOf: () => i });
    else if (last !== undefined && "keys" in last && last.keys.length < keysPerPart) last.keys.push(key);
    else {
      const keys = [key];
      parts.push({ part: { keys }, indexOf: (found) => (reverse ? i - keys.indexOf(found) : i + keys.indexOf(found)) });
    }
  }
  return parts;
}

type FoundRows = AtMoment<{ readonly rows: readonly LogRow[] | undefined }>;

export function* logWork(reads: RowReads, query: LogQuery): Work<LogPage> {
  const byKey = query.narrow ? yield* fillPage(query, (count) => reads.logByKey(query, count)) : undefined;
  const { space, rows, examined } =
    byKey?.rows === undefined ? yield* fillPage(query, (count) => reads.logBySpan(query, count)) : { ...byKey, rows: byKey.rows, examined: undefined };
  requireReadable(reads, space, "revision");
  const page = new LogPaging(query, space).page(rows, examined);
  return boundsValues(query) ? { ...page, rows: yield* reads.logValues(space, page.rows, query) } : page;
}

/** Fetches one row more than the page. If the first revision alone is longer than the page, fetches again to get the rest of it. */
function* fillPage<Found extends FoundRows>({ limit = limits.logRowsMax }: LogQuery, fetch: (count: number) => Work<Found>): Work<Found> {
  const found = yield* fetch(rowsToFetch.first(limit));
  return found.rows !== undefined && isOneRevision(found.rows, limit, ({ revision }) => revision) ? yield* fetch(rowsToFetch.again(limit)) : found;
}

export function* searchWork(reads: RowReads, { areas: names, terms, hitsMax, pause }: SearchQuery): Work<SearchAnswer> {
  const { space, areas, frequencies } = yield* reads.termCounts(names, terms);
  requireReadable(reads, space);
  const answer = {
    revision: space.revision,
    documents: areas.reduce((sum, { documents }) => sum + documents, 0),
    totalLength: areas.reduce((sum, { length }) => sum + length, 0),
    frequencies,
  };
  const candidates = new SearchCandidates(frequencies);
  const { essential } = candidates;
  if (essential.length === 0) return { ...answer, hits: [] };
  const counted = (i: number) => ({ term: terms[i] as string, frequency: frequencies[i] as number });
  const postings = yield* reads.postings(space, areas, essential.map(counted));
  for (const [position, i] of essential.entries()) candidates.choose(i, postings[position] ?? []);
  const { unknown } = candidates;
  const { space: after, live } = yield* reads.probe(space, candidates.places, {
    areas,
    terms: unknown.map(counted),
    weigh: (place, term, weight) => candidates.weigh(place, unknown[term] as number, weight),
    groups: () => candidates.groups(answer.documents, hitsMax),
    hitsMax: hitsMax ?? Number.POSITIVE_INFINITY,
    pause,
  });
  requireReadable(reads, after);
  return { ...answer, revision: after.revision, hits: live.map(([place, key]) => candidates.hit(place, key)) };
}

export function* dumpWork(reads: RowReads, query: DumpQuery): Work<DumpPage> {
  const space = yield* reads.space();
  const facts = factsOf(space);
  switch (query.part) {
    case "log":
      return { facts, ...cut(yield* reads.storedRows(space, query.after)) };
    case "keys":
      return { facts, ...cut(yield* reads.storedKeys(space, query)) };
    case "requests":
      return { facts, ...cut(yield* reads.storedRequests(space, query.after)) };
    case "changes": {
      requireKept(query.after, space);
      const { records, done } = cut(yield* reads.storedRows(space, query.after));
      const only = [...new Set(records.map(({ key }) => key))].sort(compareKeys);
      const keys = yield* reads.storedKeys(space, { only });
      return { facts, records: [...records, ...keys.records], done };
    }
  }
}

function cut<R extends StoredRecord>({ records, isWhole }: Fetched<R>): { readonly records: readonly R[]; readonly done: boolean } {
  const page = pageOf(records);
  return { records: page.records, done: page.done && isWhole };
}

const factsOf = ({ revision, clockMs, compacted, compactedAtMs, versionFloor, base, gaps, seal }: SpaceRow): NamespaceFacts => ({
  revision,
  clockMs,
  compacted,
  compactedAtMs,
  versionFloor,
  base,
  gaps,
  seal,
});
