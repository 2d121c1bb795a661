import type * as z from "zod";
import { HoldfastError } from "../kernel/errors.ts";

type Issue = z.core.$ZodIssue;

/** One error for everything that is wrong with the arguments: each problem names its field and what is allowed. */
export function inputProblems(tool: string, schema: z.ZodObject, args: unknown, issues: readonly Issue[]): HoldfastError {
  const problems = issues.flatMap((issue) => problemsOf(schema, args, issue));
  const fields = [...new Set(problems.map(({ field }) => field))];
  return new HoldfastError("invalid_input", problems.map(({ text }) => text).join("\n"), {
    hint: `Nothing was changed. Arguments of ${tool}: ${signatureOf(schema)}.`,
    details: { field: fields[0], fields },
  });
}

interface Problem {
  readonly field: string;
  readonly text: string;
}

const problem = (field: string, text: string): Problem => ({ field, text: `${field}: ${text}` });

function problemsOf(schema: z.ZodObject, args: unknown, issue: Issue): Problem[] {
  if (issue.code === "unrecognized_keys") {
    const owner = pathOf(issue.path);
    const allowed = owner === "" ? `; allowed: ${namesOf(schema).join(", ")}` : "";
    return issue.keys.map((key) => ({ field: owner === "" ? key : `${owner}.${key}`, text: `unknown argument: ${owner === "" ? "" : `${owner}.`}${shortened(key)}${allowed}` }));
  }
  return [problem(pathOf(issue.path) || "arguments", allowedBy(issue, valueAt(args, issue.path)))];
}

/** What would have been right. */
function allowedBy(issue: Issue, given: unknown): string {
  switch (issue.code) {
    case "invalid_type":
      return given === undefined ? `required; must be ${kindName(issue.expected)}` : `must be ${kindName(issue.expected)}, not ${kindOf(given)}`;
    case "invalid_value":
      return `${given === undefined ? "required; " : ""}must be ${issue.values.length === 1 ? "" : "one of "}${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
    case "too_small":
      return `must ${boundNoun(issue.origin)} ${issue.inclusive === false ? "above" : "at least"} ${issue.minimum}`;
    case "too_big":
      return `must ${boundNoun(issue.origin)} ${issue.inclusive === false ? "below" : "at most"} ${issue.maximum}`;
    default:
      return issue.message;
  }
}

/** "must be at least 1" of a number, "must have at least 1" of whatever is counted. */
const boundNoun = (origin: string): string => (["string", "array", "set", "map", "file"].includes(origin) ? "have" : "be");

const kindNames: Record<string, string> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object",
  array: "a list",
};
const kindName = (expected: string): string => kindNames[expected] ?? expected;

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "number" && !Number.isSafeInteger(value)) return Number.isFinite(value) ? "a fraction or too large" : "infinite";
  return kindNames[typeof value] ?? `a ${typeof value}`;
}

const pathOf = (path: readonly PropertyKey[]): string => path.map((step, i) => (typeof step === "number" ? `[${step}]` : `${i === 0 ? "" : "."}${shortened(String(step))}`)).join("");

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let value = root;
  for (const step of path) value = value === null || typeof value !== "object" ? undefined : (value as Record<PropertyKey, unknown>)[step];
  return value;
}

const namesOf = (schema: z.ZodObject): string[] => Object.keys(schema.shape);

/** The parameters as one line, optional ones marked: "key, value, ttl_seconds?". */
const signatureOf = (schema: z.ZodObject): string =>
  Object.entries(schema.shape)
    .map(([name, field]) => (field._zod.optin === "optional" ? `${name}?` : name))
    .join(", ") || "none";

const shortened = (text: string): string => (text.length > 64 ? `${text.slice(0, 64)}…` : text);
