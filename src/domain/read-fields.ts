import { HoldfastError, invalidInput } from "../kernel/errors.ts";

/** Reads the fields of a record from outside (a caller, a mirror file). Each error names the field and what is allowed. */
export type Fields = Readonly<Record<string, unknown>>;

export function requireFields(value: unknown, field: string, allowed: readonly string[]): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalidInput(field, "must be an object");
  const unknown = Object.keys(value).find((name) => !allowed.includes(name));
  if (unknown !== undefined) throw invalidInput(`${field}.${unknown.slice(0, 64)}`, `unknown; allowed: ${allowed.join(", ")}`);
  return value as Fields;
}

/** Requires well-formed text, because a lone surrogate would not survive being written to a file and read back. */
export function requireText(value: unknown, field: string, bytesMax: number): string {
  if (typeof value !== "string" || value.trim() === "") throw invalidInput(field, "must be a non-empty string");
  if (!value.isWellFormed()) throw invalidInput(field, "must be well-formed Unicode (it contains a lone surrogate)");
  // A UTF-16 unit takes at most three bytes, so short texts need no counting.
  if (value.length * 3 > bytesMax && Buffer.byteLength(value) > bytesMax)
    throw new HoldfastError("limit_exceeded", `${field}: must be at most ${bytesMax} bytes (got ${Buffer.byteLength(value)})`, { details: { field } });
  return value;
}

export const readText = (value: unknown, field: string, bytesMax: number): string | undefined => (value === undefined ? undefined : requireText(value, field, bytesMax));

export function requireOneOf<Word extends string>(value: unknown, field: string, words: readonly Word[]): Word {
  const found = words.find((word) => word === value);
  if (found === undefined) throw invalidInput(field, `must be one of ${words.map((word) => JSON.stringify(word)).join(", ")}`);
  return found;
}

/** An absent list is empty. */
export function requireList<Item>(value: unknown, field: string, countMax: number, item: (value: unknown, field: string) => Item): readonly Item[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw invalidInput(field, "must be a list");
  if (value.length > countMax) throw new HoldfastError("limit_exceeded", `${field}: must have at most ${countMax} items (got ${value.length})`, { details: { field } });
  return value.map((each, i) => item(each, `${field}[${i}]`));
}

const wordings = { countMax: 3, bytesMax: 8_192 } as const;

/** Alternative wordings of a query. The count is limited because each one costs a full search. */
export const requireWordings = (also: unknown): readonly string[] => requireList(also, "also", wordings.countMax, (item, field) => requireText(item, field, wordings.bytesMax));

/** The latest time that a Date can represent. */
const timeMsMax = 8_640_000_000_000_000;

/** Requires a time from outside to be whole milliseconds that a Date can represent. */
export function requireTime(ms: number, field: string): void {
  if (!Number.isSafeInteger(ms) || ms < 0 || ms > timeMsMax) throw invalidInput(field, "must be a valid time after 1970");
}
