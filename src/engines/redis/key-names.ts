import { singleKey } from "../../store/ranges.ts";
import type { Range } from "../../store/store.ts";

/**
 * Every key of a namespace contains the namespace's name in braces: in a cluster they are then in one slot, and one script may use them all.
 * Names contain no braces (see `requireNamespace`), so no encoding is needed. The list of namespaces has its own slot.
 */
export const metaKey = (prefix: string, namespace: string): string => `${prefix}{${namespace}}:m`;
/**
 * All keys of a namespace except those of its search terms. In a cluster, every script names them: Redis then rejects a script for a slot that is moving to
 * another node as a whole (TRYAGAIN), and no script runs on part of the keys.
 */
export const allKeys = (prefix: string, namespace: string): string[] =>
  ["m", "e", "k", "x", "l", "g", "ga", "gk", "q", "qa", "d", "dt", "a", "o", "oo"].map((part) => `${prefix}{${namespace}}:${part}`);
export const logKey = (prefix: string, namespace: string): string => `${prefix}{${namespace}}:l`;
export const namespacesKey = (prefix: string): string => `${prefix}namespaces`;
/** The key that identifies the owner of these keys and their schema. */
export const storeKey = (prefix: string): string => `${prefix}store`;

/** A range of keys in Redis syntax; a single key is prefixed with '='. */
export function boundsOf(range: Range): [string, string] {
  const key = singleKey(range);
  if (key !== undefined) return ["=", key];
  return lexicalBounds(range);
}

export const lexicalBounds = (range: Range): [string, string] => [range.start === "" ? "-" : `[${range.start}`, range.end === undefined ? "+" : `(${range.end}`];

/** A range in the format of the scripts' filter: the common prefix of start and end is compared as a whole. */
export function filterOf(range: Range): [string, string, string, string] {
  const key = singleKey(range);
  if (key !== undefined) return ["=", key, "", ""];
  const { start, end } = range;
  if (end === undefined) return start === "" ? ["*", "", "", ""] : ["f", "", start, ""];
  let shared = 0;
  while (shared < start.length && shared < end.length && start.charCodeAt(shared) === end.charCodeAt(shared)) shared += 1;
  // Do not split a surrogate pair.
  if (shared > 0 && (start.charCodeAt(shared - 1) & 0xfc00) === 0xd800) shared -= 1;
  return ["r", start.slice(0, shared), start.slice(shared), end.slice(shared)];
}
