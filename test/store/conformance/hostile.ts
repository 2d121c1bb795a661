import { expect, test } from "vitest";
import type { Json } from "../../../src/kernel/json.ts";
import { limits } from "../../../src/store/limits.ts";
import { everything, keyRange, prefixRange } from "../../../src/store/ranges.ts";
import type { OpenEngine } from "./fixture.ts";
import { allRows, codeOf, commit, commitOf, keysOf, openFixture, put } from "./fixture.ts";

const text = (json: string): Json => JSON.parse(json) as Json;
const nested = (depth: number): Json => text(`${"[".repeat(depth)}${"]".repeat(depth)}`);
const anything = (value: unknown): Json => value as Json;

const exactValues: Record<string, Json> = {
  "text with NUL": "before\0after",
  "a lone high surrogate": "\ud800",
  "a lone low surrogate": "x\udc00y",
  "surrogates the wrong way round": "\udc00\ud800",
  "bidirectional marks": "\u202eevil\u2066\u2069\u200f",
  "line separators": "\u2028\u2029\r\n\t",
  "a byte order mark": "\ufeff",
  "emoji and their joiners": "👩‍👩‍👧‍👦",
  "SQL and JSON look-alikes": `'; DROP TABLE log; -- "}]`,
  "a member called __proto__": text('{"__proto__":{"polluted":true},"constructor":1,"toString":null}'),
  "a member with an empty name": { "": 0, "\0": 1, "\ud800": 2 },
  "a member called toJSON that is data": { toJSON: "just text" },
  "null, empty object, empty array, empty text": [null, {}, [], "", false],
  "numbers at the edge": [0, -1, 1.5, 5e-324, 1.7976931348623157e308 / 2 ** 971, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 0.1],
  "integer-like member names in an order of their own": text('{"b":1,"a":2,"10":3,"2":4}'),
  "the deepest nesting": nested(limits.valueDepthMax),
};

export function hostileCases(open: OpenEngine): void {
  test.each(Object.entries(exactValues))("kept exactly: %s", async (_name, value) => {
    const { store } = await openFixture(open);
    await commit(store, put("a", value));
    const [entry] = (await store.read(everything)).entries;
    expect(JSON.stringify(entry?.value)).toBe(JSON.stringify(value));
    expect(JSON.stringify((await store.read(everything, { at: 1 })).entries[0]?.value)).toBe(JSON.stringify(value));
    expect(JSON.stringify((await allRows(store))[0]?.value)).toBe(JSON.stringify(value));
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test.each([
    ["a number too large for a double (1e400)", text("1e400")],
    ["an integer that has lost digits (2^53 + 1)", text("9007199254740993")],
    ["a negative one inside", { deep: [text("-9007199254740993")] }],
    ["not a number", Number.NaN],
    ["undefined", anything(undefined)],
    ["undefined inside", anything({ a: undefined })],
    ["a hole in a list", anything(new Array(2))],
    ["a big integer", anything(1n)],
    ["a function", anything(() => 1)],
    ["a symbol", anything(Symbol("s"))],
    ["a date", anything(new Date(0))],
    ["a map", anything(new Map())],
    ["an object that turns itself into something else", anything({ toJSON: () => "other" })],
  ])("refused as a value: %s", async (_name, value) => {
    const { store } = await openFixture(open);
    expect(await codeOf(store.commit(commitOf({ op: "put", key: "a", value })))).toBe("invalid_input");
    expect((await store.read(everything)).revision).toBe(0);
  });

  test("refused for its size or shape: too deep, without end, too many elements, too long", async () => {
    const { store } = await openFixture(open);
    const endless: unknown[] = [];
    endless.push(endless);
    const tooLarge: Json[] = [
      nested(limits.valueDepthMax + 1),
      anything(endless),
      Array(limits.valueElementsMax).fill(0),
      "x".repeat(limits.valueBytesMax - 1),
      "é".repeat(limits.valueBytesMax / 2),
    ];
    for (const value of tooLarge) expect(await codeOf(store.commit(commitOf(put("a", value))))).toBe("limit_exceeded");
    expect((await store.read(everything)).revision).toBe(0);
  });

  test("a value of exactly the largest size is kept, in bytes and in elements", async () => {
    const { store } = await openFixture(open);
    const long = "x".repeat(limits.valueBytesMax - 2);
    const many = Array(limits.valueElementsMax - 1).fill(7);
    await commit(store, [put("long", long), put("many", many)]);
    const { entries } = await store.read(everything);
    expect(entries[0]?.value === long).toBe(true);
    expect(entries[1]?.value).toHaveLength(limits.valueElementsMax - 1);
  });

  test("a commit larger than its limit in bytes is refused as a whole", async () => {
    const { store } = await openFixture(open);
    const writes = ["a", "b", "c", "d", "e"].map((key) => put(key, "x".repeat(limits.valueBytesMax - 10)));
    expect(await codeOf(store.commit(commitOf(writes)))).toBe("limit_exceeded");
    expect((await store.read(everything)).revision).toBe(0);
  });

  test("strange but well-formed keys are kept apart and found as they are", async () => {
    const { store } = await openFixture(open);
    const keys = [
      "%",
      "_",
      "a%",
      "a_",
      "aX",
      "a*",
      "a[b]",
      "a\\",
      "a'b",
      'a"b',
      "a\nb",
      "a\u202eb",
      "é",
      "e\u0301",
      "\u212a",
      "K",
      "k",
      "__proto__",
      "constructor",
      "\u{10FFFF}",
      " ",
      "a ",
      "\ufeffa",
      "0",
      "00",
      "1e3",
      "null",
    ];
    await commit(
      store,
      keys.map((key, i) => put(key, i)),
    );
    expect(await store.count(everything)).toBe(keys.length);
    for (const [i, key] of keys.entries()) expect((await store.read(keyRange(key))).entries.map((entry) => [entry.key, entry.value])).toEqual([[key, i]]);
    expect(keysOf((await store.read(prefixRange("a_"))).entries)).toEqual(["a_"]);
    expect(keysOf((await store.read(prefixRange("%"))).entries)).toEqual(["%"]);
    expect(keysOf((await store.read(prefixRange("\u{10FFFF}"))).entries)).toEqual(["\u{10FFFF}"]);
  });

  test("a key of exactly the largest size is kept, a larger one refused", async () => {
    const { store } = await openFixture(open);
    const longest = ["x".repeat(limits.engineKeyBytesMax), "é".repeat(limits.engineKeyBytesMax / 2), "\u{1F600}".repeat(limits.engineKeyBytesMax / 4)];
    await commit(
      store,
      longest.map((key) => put(key)),
    );
    expect(await store.count(everything)).toBe(3);
    for (const key of longest) {
      expect(await codeOf(store.commit(commitOf(put(`${key}x`))))).toBe("limit_exceeded");
      expect(await codeOf(store.commit(commitOf([], { checks: [{ key: `${key}x`, is: "absent" }] })))).toBe("limit_exceeded");
    }
  });

  test("keys that engines would disagree on are refused: empty, with NUL, with a lone surrogate", async () => {
    const { store } = await openFixture(open);
    for (const key of ["", "a\0b", "\0", "\ud800", "a\udfff", anything(5), anything(null)] as string[]) {
      expect(await codeOf(store.commit(commitOf(put(key, 1))))).toBe("invalid_input");
      expect(await codeOf(store.commit(commitOf({ op: "delete", key })))).toBe("invalid_input");
      expect(await codeOf(store.commit(commitOf([], { checks: [{ key, is: "absent" }] })))).toBe("invalid_input");
    }
  });

  test("writers, agents and records keep any text", async () => {
    const { store } = await openFixture(open);
    const strange = "'\u202e\u{1F600}\n%_\\\"";
    await commit(store, put("a", 1, { record: { kind: strange, op: strange, subject: strange } }), { writer: strange, agent: strange });
    expect((await allRows(store, { recorded: { kinds: [strange], writer: strange } }))[0]).toMatchObject({
      writer: strange,
      agent: strange,
      record: { kind: strange, op: strange, subject: strange },
    });
  });
}
