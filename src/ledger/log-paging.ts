import { requireKept, wholeRevisions } from "../store/engine-rules.ts";
import { limits } from "../store/limits.ts";
import type { LogPage, LogQuery, LogRow, NamespaceFacts, Revision } from "../store/store.ts";

/** Revisions examined by one call: a filter that matches nothing must not walk a whole long history. */
export const revisionsPerCall = 20_000;
/** Up to so many rows under the asked keys, going by key is cheaper than going by revision. */
export const narrowRowsMax = 20_000;

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

  /** Throws `compacted` where the past that is requested is not kept. */
  constructor(query: LogQuery, space: Pick<NamespaceFacts, "revision" | "compacted" | "gaps">) {
    this.#query = query;
    this.#space = space;
    this.limit = query.limit ?? limits.logRowsMax;
    this.after = query.after ?? 0;
    this.last = Math.min(space.revision, (query.before ?? Number.POSITIVE_INFINITY) - 1);
    if (query.after !== undefined && !query.lenient) requireKept(this.after, space);
  }

  /** What one call examines, from the nearest revision that has rows: where compaction has been, most have none. */
  spanFrom(nearest: Revision): RevisionSpan {
    return this.#query.reverse
      ? { from: Math.max(this.after + 1, nearest - revisionsPerCall + 1), to: nearest }
      : { from: nearest, to: Math.min(this.last, nearest + revisionsPerCall - 1) };
  }

  /** `fetched`: as many rows as `rowsToFetch` says. `examined`: the revisions they come from, if those are not all. */
  page(fetched: readonly LogRow[], examined?: RevisionSpan): LogPage {
    const { reverse } = this.#query;
    const { revision } = this.#space;
    const { rows, cut } = wholeRevisions(fetched, this.limit);
    if (cut) return { rows, through: (rows.at(-1) as LogRow).revision, done: false, revision };
    const isWhole = examined === undefined || (reverse ? examined.from <= this.after + 1 : examined.to >= this.last);
    if (isWhole) return { rows, through: reverse ? this.after : Math.max(this.after, this.last), done: true, revision };
    return { rows, through: reverse ? examined.from : this.#outsideGaps(examined.to), done: false, revision };
  }

  /** Nobody can continue from inside a gap; nothing lies between its beginning and there. */
  #outsideGaps(revision: Revision): Revision {
    return this.#space.gaps.find(([kept, base]) => revision > kept && revision < base)?.[0] ?? revision;
  }
}
