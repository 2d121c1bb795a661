import { gapsMax } from "./engine-rules.ts";
import { revisionAt, seqAt } from "./log-position.ts";
import type { NamespaceFacts, Revision } from "./store.ts";

/**
 * Asked place by place, in the log's order: may this row come next? Above what is compacted revisions have no gaps but the known ones, and the rows of each
 * are numbered from 0. `after`: the revision before the first one; undefined when the first row may be any.
 */
export function follower({ compacted, gaps }: Pick<NamespaceFacts, "compacted" | "gaps">, after: Revision | undefined): (logPosition: number) => boolean {
  let revision = after;
  let seq = Number.POSITIVE_INFINITY;
  return (logPosition) => {
    const [before, seqBefore] = [revision, seq];
    [revision, seq] = [revisionAt(logPosition), seqAt(logPosition)];
    if (revision <= compacted || before === undefined) return true;
    if (revision === before) return seq === seqBefore + 1;
    const [from, to] = [Math.max(before, compacted), revision];
    if (seq === 0 && (to === from + 1 || gaps.some(([kept, base]) => from <= kept && to > base))) return true;
    // Only so many gaps are remembered: before the oldest of them there may have been others.
    return gaps.length >= gapsMax && to <= (gaps[0]?.[0] ?? 0);
  };
}
