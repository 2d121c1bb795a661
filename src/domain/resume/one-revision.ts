import { isHoldfastError } from "../../kernel/errors.ts";
import type { Range, ReadOptions, Snapshot, Store, StorePosition } from "../../store/store.ts";

export interface ListRead {
  readonly ranges: Range | readonly Range[];
  readonly options?: ReadOptions;
}

/**
 * Lists as of one revision, read side by side as they are now: their past may be long. Only where somebody wrote in between are those that
 * were read earlier read again, as of the newest of them.
 */
export async function readLists(store: Store, lists: readonly ListRead[]): Promise<StorePosition & { readonly lists: readonly Snapshot[] }> {
  const read = await Promise.all(lists.map(({ ranges, options }) => store.read(ranges, options)));
  const revision = Math.max(...read.map((list) => list.revision));
  const nowMs = Math.max(...read.map((list) => list.nowMs));
  const same = read.map((list, i) => {
    const { ranges, options } = lists[i] as ListRead;
    return list.revision === revision ? list : store.read(ranges, { ...options, at: revision, liveAtMs: nowMs });
  });
  return { revision, nowMs, lists: await Promise.all(same) };
}

/** The store as of a moment that is still being found out: reads wait for it, a search does not. */
export function storeAt(store: Store, moment: Promise<StorePosition>): Store {
  const read = async (ranges: Range | readonly Range[], options: ReadOptions = {}): Promise<Snapshot> => {
    const { revision, nowMs } = await moment;
    return { ...(await store.read(ranges, { ...options, at: revision, liveAtMs: nowMs })), nowMs };
  };
  const position = async (): Promise<StorePosition> => {
    const { revision, nowMs } = await moment;
    return { revision, nowMs };
  };
  return { ...store, position, read };
}

const attemptsMax = 4;

/** Compaction passes a revision that was current a moment ago only where next to no history is kept. */
export async function unlessCompacted<T>(look: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await look();
    } catch (error) {
      if (attempt === attemptsMax || !isHoldfastError(error, "compacted")) throw error;
    }
  }
}
