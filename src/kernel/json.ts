import { createHash } from "node:crypto";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/**
 * JSON text with object keys in code-unit order, so that equal values give equal text.
 * `undefined` members are left out, as in JSON.stringify.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = Object.entries(value as Record<string, unknown>)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}

/** Equal arguments have equal fingerprints; used to distinguish a retry from a reused request key. */
export const fingerprint = (value: unknown): string => createHash("sha256").update(canonicalJson(value)).digest("hex").slice(0, 32);
