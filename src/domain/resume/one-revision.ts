import { isHoldfastError } from "../../kernel/errors.ts";
import type { Range, ReadOptions, Snapshot, Store, StorePosition } from "../../store/store.ts";

export interface ListRead {
  readonly ranges: Range | readonly Range[];
  readonly options?: ReadOptions;
}

/**
 * Reads lists in parallel as of one revision. They are read as current first, because reading the past may be slow. Only if a write came in between are
 * the older ones read again, as of the newest revision.
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

/** The store as of a revision that is not known yet. Reads wait for the revision; searches do not. */
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

/** Retries if compaction removed the revision meanwhile, which happens only if almost no history is kept. */
export async function unlessCompacted<T>(look: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await look();
    } catch (error) {
      if (attempt === attemptsMax || !isHoldfastError(error, "compacted")) throw error;
    }
  }
}
