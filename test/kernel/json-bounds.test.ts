import { describe, expect, test } from "vitest";
import { exceededBound, outlineOf } from "../../src/kernel/json-bounds.ts";
import { excessOf } from "../support/text-growth.ts";

const bounds = { depthMax: 3, elementsMax: 6 };
const judge = (json: string) => exceededBound(Buffer.from(json), bounds);

describe("the bounds of a text that is not parsed yet", () => {
  test.each([
    ["[[[1]]]", undefined],
    ["[[[[1]]]]", "depth"],
    ['{"a":{"b":{"c":{}}}}', "depth"],
    ["[1,2,3,4,5,6]", undefined],
    ["[1,2,3,4,5,6,7]", "elements"],
    ["[{},{},{},{}]", "elements"],
    ['{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}', undefined],
    ['{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}', "elements"],
  ])("%s: %s", (json, over) => {
    expect(judge(json)).toBe(over);
    expect(() => JSON.parse(json)).not.toThrow();
  });

  test("the contents of a string do not count", () => {
    for (const text of ["[[[[[[[[", ",,,,,,,,,,", '"[[[[[[', '\\"[[[[[[', "\\[[[[[[[", '\\\\"[[[[[,,,,,,,,', "\\\\"])
      expect(judge(JSON.stringify([text, [text]])), text).toBe(undefined);
    expect(judge(JSON.stringify(["\\", [[[]]]]))).toBe("depth");
  });

  test("text that is not JSON is judged at a cost that grows no faster than its length", () => {
    for (const text of ['"', '["', '["\\', '\\"\\"\\"', "]]]]]]]]", '"""""""', "", "\0", '{"a'.repeat(100)]) expect(() => judge(text)).not.toThrow();
    for (const textOf of [(length: number) => '["'.repeat(length / 2), (length: number) => `"${"\\".repeat(length)}`]) expect(excessOf(judge, textOf, 100_000)).toBeUndefined();
  });
});

test("the outline of a message has its own members, and nothing of what is in them", () => {
  const message = { jsonrpc: "2.0", method: "tools/call", params: { a: [1, { id: "no" }], text: '"}],{' }, list: [[], {}], id: 'x"]}' };
  expect(JSON.parse(outlineOf(Buffer.from(JSON.stringify(message))))).toEqual({ ...message, params: null, list: null });
});
