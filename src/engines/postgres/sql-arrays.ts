/**
 * PostgreSQL arrays in its binary format, used to pass the columns of many rows to one statement.
 * Unlike the text format, nothing has to be escaped here or parsed there.
 */
let scratch = Buffer.allocUnsafe(65_536);

/** Dimensions, "has nulls", type, length, first index. */
const headBytes = 20;
const typeId = { bigint: 20, smallint: 21, int: 23, text: 25 } as const;

function room(end: number): void {
  if (end <= scratch.length) return;
  const larger = Buffer.allocUnsafe(Math.max(end, scratch.length * 2));
  scratch.copy(larger);
  scratch = larger;
}

function finish(type: keyof typeof typeId, count: number, hasNulls: boolean, end: number): Buffer {
  scratch.writeInt32BE(count === 0 ? 0 : 1, 0);
  scratch.writeInt32BE(hasNulls ? 1 : 0, 4);
  scratch.writeInt32BE(typeId[type], 8);
  scratch.writeInt32BE(count, 12);
  scratch.writeInt32BE(1, 16);
  const taken = Buffer.from(scratch.subarray(0, count === 0 ? 12 : end));
  // Do not keep a large buffer forever because of one batch of large values.
  if (scratch.length > 1_048_576) scratch = Buffer.allocUnsafe(65_536);
  return taken;
}

export function textArray<T>(items: readonly T[], textOf: (item: T) => string | null | undefined): Buffer {
  let at = headBytes;
  let hasNulls = false;
  for (const item of items) {
    const text = textOf(item);
    if (text === null || text === undefined) {
      room(at + 4);
      at = scratch.writeInt32BE(-1, at);
      hasNulls = true;
      continue;
    }
    // UTF-8 takes at most three bytes per UTF-16 unit.
    room(at + 4 + text.length * 3);
    const bytes = scratch.write(text, at + 4);
    scratch.writeInt32BE(bytes, at);
    at += 4 + bytes;
  }
  return finish("text", items.length, hasNulls, at);
}

const same = (text: string): string => text;
export const texts = (items: readonly string[]): Buffer => textArray(items, same);

function wholeNumbers<T>(type: "bigint" | "int" | "smallint", bytes: 8 | 4 | 2, items: readonly T[], numberOf: (item: T) => number | null | undefined): Buffer {
  room(headBytes + items.length * (4 + bytes));
  let at = headBytes;
  let hasNulls = false;
  for (const item of items) {
    const number = numberOf(item);
    if (number === null || number === undefined) {
      at = scratch.writeInt32BE(-1, at);
      hasNulls = true;
      continue;
    }
    at = scratch.writeInt32BE(bytes, at);
    if (bytes === 8) {
      at = scratch.writeInt32BE(Math.floor(number / 0x1_0000_0000), at);
      at = scratch.writeUInt32BE(number - Math.floor(number / 0x1_0000_0000) * 0x1_0000_0000, at);
    } else at = bytes === 4 ? scratch.writeInt32BE(number, at) : scratch.writeInt16BE(number, at);
  }
  return finish(type, items.length, hasNulls, at);
}

type NumberOf<T> = (item: T) => number | null | undefined;
export const bigintArray = <T>(items: readonly T[], numberOf: NumberOf<T>): Buffer => wholeNumbers("bigint", 8, items, numberOf);
export const intArray = <T>(items: readonly T[], numberOf: NumberOf<T>): Buffer => wholeNumbers("int", 4, items, numberOf);
export const smallintArray = <T>(items: readonly T[], numberOf: NumberOf<T>): Buffer => wholeNumbers("smallint", 2, items, numberOf);

const itself = (number: number): number => number;
export const numbers = (type: "bigint" | "int" | "smallint", items: readonly number[]): Buffer => wholeNumbers(type, type === "bigint" ? 8 : type === "int" ? 4 : 2, items, itself);
