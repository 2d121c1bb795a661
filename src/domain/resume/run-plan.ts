import type { Json } from "../../kernel/json.ts";

/** The goal and steps found in a run's input. Inputs have many forms, and most of them name a goal and steps. */
export interface RunPlan {
  readonly goal?: string;
  /** Names of the steps, starting with step 1; empty if the input names none. */
  readonly steps: readonly string[];
}

const goalFields = ["goal", "task", "objective", "description", "title", "prompt"] as const;
const stepFields = ["steps", "plan", "tasks"] as const;
const nameFields = ["name", "title", "step", "id", "description"] as const;
/** Longer lists are data, not a plan. */
const stepsMax = 200;

export function planOf(input: Json | undefined): RunPlan {
  if (input === undefined || input === null) return { steps: [] };
  if (!isRecord(input)) return { goal: shownJson(input), steps: [] };
  const stepField = stepFields.find((field) => namesIn(input[field]) !== undefined);
  const goalField = goalFields.find((field) => typeof input[field] === "string" && input[field] !== "");
  const steps = stepField === undefined ? [] : (namesIn(input[stepField]) as readonly string[]);
  const rest = Object.fromEntries(Object.entries(input).filter(([field]) => field !== stepField && field !== goalField));
  const others = Object.keys(rest).length === 0 ? [] : [shownJson(rest)];
  const goal = [...(goalField === undefined ? [] : [input[goalField] as string]), ...others].join("; ");
  return { ...(goal === "" ? {} : { goal }), steps };
}

/** Text unchanged, every other value as JSON. */
export const shownJson = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

const isRecord = (value: Json | undefined): value is { readonly [key: string]: Json } => typeof value === "object" && value !== null && !Array.isArray(value);

function namesIn(value: Json | undefined): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > stepsMax) return undefined;
  const names = value.map((item) =>
    typeof item === "string" ? item : isRecord(item) ? nameFields.map((field) => item[field]).find((name) => typeof name === "string") : undefined,
  );
  return names.every((name): name is string => typeof name === "string") ? names : undefined;
}
