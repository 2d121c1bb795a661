import { limits } from "../../store/limits.ts";
import type { Range } from "../../store/store.ts";
import { textArray } from "./sql-arrays.ts";

/** Longer than any key and made of the highest character: the upper bound of a range without an end. With an open end, the planner would read past the range. */
const noEnd = "\u{10FFFF}".repeat(limits.engineKeyBytesMax / 4 + 1);

/** PostgreSQL cannot store NUL, and no key contains it, so nothing lies between "x\0…" and "x\u0001": as the end of a range, both mean the same. */
function bound(text: string): string {
  const nul = text.indexOf("\0");
  return nul < 0 ? text : `${text.slice(0, nul)}\u0001`;
}

export const startOf = (range: Range): string => bound(range.start);
export const endOf = (range: Range): string => (range.end === undefined ? noEnd : bound(range.end));

/** Starts and ends of many ranges, for `unnest`. */
export const rangeArrays = (ranges: readonly Range[]): [starts: Buffer, ends: Buffer] => [textArray(ranges, startOf), textArray(ranges, endOf)];
