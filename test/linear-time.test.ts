import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { FoundExpression } from "./support/text-expressions.ts";
import { literalsOf, readSource, readSources } from "./support/text-expressions.ts";
import { excessOf, longTexts } from "./support/text-growth.ts";

const found = ["src", "dashboard"].map((folder) => readSources(fileURLToPath(new URL(`../${folder}`, import.meta.url))));
const expressions = [...new Map(found.flatMap((each) => each.expressions).map((each) => [each.name, each])).values()];
/** Without a repetition, or with one of a few characters, an expression looks at each place of a text a bounded number of times. */
const repeating = expressions.filter(({ pattern }) => /[*+]|\{\d+,\}|\{\d*,?\d{3,}\}/.test(pattern));

/** Expressions that are put together while the program runs: as they are then, or the function of linear-text.test.ts that runs them. */
const constructed: readonly { readonly begins: string; readonly is: RegExp | string }[] = [
  { begins: "engines/redis/server-facts.ts new RegExp(`^", is: /^redis_version:(.*?)\r?$/m },
  { begins: "search/stop-words.ts new RegExp( ", is: "search/tokenizer.ts tokens" },
  { begins: "search/tokenizer.ts new RegExp(`$", is: "search/tokenizer.ts tokens" },
  { begins: "search/tokenizer.ts new RegExp(`([", is: "search/tokenizer.ts tokens" },
  { begins: "search/tokenizer.ts new RegExp(`[", is: "search/tokenizer.ts tokens" },
  { begins: "surfaces/http/static-files.ts new RegExp(`^", is: /^\s*gzip\s*(;\s*q\s*=\s*(1|0\.0*[1-9]).*)?$/i },
];

/** The worst kind of run for an expression, used in the way that looks at most of the text. */
function worstOf({ pattern, flags }: Pick<FoundExpression, "pattern" | "flags">): string | undefined {
  const expression = new RegExp(pattern, `${flags.replace(/[gy]/g, "")}g`);
  const literals = literalsOf(pattern);
  for (const textOf of longTexts(literals)) {
    const excess = excessOf((text) => text.replace(expression, ""), textOf);
    if (excess !== undefined) return `${JSON.stringify(textOf(12))}: ${excess.toFixed(1)} times the cost for each character`;
  }
  return undefined;
}

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

  test.each(repeating)("$name", (expression) => {
    expect(worstOf(expression), expression.name).toBeUndefined();
  });

  test.each(constructed.flatMap(({ begins, is }) => (typeof is === "string" ? [] : [{ begins, pattern: is.source, flags: is.flags }])))(
    "$begins…",
    ({ begins, pattern, flags }) => {
      expect(worstOf({ pattern, flags }), begins).toBeUndefined();
    },
  );
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
    expect(worstOf({ pattern, flags })).toBeDefined();
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
