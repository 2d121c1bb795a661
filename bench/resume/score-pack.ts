import { estimateTokens } from "../../src/kernel/tokens.ts";
import type { Situation } from "./situation.ts";

export interface PackScore {
  readonly keys: number;
  readonly found: number;
  readonly missing: readonly string[];
  readonly noise: readonly string[];
  readonly tokens: number;
}

/** A pack may exceed its budget by this fraction; text beyond that is not counted. */
const toleratedShare = 1.05;

/** Noise that no pack should contain: times to the millisecond, a revision on each line, and repeated lines. */
const noiseAnywhere = ["/\\d\\d:\\d\\d:\\d\\d\\.\\d{3}/", "/\\[r\\d+\\]$/m"];
const lineWorthSaying = 20;

export function scorePack({ must, noise }: Pick<Situation, "must" | "noise">, text: string, tokensMax: number): PackScore {
  const read = Buffer.from(text)
    .subarray(0, Math.floor(tokensMax * toleratedShare * 4))
    .toString("utf8");
  const words = plainWords(read);
  const keys = [...must.facts, ...must.open, ...must.done];
  const missing = keys.filter((key) => !occurs(key, words));
  const found = [...noiseAnywhere, ...noise].filter((key) => occurs(key, key.startsWith("/") ? read : words));
  return { keys: keys.length, found: keys.length - missing.length, missing, noise: [...found, ...saidTwice(read)], tokens: estimateTokens(text) };
}

/** Line breaks, quotation marks and citations do not affect the score. */
const plainWords = (text: string): string => text.replaceAll(/ *\[r\d+\]$/gm, "").replaceAll(/^> ?/gm, "");

function occurs(key: string, text: string): boolean {
  const [, source, flags] = /^\/(.+)\/([a-z]*)$/s.exec(key) ?? [];
  if (source !== undefined) return new RegExp(source, flags).test(text);
  const spaced = (words: string): string => words.replaceAll(/\s+/g, " ");
  return spaced(text).includes(spaced(key));
}

function saidTwice(text: string): string[] {
  const lines = text.split("\n").filter((line) => line.length >= lineWorthSaying);
  return [...new Set(lines.filter((line, i) => lines.indexOf(line) !== i))].map((line) => `said twice: ${line}`);
}
