import { isHoldfastError } from "../kernel/errors.ts";
import type { Range, ReadOptions, Snapshot, Store, StorePosition } from "./store.ts";

/** A revision that was current a moment ago is compacted only if almost no history is kept. */
const attemptsMax = 4;

/**
 * For an answer that takes several reads: everything that `look` reads is as of one revision and one time, those of its first read. This applies only to `read` and
 * `position`; commits, the log and searches go directly to the store.
 */
export async function readTogether<T>(store: Store, look: (store: Store) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await look(pinned(store));
    } catch (error) {
      if (attempt === attemptsMax || !isHoldfastError(error, "compacted")) throw error;
    }
  }
}

function pinned(store: Store): Store {
  let first: Promise<StorePosition> | undefined;
  const read = async (ranges: Range | readonly Range[], options: ReadOptions = {}): Promise<Snapshot> => {
    if (options.at !== undefined) return store.read(ranges, options);
    if (first === undefined) {
      const snapshot = store.read(ranges, options);
      first = snapshot;
      return snapshot;
    }
    const { revision, nowMs } = await first;
    return { ...(await store.read(ranges, { ...options, at: revision, liveAtMs: nowMs })), nowMs };
  };
  const position = async (): Promise<StorePosition> => {
    first ??= store.position();
    const { revision, nowMs } = await first;
    return { revision, nowMs };
  };
  return { ...store, position, read };
}
