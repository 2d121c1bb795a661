import { canonicalJson } from "../../src/kernel/json.ts";

/** Where two JSON values first part, with what stands there on both sides; undefined when they are equal. The order of members does not matter. */
export function firstDifference(one: unknown, other: unknown, path = ""): string | undefined {
  if (canonicalJson(one) === canonicalJson(other)) return undefined;
  if (isTree(one) && isTree(other) && Array.isArray(one) === Array.isArray(other)) {
    for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
      const found = firstDifference(one[name], other[name], `${path}.${name}`);
      if (found !== undefined) return found;
    }
  }
  return `${path}: ${shown(one)} instead of ${shown(other)}`;
}

const isTree = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
const shown = (value: unknown): string => (value === undefined ? "nothing" : canonicalJson(value).slice(0, 500));
