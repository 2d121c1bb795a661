import { mcpSessionKeys } from "../../../domain/keyspace.ts";
import { limits } from "../../../store/limits.ts";
import { rangeAfter } from "../../../store/ranges.ts";
import type { Entry, Store } from "../../../store/store.ts";
import { systemWriter } from "../../../store/store.ts";

/** Of one caller. Clients that never end theirs are common; over it, those that were renewed longest ago make room for new ones. */
export const sessionsPerCallerMax = 10_000;
const partForgotten = 0.1;
const callersKnownMax = 10_000;

/**
 * Keeps the sessions of each caller below a number. Counting is dear, so a node counts once and then adds up its own; several nodes may together keep
 * a few more until one of them counts again.
 */
export class SessionRoom {
  readonly #store: Store;
  readonly #max: number;
  readonly #counts = new Map<string, number>();
  readonly #working = new Map<string, Promise<void>>();

  constructor(store: Store, max = sessionsPerCallerMax) {
    this.#store = store;
    this.#max = max;
  }

  /** Resolves when there is room for one more. */
  async take(caller: string): Promise<void> {
    let count = this.#counts.get(caller);
    if (count === undefined || count >= this.#max) {
      await this.#countAnew(caller);
      count = this.#counts.get(caller) ?? 0;
    }
    this.#counts.set(caller, count + 1);
  }

  giveBack(caller: string): void {
    const count = this.#counts.get(caller);
    if (count !== undefined && count > 0) this.#counts.set(caller, count - 1);
  }

  /** However many wait for it, it is done once. */
  #countAnew(caller: string): Promise<void> {
    const working =
      this.#working.get(caller) ??
      this.#makeRoom(caller).finally(() => {
        this.#working.delete(caller);
      });
    this.#working.set(caller, working);
    return working;
  }

  async #makeRoom(caller: string): Promise<void> {
    const count = await this.#store.count(mcpSessionKeys.ofCaller(caller));
    const [longestKnown] = this.#counts.keys();
    if (this.#counts.size >= callersKnownMax && longestKnown !== undefined) this.#counts.delete(longestKnown);
    this.#counts.set(caller, count);
    if (count < this.#max) return;
    const sessions = await this.#all(caller);
    const forgotten = sessions.sort((a, b) => a.updatedAtMs - b.updatedAtMs).slice(0, Math.ceil(this.#max * partForgotten) + Math.max(0, sessions.length - this.#max));
    for (let from = 0; from < forgotten.length; from += limits.commitWritesMax)
      await this.#store.commit({
        writes: forgotten.slice(from, from + limits.commitWritesMax).map(({ key }) => ({ op: "delete", key })),
        writer: systemWriter,
      });
    this.#counts.set(caller, sessions.length - forgotten.length);
  }

  async #all(caller: string): Promise<Entry[]> {
    const sessions: Entry[] = [];
    for (let range = mcpSessionKeys.ofCaller(caller); ; ) {
      const { entries, more } = await this.#store.read(range, { values: false });
      sessions.push(...entries);
      const last = entries.at(-1);
      if (!more || last === undefined) return sessions;
      range = rangeAfter(range, last.key);
    }
  }
}
