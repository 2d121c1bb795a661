import type { Json } from "../../kernel/json.ts";

/** What a run's input says of the work: people and agents write it in many forms, and most of them name a goal and steps. */
export interface RunPlan {
  readonly goal?: string;
  /** Names of the steps, the first is step 1; empty where the input names none. */
  readonly steps: readonly string[];
}

const goalFields = ["goal", "task", "objective", "description", "title", "prompt"] as const;
const stepFields = ["steps", "plan", "tasks"] as const;
const nameFields = ["name", "title", "step", "id", "description"] as const;
/** A longer list is not a plan to be shown. */
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

/** Text as it is, everything else as JSON. */
export const shownJson = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

const isRecord = (value: Json | undefined): value is { readonly [key: string]: Json } => typeof value === "object" && value !== null && !Array.isArray(value);

function namesIn(value: Json | undefined): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > stepsMax) return undefined;
  const names = value.map((item) =>
    typeof item === "string" ? item : isRecord(item) ? nameFields.map((field) => item[field]).find((name) => typeof name === "string") : undefined,
  );
  return names.every((name): name is string => typeof name === "string") ? names : undefined;
}
