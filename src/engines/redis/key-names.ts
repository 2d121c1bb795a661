import { singleKey } from "../../store/ranges.ts";
import type { Range } from "../../store/store.ts";

/**
 * Every key of a namespace has the namespace's name in braces: in a cluster they then lie in one slot, and one script may use them all.
 * Names hold no braces (see `requireNamespace`), so nothing needs to be encoded. The list of namespaces has a slot of its own.
 */
export const metaKey = (prefix: string, namespace: string): string => `${prefix}{${namespace}}:m`;
/** All that a namespace has but the keys of its search terms. In a cluster every script names them: a slot on its way to another node is then refused as a whole (TRYAGAIN), never used in part. */
export const allKeys = (prefix: string, namespace: string): string[] =>
  ["m", "e", "k", "x", "l", "g", "ga", "gk", "q", "qa", "d", "dt", "a", "o", "oo"].map((part) => `${prefix}{${namespace}}:${part}`);
export const logKey = (prefix: string, namespace: string): string => `${prefix}{${namespace}}:l`;
export const namespacesKey = (prefix: string): string => `${prefix}namespaces`;
/** Says whose these keys are, and in which form. */
export const storeKey = (prefix: string): string => `${prefix}store`;

/** A range of keys as Redis takes it; '=' before a single key. */
export function boundsOf(range: Range): [string, string] {
  const key = singleKey(range);
  if (key !== undefined) return ["=", key];
  return lexicalBounds(range);
}

export const lexicalBounds = (range: Range): [string, string] => [range.start === "" ? "-" : `[${range.start}`, range.end === undefined ? "+" : `(${range.end}`];

/** A range as the scripts' filter takes it: what start and end have in common is compared as a whole. */
export function filterOf(range: Range): [string, string, string, string] {
  const key = singleKey(range);
  if (key !== undefined) return ["=", key, "", ""];
  const { start, end } = range;
  if (end === undefined) return start === "" ? ["*", "", "", ""] : ["f", "", start, ""];
  let shared = 0;
  while (shared < start.length && shared < end.length && start.charCodeAt(shared) === end.charCodeAt(shared)) shared += 1;
  // Half a character is none.
  if (shared > 0 && (start.charCodeAt(shared - 1) & 0xfc00) === 0xd800) shared -= 1;
  return ["r", start.slice(0, shared), start.slice(shared), end.slice(shared)];
}
