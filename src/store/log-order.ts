import { gapsMax } from "./engine-rules.ts";
import type { NamespaceFacts, Revision } from "./store.ts";

/**
 * Returns a function that is called for each row in log order and reports whether the row may come next. Above the compacted revision, revisions have no gaps
 * except the known ones, and the rows of each revision are numbered from 0. `after`: the revision before the first one; undefined if the first row may be any.
 */
export function follower({ compacted, gaps }: Pick<NamespaceFacts, "compacted" | "gaps">, after: Revision | undefined): (revision: Revision, seq: number) => boolean {
  let newest = after;
  let newestSeq = Number.POSITIVE_INFINITY;
  return (revision, seq) => {
    const before = newest;
    const seqBefore = newestSeq;
    newest = revision;
    newestSeq = seq;
    if (revision <= compacted || before === undefined) return true;
    if (revision === before) return seq === seqBefore + 1;
    const [from, to] = [Math.max(before, compacted), revision];
    if (seq === 0 && (to === from + 1 || gaps.some(([kept, base]) => from <= kept && to > base))) return true;
    // The number of stored gaps is limited, so there may have been others before the oldest one.
    return gaps.length >= gapsMax && to <= (gaps[0]?.[0] ?? 0);
  };
}
