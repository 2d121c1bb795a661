import { describe, expect, test } from "vitest";
import { constructed, constructedExpressions, expressions, found, repeating, worstOf } from "./support/repeating-expressions.ts";
import { readSource } from "./support/text-expressions.ts";
import { lengths } from "./support/text-growth.ts";

describe("every regular expression takes time in proportion to the text", () => {
  test("all of them were found", () => {
    expect(expressions.length).toBeGreaterThan(150);
    expect(repeating.length).toBeGreaterThan(80);
  });

  test("those that are put together while the program runs are listed here as they are then", () => {
    const all = found.flatMap((each) => each.constructed);
    expect(all.filter((name) => !constructed.some(({ begins }) => name.startsWith(begins)))).toEqual([]);
    expect(constructed.filter(({ begins }) => !all.some((name) => name.startsWith(begins)))).toEqual([]);
  });

  // With longer texts in linear-time.campaign.ts.
  test.each(repeating)("$name", (expression) => {
    expect(worstOf(expression, lengths.quick), expression.name).toBeUndefined();
  });

  test.each(constructedExpressions)("$begins…", (expression) => {
    expect(worstOf(expression, lengths.quick), expression.begins).toBeUndefined();
  });
});

describe("the measurement finds", () => {
  test.each([
    ["a run that is read again from each of its characters", "a+b", "g"],
    ["a run that is read again from its end", "^x*x*$", ""],
    ["blanks before a line's end", "\\s+$", "g"],
    ["two ways to take each character", "^(a+)+$", ""],
    ["capitals before a word", "(\\p{Lu}+)(\\p{Lu}\\p{Ll})", "gu"],
    ["something that must be in the text behind a mark", "\\?.*@", "s"],
  ])("%s", (_name, pattern, flags) => {
    expect(worstOf({ pattern, flags }, lengths.quick)).toBeDefined();
  });

  test("expressions and functions in a source", () => {
    const source = 'export const f = (text: string): boolean => /a+/g.test(text) || new RegExp("^" + text).test(text); export function g(count: number) { return count; }';
    expect(readSource("a.ts", source)).toEqual({
      expressions: [{ name: "a.ts /a+/g", pattern: "a+", flags: "g" }],
      constructed: ['a.ts new RegExp("^" + text)'],
      functions: ["a.ts f"],
    });
  });
});
