import { invalidInput } from "../../kernel/errors.ts";

/** Requires the files' time format: ISO 8601, UTC, milliseconds. Any other format would not survive a round trip. */
export function requireTimeText(value: unknown, field: string): number {
  const ms = typeof value === "string" ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== value) throw invalidInput(field, "must be a time such as 2026-01-10T23:45:00.000Z");
  return ms;
}

/** A writer or agent label: any text that the store accepts as one. */
export function requireLabel(value: unknown, field: string): string {
  if (typeof value !== "string" || value === "" || !value.isWellFormed()) throw invalidInput(field, "must be a non-empty string");
  return value;
}
