import { crc32 } from "node:zlib";
import { HoldfastError } from "../kernel/errors.ts";

/**
 * Checksums of stored records, for every engine that keeps them. A sum is a signed 32-bit number, built field by field in a fixed order.
 * Each step maps different sums and different characters to different sums, so changing one character or one number always shows.
 * They find damage, not tampering: whoever can write the store can write a matching sum.
 */
export type Sum = number;

export const emptySum: Sum = 0x811c9dc5 | 0;
const prime = 0x01000193;
/** From these lengths on, first native encoding, then the native checksum too is worth its call. */
const mediumText = 48;
const longText = 1_024;
const encoder = new TextEncoder();
const bytes = new Uint8Array(longText * 3);
const words = new DataView(bytes.buffer);

/** What stands for values that are not of the expected type: a damaged record can hold any. */
const mark = { null: 0x6e756c6c, undefined: 0x6e756c6c, other: 0x3f3f3f3f } as const;

const markOf = (value: unknown): number => (value === null || value === undefined ? mark.null : mark.other);

const step = (sum: Sum, word: number): Sum => {
  const next = Math.imul(sum ^ word, prime);
  return next ^ (next >>> 15);
};

/** Whole numbers up to 2^53. */
export function addNumber(sum: Sum, value: number | null | undefined): Sum {
  if (typeof value !== "number") return step(sum, markOf(value));
  return step(sum, value | 0) ^ Math.imul(Math.floor(value * 2 ** -32), prime);
}

export function addText(sum: Sum, text: string | null | undefined): Sum {
  if (typeof text !== "string") return step(sum, markOf(text));
  const { length } = text;
  if (length >= longText) return step(crc32(text, sum >>> 0), length);
  if (length >= mediumText) return addBytes(sum, encoder.encodeInto(text, bytes).written);
  // Four characters to a word, two words at a time: neither waits for the other's multiplication.
  let even = sum;
  let odd = length;
  let i = 0;
  for (; i + 7 < length; i += 8) {
    even = mix(even, fourAt(text, i));
    odd = mix(odd, fourAt(text, i + 4));
  }
  for (; i < length; i += 1) even = mix(even, text.charCodeAt(i));
  return step(even, odd);
}

/** Of the first `length` of `bytes`: the same, with less to ask for. */
function addBytes(sum: Sum, length: number): Sum {
  let even = sum;
  let odd = length;
  let i = 0;
  for (; i + 7 < length; i += 8) {
    even = mix(even, words.getInt32(i, true));
    odd = mix(odd, words.getInt32(i + 4, true));
  }
  for (; i < length; i += 1) even = mix(even, bytes[i] as number);
  return step(even, odd);
}

/** Characters have 16 bits each: they overlap, but changing any one of them changes the word. */
function fourAt(text: string, i: number): number {
  const last = text.charCodeAt(i + 3);
  return text.charCodeAt(i) ^ (text.charCodeAt(i + 1) << 8) ^ (text.charCodeAt(i + 2) << 16) ^ (last << 24) ^ (last >>> 8);
}

/** Turned, so that every bit of the word comes to bear on every bit of the sum. */
function mix(sum: Sum, word: number): Sum {
  const next = Math.imul(sum ^ word, prime);
  return (next << 13) | (next >>> 19);
}

type Text = string | null | undefined;
type Whole = number | null | undefined;

/** Where a log row is; the sums of everything about it continue from here. */
export const placeSum = (namespaceId: number, place: number): Sum => addNumber(addNumber(emptySum, namespaceId), place);

/** Of a text alone, for one that goes into several sums. */
export const textSum = (text: string): Sum => addText(emptySum, text);

/** What the sums of an entry, of its slot and of the log row that wrote it have in common. Positional: it runs for every row read and written. */
export const keySum = (place: Sum, key: Sum, version: number, expiresAtMs: Whole, createdAtMs: number): Sum =>
  addNumber(addNumber(addNumber(step(place, key), version), expiresAtMs), createdAtMs);

/** Of all that reading a live entry shows, but its value. */
export const entrySum = (key: Sum, atMs: number, writer: string, agent: Text): Sum => addText(addText(addNumber(key, atMs), writer), agent);

/** Of all that writing to a key, and finding its history, starts from. */
export const slotSum = (key: Sum, anchor: Whole, findable: number): Sum => addNumber(addNumber(key, anchor), findable);

/** Of a log row, without its links and its value: those are also read alone and have sums of their own. */
export const logRowSum = (entry: Sum, op: number, kind: Text, act: Text, subject: Text, lapse: Text): Sum =>
  addText(addText(addText(addText(addNumber(entry, op), kind), act), subject), lapse);

/** Of a log row's time and links: what finding the newest row and walking a key's chain rely on. */
export const linkSum = (place: Sum, atMs: number, previous: Whole, jump: Whole): Sum => addNumber(addNumber(addNumber(place, atMs), previous), jump);

/** The value's own sum, bound to its row: a whole value in another row's place is damage too. */
export const valueSum = (place: Sum, json: Text): Sum => addText(place, json);

export const tombstoneSum = (namespaceId: number, key: string, place: number, anchor: Whole, version: number): Sum =>
  addNumber(addNumber(addNumber(addText(addNumber(emptySum, namespaceId), key), place), anchor), version);

export const requestSum = (namespaceId: number, key: string, fingerprint: string, keptUntilMs: number, outcome: string): Sum =>
  addText(addNumber(addText(addText(addNumber(emptySum, namespaceId), key), fingerprint), keptUntilMs), outcome);

export const namespaceSum = (id: number, name: string, compacted: number, compactedAtMs: number, versionFloor: number, tombstones: number): Sum =>
  addNumber(addNumber(addNumber(addNumber(addText(addNumber(emptySum, id), name), compacted), compactedAtMs), versionFloor), tombstones);

export const asideSum = (id: number, aside: Text): Sum => addText(addNumber(emptySum, id), aside);

export const documentSum = (namespaceId: number, key: string, areaId: number, place: number, length: number, terms: string): Sum =>
  addText(addNumber(addNumber(addNumber(addText(addNumber(emptySum, namespaceId), key), areaId), place), length), terms);

/** A term of an area; its postings continue from it. */
export const termSum = (areaId: number, term: string): Sum => addText(addNumber(emptySum, areaId), term);
export const postingSum = (term: Sum, place: number, weight: number, length: number): Sum => addNumber(addNumber(addNumber(term, place), weight), length);

/**
 * Counters are moved by SQL, many rows at once, and their sums with them: what is stored is the sum of the row's name less its counts, so that
 * adding to a count takes as much off the sum.
 */
export const areaSum = (namespaceId: number, id: number, name: string): Sum => addText(addNumber(addNumber(emptySum, namespaceId), id), name);

/** Throws `store_damaged`, naming the record, unless the stored sum is the one its fields give. */
export function requireSum(computed: Sum, stored: unknown, record: () => string): void {
  if (computed !== stored) throw damagedRecord(record());
}

export const damagedRecord = (record: string): HoldfastError =>
  new HoldfastError("store_damaged", `The stored record of ${record} is damaged: it does not match its checksum, or is missing. It was not returned; nothing was changed.`, {
    hint: "Run `holdfast doctor --deep` to check the whole store, then restore a backup.",
    details: { record },
  });
