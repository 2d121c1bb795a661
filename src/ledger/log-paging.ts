import { requireKept, wholeRevisions } from "../store/engine-rules.ts";
import { limits } from "../store/limits.ts";
import type { LogPage, LogQuery, LogRow, NamespaceFacts, Revision } from "../store/store.ts";

/** Limits the revisions that one call examines, so that a filter that matches nothing does not walk the whole history. */
export const revisionsPerCall = 20_000;
/** Up to this many rows under the requested keys, reading by key is cheaper than reading by revision. */
export const narrowRowsMax = 20_000;

/** Whether the values are limited in size or come with previous values. If so, the page is found first, and then as many values as fit are read. */
export const boundsValues = ({ values, previous, valuesBytesMax }: LogQuery): boolean => values !== false && (previous === true || valuesBytesMax !== undefined);

/** The first and the last revision that a call examines. */
export interface RevisionSpan {
  readonly from: Revision;
  readonly to: Revision;
}

/** Where a page of the log begins and ends. */
export class LogPaging {
  readonly limit: number;
  /** Only revisions above `after`, up to `last`. */
  readonly after: Revision;
  readonly last: Revision;
  readonly #query: LogQuery;
  readonly #space: Pick<NamespaceFacts, "revision" | "compacted" | "gaps">;

  /** Throws `compacted` if the requested history is no longer kept. */
  constructor(query: LogQuery, space: Pick<NamespaceFacts, "revision" | "compacted" | "gaps">) {
    this.#query = query;
    this.#space = space;
    this.limit = query.limit ?? limits.logRowsMax;
    this.after = query.after ?? 0;
    this.last = Math.min(space.revision, (query.before ?? Number.POSITIVE_INFINITY) - 1);
    if (query.after !== undefined && !query.lenient) requireKept(this.after, space);
  }

  /** The revisions that one call examines, starting at the nearest revision that has rows: after compaction, most revisions have none. */
  spanFrom(nearest: Revision): RevisionSpan {
    return this.#query.reverse
      ? { from: Math.max(this.after + 1, nearest - revisionsPerCall + 1), to: nearest }
      : { from: nearest, to: Math.min(this.last, nearest + revisionsPerCall - 1) };
  }

  /** `fetched`: as many rows as `rowsToFetch` requires. `examined`: the revisions they come from, if not all were examined. */
  page(fetched: readonly LogRow[], examined?: RevisionSpan): LogPage {
    const { reverse } = this.#query;
    const { revision } = this.#space;
    const { rows, cut } = wholeRevisions(fetched, this.limit);
    if (cut) return { rows, through: (rows.at(-1) as LogRow).revision, done: false, revision };
    const isWhole = examined === undefined || (reverse ? examined.from <= this.after + 1 : examined.to >= this.last);
    if (isWhole) return { rows, through: reverse ? this.after : Math.max(this.after, this.last), done: true, revision };
    return { rows, through: reverse ? examined.from : this.#outsideGaps(examined.to), done: false, revision };
  }

  /** A caller cannot continue from inside a gap. Nothing lies between the start of the gap and `revision`, so the start is equivalent. */
  #outsideGaps(revision: Revision): Revision {
    return this.#space.gaps.find(([kept, base]) => revision > kept && revision < base)?.[0] ?? revision;
  }
}
