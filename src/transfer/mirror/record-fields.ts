import { invalidInput } from "../../kernel/errors.ts";

/** A time as the files write it: ISO 8601, UTC, milliseconds. Anything else would not come back as it was. */
export function requireTimeText(value: unknown, field: string): number {
  const ms = typeof value === "string" ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== value) throw invalidInput(field, "must be a time such as 2026-01-10T23:45:00.000Z");
  return ms;
}

/** A writer or an agent: any text that the store takes as one. */
export function requireLabel(value: unknown, field: string): string {
  if (typeof value !== "string" || value === "" || !value.isWellFormed()) throw invalidInput(field, "must be a non-empty string");
  return value;
}
