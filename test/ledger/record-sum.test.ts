import { describe, expect, test } from "vitest";
import type { Sum } from "../../src/ledger/record-sum.ts";
import { addNumber, emptySum, entrySum, logRowSum, requireValue, sealedJson, sealValue, textSum } from "../../src/ledger/record-sum.ts";

/** Characters of one, two, three and four bytes in UTF-8. */
const alphabets = ["abcdefgh", "äöüßéèñç", "日本語文字列検索", "😀😁😂🤣😃😄😅😆"] as const;

/** Every length up to beyond that from which text is encoded, and some beyond what is encoded at once. */
const lengths = [...Array.from({ length: 72 }, (_, length) => length), 1_023, 16_384, 16_390, 40_001];

const textOf = (alphabet: string, length: number): string[] => {
  const characters = [...alphabet];
  return Array.from({ length }, (_, i) => characters[(i * 5) % characters.length] as string);
};

/** All positions of a short text; of a long one its ends, those around the edges of its parts, and some between. */
const positionsOf = (length: number): number[] =>
  Array.from({ length }, (_, i) => i).filter((i) => length <= 72 || i < 20 || i >= length - 20 || i % 4_099 === 0 || Math.abs((i * 3) % 16_384) < 12);

describe.each(alphabets)("a text of %s", (alphabet) => {
  test("has another sum when any one of its characters changes, goes or is added", () => {
    for (const length of lengths) {
      const characters = textOf(alphabet, length);
      const text = characters.join("");
      const sum = textSum(text);
      const unseen = positionsOf(length).filter((position) => {
        const character = characters[position] as string;
        // All characters of an alphabet have the same length.
        const before = text.slice(0, position * character.length);
        const after = text.slice((position + 1) * character.length);
        return ["a", "ä", "日", "😀", ""].some((other) => other !== character && textSum(before + other + after) === sum);
      });
      expect({ length, unseen }).toEqual({ length, unseen: [] });
      expect(textSum(`${text}a`)).not.toBe(sum);
    }
  });
});

test("a number has another sum when any byte of it changes", () => {
  for (const number of [0, 1, 255, 2 ** 31, 2 ** 32 - 1, 1_794_837_600_000, 2 ** 51 - 1]) {
    const sums = new Set<Sum>([addNumber(emptySum, number), addNumber(emptySum, null)]);
    let changes = 0;
    for (let byte = 0; byte < 6; byte += 1)
      for (let other = 0; other < 256; other += 1) {
        const old = Math.floor(number / 256 ** byte) % 256;
        if (other === old) continue;
        sums.add(addNumber(emptySum, number + (other - old) * 256 ** byte));
        changes += 1;
      }
    expect(sums.size).toBe(changes + 2);
  }
});

test("what a column said in the row before does not show in the sum of a row", () => {
  const rows = [
    ["ann", undefined],
    ["ann", "a"],
    ["bob", "a"],
    ["ann", null],
    ["a", "ann"],
  ] as const;
  const sumOf = ([writer, agent]: (typeof rows)[number]): Sum => logRowSum(entrySum(emptySum, 1, writer, agent), 0, agent, writer, null, null);
  const forwards = rows.map(sumOf);
  const backwards = rows.toReversed().map(sumOf).toReversed();
  expect(backwards).toEqual(forwards);
  // No agent is no agent, whether it was read or is about to be written; all others differ.
  expect(forwards[3]).toBe(forwards[0]);
  expect(new Set(forwards).size).toBe(rows.length - 1);
});

describe("a sealed value", () => {
  const name = (): string => "it";
  const read = (entry: Sum, stored: unknown): string | undefined => requireValue(entry, stored, name, undefined);
  const values = ['"one"', "0", '{"text":"日本語 and a text that is long enough to be encoded"}', undefined];

  test.each(values)("%s is read as it was written", (json) => {
    for (const entry of [emptySum, 0, -1, 1, 2 ** 31 - 1, -(2 ** 31)]) {
      expect(read(entry, sealValue(entry, json))).toBe(json);
      expect(sealedJson(sealValue(entry, json))).toBe(json);
    }
  });

  test.each(values)("%s is damaged, or still the same, when any bit of any byte is flipped", (json) => {
    const bytes = Buffer.from(sealValue(emptySum, json));
    let detected = 0;
    for (let i = 0; i < bytes.length * 8; i += 1) {
      const flipped = Buffer.from(bytes);
      flipped[i >> 3] = (flipped[i >> 3] as number) ^ (1 << (i & 7));
      try {
        expect(read(emptySum, flipped.toString())).toBe(json);
      } catch (error) {
        expect(error).toMatchObject({ code: "store_damaged", details: { record: "it" } });
        detected += 1;
      }
    }
    // Two bits of the last character of the sum are beyond its 32, and those that reach over them.
    expect(detected).toBeGreaterThanOrEqual(bytes.length * 8 - 6);
  });

  test.each([null, undefined, 5, "", "00000", new Uint8Array(8)])("stored as %s is damaged", (stored) => {
    expect(() => read(emptySum, stored)).toThrow(expect.objectContaining({ code: "store_damaged" }));
  });

  test("in another row's place is damaged", () => {
    expect(() => read(emptySum + 1, sealValue(emptySum, "1"))).toThrow(expect.objectContaining({ code: "store_damaged" }));
  });
});
