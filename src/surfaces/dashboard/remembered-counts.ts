import type { Range, Store } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";

/** A count is cached for this multiple of the time it took, at most `msMax`: counting never takes more than a small share of the time. */
const remembered = { times: 8, msMax: 1_000, countsMax: 200 } as const;

interface Counted {
  readonly count: Promise<number>;
  untilMs: number;
}

/** Counting is the one read whose cost grows with the store. Many viewers of a large store must not keep it counting all the time. */
export class RememberedCounts {
  readonly #byStore = new WeakMap<Store, Map<string, Counted>>();

  count({ store, clock }: Pick<Scope, "store" | "clock">, range: Range): Promise<number> {
    const counts = this.#countsOf(store);
    const name = JSON.stringify([range.start, range.end]);
    const known = counts.get(name);
    const beganMs = clock.nowMs();
    if (known !== undefined && beganMs < known.untilMs) return known.count;
    const count = store.count(range);
    // Not cached until complete: a caller that asks in between may know of a change that this count misses.
    const counted: Counted = { count, untilMs: beganMs };
    counts.delete(name);
    counts.set(name, counted);
    for (const oldest of counts.keys()) if (counts.size > remembered.countsMax) counts.delete(oldest);
    void count.then(
      () => {
        const endedMs = clock.nowMs();
        counted.untilMs = endedMs + Math.min(remembered.msMax, (endedMs - beganMs) * remembered.times);
      },
      () => counts.delete(name),
    );
    return count;
  }

  #countsOf(store: Store): Map<string, Counted> {
    const known = this.#byStore.get(store);
    if (known !== undefined) return known;
    const fresh = new Map<string, Counted>();
    this.#byStore.set(store, fresh);
    return fresh;
  }
}
