import type { Json } from "../../kernel/json.ts";

/** Some programs write NaN and Infinity, which are not JSON. Such a value is reported instead of guessed. */
export function parseJson(text: unknown): { readonly value: Json } | { readonly reason: string } {
  if (typeof text !== "string") return { reason: "its value is not text" };
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    return { reason: "its value is not JSON" };
  }
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null && !Array.isArray(value);

export const textsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.filter((item) => typeof item === "string") : []);

/** Empty text counts as absent. */
export const textOf = (value: unknown): string | undefined => (typeof value === "string" && value.trim() !== "" ? value : undefined);
