import { shortened } from "./input-problems.ts";

/** An argument that a memory tool does not know, as text to keep beside what it does. */
export function textOfUnknown(value: unknown): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) && value.every((item) => typeof item === "string") ? value.join("; ") : JSON.stringify(value);
}

/** Those that say something, one line each. */
export const linesOfUnknown = (unknown: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.entries(unknown)
    .filter(([, value]) => value !== null && value !== "" && JSON.stringify(value) !== undefined)
    .map(([name, value]) => `${name}: ${textOfUnknown(value)}`);

/** Those of the replaced system in its own profile are no slip. */
export const except = (unknown: Readonly<Record<string, unknown>>, names: readonly string[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(unknown).filter(([name]) => !names.includes(name)));

export const keptIn = (unknown: Readonly<Record<string, unknown>>, container: string): readonly string[] =>
  Object.keys(unknown).map((name) => `${shortened(name)}: unknown argument; its text was kept in ${container}`);
