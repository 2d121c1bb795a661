import { HoldfastError } from "../kernel/errors.ts";

/**
 * Checksums of stored records, for every engine that keeps them. A sum is a signed 32-bit number, built field by field in a fixed order.
 * Each step maps different sums and different characters to different sums, so changing one character or one number always shows.
 * They find damage, not tampering: whoever can write the store can write a matching sum.
 */
export type Sum = number;

export const emptySum: Sum = 0x811c9dc5 | 0;
const prime = 0x01000193;
/** From this length on, encoding the text natively is cheaper than asking for its characters. */
const longText = 24;
const encoder = new TextEncoder();
/** The last word is for the zeros behind a text that does not end on a word. */
const bytes = new Uint8Array(16_384 + 4);
const encoded = bytes.subarray(0, -4);
const words = new DataView(bytes.buffer);

/** What stands for values that are not of the expected type: a damaged record can hold any. */
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
  // Four characters to a word, two words at a time: neither waits for the other's multiplication.
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
  // What is left, in as many parts as it takes; a part never ends within a character.
  for (let from = read; from < text.length; ) {
    const part = encoder.encodeInto(text.slice(from), encoded);
    next = addBytes(next, part.written);
    from += part.read;
  }
  return next;
}

/** Of the first `length` of `bytes`, in four lanes. */
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

/** Of a column that mostly says in each row what it said in the row before. */
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

/** Where a log row is; the sums of everything about it continue from here. */
export const logPositionSum = (namespaceId: number, logPosition: number): Sum => addNumber(addNumber(emptySum, namespaceId), logPosition);

/** Of a text alone, for one that goes into several sums. */
export const textSum = (text: string): Sum => addText(emptySum, text);

/** What the sums of an entry, of its slot and of the log row that wrote it have in common. Positional: it runs for every row read and written. */
export const versionSum = (logPosition: Sum, version: number, expiresAtMs: Whole, createdAtMs: number): Sum =>
  addNumber(addNumber(addNumber(logPosition, version), expiresAtMs), createdAtMs);

/** Of all that reading a live entry shows, but its key and its value. */
export const entrySum = (version: Sum, atMs: number, writer: string, agent: Text): Sum => step(step(addNumber(version, atMs), writerSum(writer)), agentSum(agent));

/** Of the same with its key, which is the larger part of the work. */
export const keyedSum = (entry: Sum, key: Sum): Sum => step(entry, key);

/** Of all that writing to a key, and finding its history, starts from. */
export const slotSum = (version: Sum, key: Sum, anchor: Whole, findable: number): Sum => addNumber(addNumber(step(version, key), anchor), findable);

/** Of a log row, without its links and its value: those are also read alone and have sums of their own. */
export const logRowSum = (keyed: Sum, op: number, kind: Text, act: Text, subject: Text, lapse: Text): Sum =>
  addText(addText(step(step(addNumber(keyed, op), kindSum(kind)), actSum(act)), subject), lapse);

/** Of a log row's time and links: what finding the newest row and walking a key's chain rely on. */
export const linkSum = (logPosition: Sum, atMs: number, previous: Whole, jump: Whole): Sum => addNumber(addNumber(addNumber(logPosition, atMs), previous), jump);

/** Of an entry with its value: a whole value in another row's place is damage too. */
const valueSum = (entry: Sum, json: Text): Sum => addText(entry, json);

/**
 * The value as it is stored: behind its sum, in six characters of six bits. In a column of its own the sum would cost every row of a listing more
 * than it takes to compute.
 */
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

/** The same, or `store_damaged`: `entry` is the sum of what is stored with the value. */
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

/** A term of an area; its postings continue from it. */
export const termSum = (areaId: number, term: string): Sum => addText(addNumber(emptySum, areaId), term);
export const postingSum = (term: Sum, logPosition: number, weight: number, length: number): Sum => addNumber(addNumber(addNumber(term, logPosition), weight), length);

/**
 * Counters are moved by SQL, many rows at once, and their sums with them: what is stored is the sum of the row's name less its counts, so that
 * adding to a count takes as much off the sum.
 */
export const areaSum = (namespaceId: number, id: number, name: string): Sum => addText(addNumber(addNumber(emptySum, namespaceId), id), name);

/** Throws `store_damaged`, naming the record, unless the stored sum is the one its fields give. The name is only made when needed, and without a closure for every row. */
export function requireSum<Subject>(computed: Sum, stored: unknown, nameOf: (subject: Subject) => string, subject: Subject): void {
  if (computed !== stored) throw damagedRecord(nameOf(subject));
}

export const damagedRecord = (record: string): HoldfastError =>
  new HoldfastError("store_damaged", `The stored record of ${record} is damaged: it does not match its checksum, or is missing. It was not returned; nothing was changed.`, {
    hint: "Run `holdfast doctor --deep` to check the whole store, then restore a backup.",
    details: { record },
  });
