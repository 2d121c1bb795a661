import { HoldfastError } from "../kernel/errors.ts";

/**
 * Checksums of stored records, for every engine that stores them. A checksum is a signed 32-bit number, built field by field in a fixed order.
 * Each step maps different sums and different characters to different sums, so a change to one character or one number is always detected.
 * Checksums detect damage, not tampering: anyone who can write to the store can also write a matching sum.
 */
export type Sum = number;

export const emptySum: Sum = 0x811c9dc5 | 0;
const prime = 0x01000193;
/** From this length on, encoding the text natively is cheaper than reading its characters one by one. */
const longText = 24;
const encoder = new TextEncoder();
/** The last word holds the zero padding after a text whose length is not a multiple of the word size. */
const bytes = new Uint8Array(16_384 + 4);
const encoded = bytes.subarray(0, -4);
const words = new DataView(bytes.buffer);

/** Marks for values that are not of the expected type, since a damaged record can contain any type. */
const mark = { null: 0x6e756c6c, other: 0x3f3f3f3f } as const;

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
  if (length >= longText) return addLongText(sum, text);
  // Each word combines four characters. Two words are processed at a time, so that neither multiplication waits for the other.
  let even = sum;
  let odd = length;
  let i = 0;
  for (; i + 7 < length; i += 8) {
    even = mix(even, fourAt(text, i));
    odd = mix(odd, fourAt(text, i + 4));
  }
  if (i + 3 < length) {
    odd = mix(odd, fourAt(text, i));
    i += 4;
  }
  let last = 0;
  for (; i < length; i += 1) last = (last << 8) ^ (last >>> 24) ^ text.charCodeAt(i);
  return step(mix(even, last), odd);
}

function addLongText(sum: Sum, text: string): Sum {
  const { read, written } = encoder.encodeInto(text, encoded);
  let next = addBytes(sum, written);
  // The rest of the text, in as many parts as needed; a part never ends within a character.
  for (let from = read; from < text.length; ) {
    const part = encoder.encodeInto(text.slice(from), encoded);
    next = addBytes(next, part.written);
    from += part.read;
  }
  return next;
}

/** The sum of the first `length` bytes of the buffer, computed in four independent lanes. */
function addBytes(sum: Sum, length: number): Sum {
  const view = words;
  view.setInt32(length, 0, true);
  let first = sum;
  let second = length;
  let third = emptySum;
  let fourth = prime;
  let i = 0;
  for (; i + 15 < length; i += 16) {
    first = mix(first, view.getInt32(i, true));
    second = mix(second, view.getInt32(i + 4, true));
    third = mix(third, view.getInt32(i + 8, true));
    fourth = mix(fourth, view.getInt32(i + 12, true));
  }
  for (; i < length; i += 4) first = mix(first, view.getInt32(i, true));
  return step(step(step(first, second), third), fourth);
}

/** Characters have 16 bits each, so they overlap in the word, but changing any one of them changes the word. */
function fourAt(text: string, i: number): number {
  const last = text.charCodeAt(i + 3);
  return text.charCodeAt(i) ^ (text.charCodeAt(i + 1) << 8) ^ (text.charCodeAt(i + 2) << 16) ^ (last << 24) ^ (last >>> 8);
}

/** Rotated so that every bit of the word affects every bit of the sum. */
function mix(sum: Sum, word: number): Sum {
  const next = Math.imul(sum ^ word, prime);
  return (next << 13) | (next >>> 19);
}

/** Caches the last sum, for a column that usually repeats the value of the row before. */
function repeatedText(): (text: Text) => Sum {
  let last: Text;
  let sum = addText(emptySum, last);
  return (text) => {
    if (text !== last) {
      sum = addText(emptySum, text);
      last = text;
    }
    return sum;
  };
}

const writerSum = repeatedText();
const agentSum = repeatedText();
const kindSum = repeatedText();
const actSum = repeatedText();

type Text = string | null | undefined;
type Whole = number | null | undefined;

/** The sum of a log row's position. The sums of all other data about the row continue from it. */
export const logPositionSum = (namespaceId: number, logPosition: number): Sum => addNumber(addNumber(emptySum, namespaceId), logPosition);

/** The sum of a text alone, for a text that is part of several sums. */
export const textSum = (text: string): Sum => addText(emptySum, text);

/** The common part of the sums of an entry, its slot and the log row that wrote it. The parameters are positional because this runs for every row read and written. */
export const versionSum = (logPosition: Sum, version: number, expiresAtMs: Whole, createdAtMs: number): Sum =>
  addNumber(addNumber(addNumber(logPosition, version), expiresAtMs), createdAtMs);

/** The sum of everything that a read of a live entry returns, except its key and value. */
export const entrySum = (version: Sum, atMs: number, writer: string, agent: Text): Sum => step(step(addNumber(version, atMs), writerSum(writer)), agentSum(agent));

/** The entry's sum with its key. The key's sum is most of the work, so it is passed in. */
export const keyedSum = (entry: Sum, key: Sum): Sum => step(entry, key);

/** The sum of everything that a write to a key, or a search for its history, starts from. */
export const slotSum = (version: Sum, key: Sum, anchor: Whole, findable: number): Sum => addNumber(addNumber(step(version, key), anchor), findable);

/** The sum of a log row without its links and its value. Those are also read alone and have their own sums. */
export const logRowSum = (keyed: Sum, op: number, kind: Text, act: Text, subject: Text, lapse: Text): Sum =>
  addText(addText(step(step(addNumber(keyed, op), kindSum(kind)), actSum(act)), subject), lapse);

/** The sum of a log row's time and links, which finding the newest row and walking a key's chain rely on. */
export const linkSum = (logPosition: Sum, atMs: number, previous: Whole, jump: Whole): Sum => addNumber(addNumber(addNumber(logPosition, atMs), previous), jump);

/** The sum of an entry with its value, so that an intact value in the wrong row is detected as damage too. */
const valueSum = (entry: Sum, json: Text): Sum => addText(entry, json);

/** A stored value is prefixed with its sum, as six characters of six bits each. A separate column for the sum would cost every row of a listing more than computing it. */
const sumCharacters = 6;
const zero = 48;

export function sealValue(entry: Sum, json: Text): string {
  const sum = valueSum(entry, json);
  const ahead = String.fromCharCode(
    zero + (sum & 63),
    zero + ((sum >>> 6) & 63),
    zero + ((sum >>> 12) & 63),
    zero + ((sum >>> 18) & 63),
    zero + ((sum >>> 24) & 63),
    zero + (sum >>> 30),
  );
  return json === null || json === undefined ? ahead : ahead + json;
}

/** The JSON text of a stored value; undefined when there is none. */
export const sealedJson = (stored: string): string | undefined => (stored.length > sumCharacters ? stored.slice(sumCharacters) : undefined);

/** Returns the JSON text of a stored value, or throws `store_damaged` if its sum is wrong. `entry`: the sum of the data stored with the value. */
export function requireValue<Subject>(entry: Sum, stored: unknown, nameOf: (subject: Subject) => string, subject: Subject): string | undefined {
  if (typeof stored !== "string") throw damagedRecord(nameOf(subject));
  const json = sealedJson(stored);
  requireSum(valueSum(entry, json), sumAhead(stored), nameOf, subject);
  return json;
}

const sumAhead = (stored: string): Sum =>
  (stored.charCodeAt(0) - zero) ^
  ((stored.charCodeAt(1) - zero) << 6) ^
  ((stored.charCodeAt(2) - zero) << 12) ^
  ((stored.charCodeAt(3) - zero) << 18) ^
  ((stored.charCodeAt(4) - zero) << 24) ^
  ((stored.charCodeAt(5) - zero) << 30);

export const tombstoneSum = (namespaceId: number, key: string, logPosition: number, anchor: Whole, version: number): Sum =>
  addNumber(addNumber(addNumber(addText(addNumber(emptySum, namespaceId), key), logPosition), anchor), version);

export const requestSum = (namespaceId: number, key: string, fingerprint: string, keptUntilMs: number, outcome: string): Sum =>
  addText(addNumber(addText(addText(addNumber(emptySum, namespaceId), key), fingerprint), keptUntilMs), outcome);

export const namespaceSum = (id: number, name: string, compacted: number, compactedAtMs: number, versionFloor: number, tombstones: number): Sum =>
  addNumber(addNumber(addNumber(addNumber(addText(addNumber(emptySum, id), name), compacted), compactedAtMs), versionFloor), tombstones);

export const asideSum = (id: number, aside: Text): Sum => addText(addNumber(emptySum, id), aside);

export const documentSum = (namespaceId: number, key: string, areaId: number, logPosition: number, length: number, terms: string): Sum =>
  addText(addNumber(addNumber(addNumber(addText(addNumber(emptySum, namespaceId), key), areaId), logPosition), length), terms);

/** The sum of a term in an area. The sums of its postings continue from it. */
export const termSum = (areaId: number, term: string): Sum => addText(addNumber(emptySum, areaId), term);
export const postingSum = (term: Sum, logPosition: number, weight: number, length: number): Sum => addNumber(addNumber(addNumber(term, logPosition), weight), length);

/**
 * SQL updates counters, many rows at once, together with their sums. The stored sum is the sum of the row's name minus its counts, so adding to a count subtracts as
 * much from the sum.
 */
export const areaSum = (namespaceId: number, id: number, name: string): Sum => addText(addNumber(addNumber(emptySum, namespaceId), id), name);

/** Throws `store_damaged`, naming the record, unless the stored sum matches its fields. The name is built only when needed, and without a closure per row. */
export function requireSum<Subject>(computed: Sum, stored: unknown, nameOf: (subject: Subject) => string, subject: Subject): void {
  if (computed !== stored) throw damagedRecord(nameOf(subject));
}

export const damagedRecord = (record: string): HoldfastError =>
  new HoldfastError("store_damaged", `The stored record of ${record} is damaged: it does not match its checksum, or is missing. It was not returned; nothing was changed.`, {
    hint: "Run `holdfast doctor --deep` to check the whole store, then restore a backup.",
    details: { record },
  });
