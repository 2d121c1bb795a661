import { gapsMax } from "./engine-rules.ts";
import type { NamespaceFacts, Revision } from "./store.ts";

/**
 * Asked row by row, in the log's order: may this row come next? Above what is compacted revisions have no gaps but the known ones, and the rows of each
 * are numbered from 0. `after`: the revision before the first one; undefined when the first row may be any.
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
    // Only so many gaps are remembered: before the oldest of them there may have been others.
    return gaps.length >= gapsMax && to <= (gaps[0]?.[0] ?? 0);
  };
}
