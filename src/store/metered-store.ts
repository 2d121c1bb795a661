import { isHoldfastError } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";
import { limits } from "./limits.ts";
import { singleKey } from "./ranges.ts";
import type { LogQuery, Range, ReadOptions, Snapshot, Store } from "./store.ts";

/** Values whose JSON has so many characters take a few milliseconds to read and check; more of them are read in several parts, between which others are served. */
const partCharacters = 524_288;

/** Lets reads begin when there is memory and time for what they bring. */
export interface ReadGate {
  /** Before a read that may bring so many values. What it gives goes to `leave`. */
  enter(valuesMax: number): number | Promise<number>;
  /** The read has brought about so many bytes; 0 after one that failed. Resolves when work on them may go on. */
  leave(entered: number, bytes: number): Promise<void> | undefined;
  /** What was read so far is not needed any more: the call waits for something new. */
  forget(): void;
  /** Between the parts of long work. Undefined: it may go on at once. */
  pause(): Promise<void> | undefined;
}

/** The same store, each of whose reads passes a gate. Watching is not reading: whoever waits has let go of what it read, and reads again when it is told of a change. */
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
        // Where next to no history is kept, the first part's revision may be gone before the last part is read.
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
      // Ranking what was found is work of its own.
      await gate.pause();
      return answer;
    },
  };
}

/** One snapshot, read part by part: all as of the first part's revision and moment. Ends early where the caller wants no more characters. */
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

/** About: strings have two bytes for each character. */
const charactersOf = ({ entries }: Snapshot): number => bytesOfAll(entries) / 2;

const valuesIn = (ranges: Range | readonly Range[]): number =>
  (Array.isArray(ranges) ? (ranges as readonly Range[]) : [ranges as Range]).reduce((sum, range) => sum + (singleKey(range) === undefined ? limits.readEntriesMax : 1), 0);

function logValuesMax({ values, limit = limits.logRowsMax, previous, valuesBytesMax = Number.POSITIVE_INFINITY }: LogQuery): number {
  const ofRow = previous ? 2 : 1;
  // What stops at so many bytes has read the values of one row beyond them.
  return values === false ? 0 : Math.min(limit * ofRow, Math.ceil(valuesBytesMax / limits.valueBytesMax) + ofRow);
}

function bytesOfAll(items: readonly { readonly value: Json }[]): number {
  let bytes = 0;
  for (const { value } of items) bytes += bytesOf(value);
  return bytes;
}

/** About what a value takes in memory: strings may need two bytes for each character. */
export function bytesOf(value: Json): number {
  if (typeof value === "string") return 16 + 2 * value.length;
  if (value === null || typeof value !== "object") return 8;
  let bytes = 32;
  if (Array.isArray(value)) for (const item of value) bytes += bytesOf(item);
  else for (const name in value) bytes += 16 + 2 * name.length + bytesOf((value as Record<string, Json>)[name] as Json);
  return bytes;
}
