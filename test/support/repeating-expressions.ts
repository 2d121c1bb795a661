import { fileURLToPath } from "node:url";
import type { FoundExpression } from "./text-expressions.ts";
import { literalsOf, readSources } from "./text-expressions.ts";
import { excessOf, longTexts } from "./text-growth.ts";

export const found = ["src", "dashboard"].map((folder) => readSources(fileURLToPath(new URL(`../../${folder}`, import.meta.url))));
export const expressions = [...new Map(found.flatMap((each) => each.expressions).map((each) => [each.name, each])).values()];
/** Without a repetition, or with one of a few characters, an expression looks at each place of a text a bounded number of times. */
export const repeating = expressions.filter(({ pattern }) => /[*+]|\{\d+,\}|\{\d*,?\d{3,}\}/.test(pattern));

/** Expressions that are put together while the program runs: as they are then, or the function of linear-text.test.ts that runs them. */
export const constructed: readonly { readonly begins: string; readonly is: RegExp | string }[] = [
  { begins: "domain/journal/time-words.ts new RegExp(", is: "domain/journal/time-words.ts timeOfQuestion" },
  { begins: "engines/redis/server-facts.ts new RegExp(`^", is: /^redis_version:(.*?)\r?$/m },
  { begins: "search/stop-words.ts new RegExp( ", is: "search/tokenizer.ts tokens" },
  { begins: "search/tokenizer.ts new RegExp(`$", is: "search/tokenizer.ts tokens" },
  { begins: "search/tokenizer.ts new RegExp(`([", is: "search/tokenizer.ts tokens" },
  { begins: "search/tokenizer.ts new RegExp(`[", is: "search/tokenizer.ts tokens" },
  { begins: "surfaces/http/static-files.ts new RegExp(`^", is: /^\s*gzip\s*(;\s*q\s*=\s*(1|0\.0*[1-9]).*)?$/i },
];

/** Those of them that are named here as they are then. */
export const constructedExpressions = constructed.flatMap(({ begins, is }) => (typeof is === "string" ? [] : [{ begins, pattern: is.source, flags: is.flags }]));

/** The worst kind of run for an expression, used in the way that looks at most of the text. */
export function worstOf({ pattern, flags }: Pick<FoundExpression, "pattern" | "flags">, length: number): string | undefined {
  const expression = new RegExp(pattern, `${flags.replace(/[gy]/g, "")}g`);
  const literals = literalsOf(pattern);
  for (const textOf of longTexts(literals)) {
    const excess = excessOf((text) => text.replace(expression, ""), textOf, length);
    if (excess !== undefined) return `${JSON.stringify(textOf(12))}: ${excess.toFixed(1)} times the cost for each character`;
  }
  return undefined;
}
