import type { Entry, Range } from "./store.ts";

/** All keys. The empty string sorts before every key. */
export const everything: Range = { start: "" };

export const keyRange = (key: string): Range => ({ start: key, end: `${key}\0` });

/** The key of a range that can contain only one key, otherwise undefined. */
export const singleKey = (range: Range): string | undefined => (range.end === `${range.start}\0` ? range.start : undefined);

/**
 * Every key that begins with the prefix. UTF-8 byte order equals code point order, so the end is the prefix
 * with its last code point raised by one: "ab" → "ac", "a\u{D7FF}" → "a\u{E000}" (no surrogates), "a\u{10FFFF}" → "b".
 */
export function prefixRange(prefix: string): Range {
  const points = Array.from(prefix, (character) => character.codePointAt(0) as number);
  while (points.length > 0) {
    const last = points.pop() as number;
    if (last < 0x10ffff) {
      const next = last + 1 >= 0xd800 && last + 1 <= 0xdfff ? 0xe000 : last + 1;
      return { start: prefix, end: String.fromCodePoint(...points, next) };
    }
  }
  return { start: prefix };
}

/** Compares in byte order, not UTF-16 order: "\u{FF5E}" < "\u{1F600}" only in bytes. In the common case, the first differing unit decides with one comparison. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) {
      // Surrogates (code points above U+FFFF) sort after every other unit in UTF-8.
      const xHigh = x >= 0xd800 && x <= 0xdfff;
      const yHigh = y >= 0xd800 && y <= 0xdfff;
      if (xHigh !== yHigh) return xHigh ? 1 : -1;
      return x - y;
    }
  }
  return a.length - b.length;
}

export const inRange = (key: string, range: Range): boolean => compareKeys(key, range.start) >= 0 && (range.end === undefined || compareKeys(key, range.end) < 0);

/** The range after `key`, for the next page (before it, when reading in reverse). */
export const rangeAfter = (range: Range, key: string): Range => ({ ...range, start: `${key}\0` });
export const rangeBefore = (range: Range, key: string): Range => ({ ...range, end: key });

/** The ranges that remain when a read in this direction has reached `key` in the range at `index`. */
export function rangesFrom(ranges: readonly Range[], index: number, key: string, reverse = false): readonly Range[] {
  const range = ranges[index] as Range;
  return reverse ? [...ranges.slice(0, index), { ...range, end: `${key}\0` }] : [{ ...range, start: key }, ...ranges.slice(index + 1)];
}

export const isLive = (entry: Pick<Entry, "expiresAtMs">, nowMs: number): boolean => entry.expiresAtMs === undefined || nowMs < entry.expiresAtMs;
