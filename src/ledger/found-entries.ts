import { limits } from "../store/limits.ts";
import { isLive, rangesFrom } from "../store/ranges.ts";
import type { Entry, Range, ReadOptions, Snapshot } from "../store/store.ts";

/** Collects the entries of one read and knows when the read has enough. */
export class FoundEntries {
  readonly entries: Entry[] = [];
  readonly limit: number;
  readonly #options: ReadOptions;
  readonly #liveAtMs: number | undefined;
  #characters = 0;

  /** `liveAtMs`: entries that have expired by then are skipped. Undefined if the driver has already left them out. */
  constructor(options: ReadOptions, liveAtMs?: number) {
    this.limit = options.limit ?? limits.readEntriesMax;
    this.#options = options;
    this.#liveAtMs = liveAtMs;
  }

  get isFull(): boolean {
    return this.entries.length === this.limit;
  }

  get isEnough(): boolean {
    const { charactersMax } = this.#options;
    return this.isFull || (charactersMax !== undefined && this.#characters >= charactersMax);
  }

  /** Returns false, without adding the entry, if the read already has enough. `characters`: the length of the value's JSON. */
  offer(entry: Entry, characters: number): boolean {
    if (this.#liveAtMs !== undefined && !isLive(entry, this.#liveAtMs)) return true;
    if (this.isEnough) return false;
    this.entries.push(entry);
    this.#characters += characters;
    return true;
  }

  /** The result of a read that stopped before the entry of `key`, in the range at `index`. */
  stoppedAt(ranges: readonly Range[], index: number, key: string): Pick<Snapshot, "entries" | "more" | "rest"> {
    const { entries } = this;
    return this.isFull ? { entries, more: true } : { entries, more: false, rest: rangesFrom(ranges, index, key, this.#options.reverse) };
  }
}
