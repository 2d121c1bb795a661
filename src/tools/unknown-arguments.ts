import { shortened } from "./input-problems.ts";

/** The text of an argument that a memory tool does not know, to be kept with the other content. */
export function textOfUnknown(value: unknown): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) && value.every((item) => typeof item === "string") ? value.join("; ") : JSON.stringify(value);
}

/** The arguments with a value, one line each. */
export const linesOfUnknown = (unknown: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.entries(unknown)
    .filter(([, value]) => value !== null && value !== "" && JSON.stringify(value) !== undefined)
    .map(([name, value]) => `${name}: ${textOfUnknown(value)}`);

/** A system's own arguments need no warning in that system's profile. */
export const except = (unknown: Readonly<Record<string, unknown>>, names: readonly string[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(unknown).filter(([name]) => !names.includes(name)));

export const keptIn = (unknown: Readonly<Record<string, unknown>>, container: string): readonly string[] =>
  Object.keys(unknown).map((name) => `${shortened(name)}: unknown argument; its text was kept in ${container}`);
