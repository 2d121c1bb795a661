import type { Range } from "../../store/store.ts";
import type { SqlValue } from "./driver.ts";

/** An empty blob sorts after every text, so it is the upper bound of a range without an end. */
const noEnd = new Uint8Array(0);

export const startOf = (range: Range): string => bound(range.start);
export const endOf = (range: Range): SqlValue => (range.end === undefined ? noEnd : bound(range.end));

/** One of the drivers cuts a text at NUL. No key contains NUL, so nothing lies between "x\0…" and "x\u0001": as the end of a range, both mean the same. */
function bound(text: string): string {
  const nul = text.indexOf("\0");
  return nul < 0 ? text : `${text.slice(0, nul)}\u0001`;
}
