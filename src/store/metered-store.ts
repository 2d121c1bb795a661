import { isHoldfastError } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";
import { limits } from "./limits.ts";
import { singleKey } from "./ranges.ts";
import type { LogQuery, Range, ReadOptions, Snapshot, Store } from "./store.ts";

/** Values with this many characters of JSON take a few milliseconds to read and check. More are read in several parts, so that other callers are served in between. */
const partCharacters = 524_288;

/** Delays reads until there is memory and time for their results. */
export interface ReadGate {
  /** Call this before a read that may return this many values. Pass the result to `leave`. */
  enter(valuesMax: number): number | Promise<number>;
  /** Call this when the read has returned about this many bytes; 0 if it failed. Resolves when work on them may continue. */
  leave(entered: number, bytes: number): Promise<void> | undefined;
  /** Releases the memory of everything read so far: the call is waiting for something new. */
  forget(): void;
  /** Call this between the parts of long work. Undefined: continue at once. */
  pause(): Promise<void> | undefined;
}

/** The same store, with a gate in front of each read. Watching is not metered: a waiting caller has released what it read, and reads again after a change. */
export function meteredStore(store: Store, gate: ReadGate): Store {
  const metered = async <Found>(valuesMax: number, read: () => Promise<Found>, bytesIn: (found: Found) => number): Promise<Found> => {
    const waited = gate.enter(valuesMax);
    const entered = typeof waited === "number" ? waited : await waited;
    let bytes = 0;
    try {
      const found = await read();
      bytes = valuesMax === 0 ? 0 : bytesIn(found);
      return found;
    } finally {
      const going = gate.leave(entered, bytes);
      if (going !== undefined) await going;
    }
  };
  const readPart: Store["read"] = (ranges, options) =>
    metered(
      options?.values === false ? 0 : Math.min(valuesIn(ranges), options?.limit ?? limits.readEntriesMax),
      () => store.read(ranges, options),
      ({ entries }) => bytesOfAll(entries),
    );
  return {
    ...store,
    read: async (ranges, options = {}) => {
      try {
        return await inParts(ranges, options, readPart);
      } catch (error) {
        // If almost no history is kept, the first part's revision may be compacted before the last part is read.
        if (options.at !== undefined || !isHoldfastError(error, "compacted")) throw error;
        return readPart(ranges, options);
      }
    },
    log: (query) =>
      metered(
        logValuesMax(query),
        () => store.log(query),
        ({ rows }) => bytesOfAll(rows) + rows.reduce((sum, { previous }) => sum + (previous === undefined ? 0 : bytesOf(previous)), 0),
      ),
    watch(...args) {
      gate.forget();
      return store.watch(...args);
    },
    async count(range) {
      await gate.pause();
      return store.count(range);
    },
    async search(query) {
      await gate.pause();
      const answer = await store.search({ ...query, pause: () => gate.pause() });
      // The caller ranks the answer next, and that takes time too.
      await gate.pause();
      return answer;
    },
  };
}

/** One snapshot, read in parts: all as of the first part's revision and time. Ends early if the caller wants no more characters. */
async function inParts(ranges: Range | readonly Range[], options: ReadOptions, readPart: Store["read"]): Promise<Snapshot> {
  if (options.values === false) return readPart(ranges, options);
  let left = options.charactersMax ?? Number.POSITIVE_INFINITY;
  const first = await readPart(ranges, { ...options, charactersMax: Math.min(left, partCharacters) });
  if (first.rest === undefined) return first;
  const { revision, nowMs } = first;
  const then = { ...options, at: revision, liveAtMs: options.at === undefined ? nowMs : options.liveAtMs };
  const entries = [...first.entries];
  let part = first;
  for (left -= charactersOf(part); part.rest !== undefined && left > 0; left -= charactersOf(part)) {
    part = await readPart(part.rest, { ...then, limit: (options.limit ?? limits.readEntriesMax) - entries.length, charactersMax: Math.min(left, partCharacters) });
    entries.push(...part.entries);
  }
  return { ...part, revision, nowMs, entries };
}

/** An estimate: strings have two bytes per character. */
const charactersOf = ({ entries }: Snapshot): number => bytesOfAll(entries) / 2;

const valuesIn = (ranges: Range | readonly Range[]): number =>
  (Array.isArray(ranges) ? (ranges as readonly Range[]) : [ranges as Range]).reduce((sum, range) => sum + (singleKey(range) === undefined ? limits.readEntriesMax : 1), 0);

function logValuesMax({ values, limit = limits.logRowsMax, previous, valuesBytesMax = Number.POSITIVE_INFINITY }: LogQuery): number {
  const ofRow = previous ? 2 : 1;
  // A read that stops at a number of bytes has already read the values of one row beyond it.
  return values === false ? 0 : Math.min(limit * ofRow, Math.ceil(valuesBytesMax / limits.valueBytesMax) + ofRow);
}

function bytesOfAll(items: readonly { readonly value: Json }[]): number {
  let bytes = 0;
  for (const { value } of items) bytes += bytesOf(value);
  return bytes;
}

/** The approximate size of a value in memory: strings may need two bytes per character. */
export function bytesOf(value: Json): number {
  if (typeof value === "string") return 16 + 2 * value.length;
  if (value === null || typeof value !== "object") return 8;
  let bytes = 32;
  if (Array.isArray(value)) for (const item of value) bytes += bytesOf(item);
  else for (const name in value) bytes += 16 + 2 * name.length + bytesOf((value as Record<string, Json>)[name] as Json);
  return bytes;
}
