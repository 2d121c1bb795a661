/** A field of a tool's answer that may be another on another engine. */
export interface Difference {
  readonly tool: string;
  readonly field: string;
  readonly reason: string;
}

/** All of them: whatever is not listed here must be the same on every engine, and what is listed must really differ. */
export const differences: readonly Difference[] = [
  { tool: "sidecar_health", field: "backend", reason: "It names the engine." },
  { tool: "sidecar_health", field: "engine", reason: "Each engine tells its own facts: versions, settings read back, sizes, what an acknowledged write survives." },
];

/** The answer with the fields in which engines differ left out; they are given beside it, by name. */
export function withoutDifferences(tool: string, answer: Readonly<Record<string, unknown>>): { readonly same: Record<string, unknown>; readonly own: Record<string, unknown> } {
  const fields = differences.filter((difference) => difference.tool === tool).map(({ field }) => field);
  const entries = Object.entries(answer);
  return { same: Object.fromEntries(entries.filter(([name]) => !fields.includes(name))), own: Object.fromEntries(entries.filter(([name]) => fields.includes(name))) };
}
