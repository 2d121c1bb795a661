import type * as z from "zod";
import { HoldfastError } from "../kernel/errors.ts";

type Issue = z.core.$ZodIssue;

/** The number of problems listed in one error; hostile input can have a hundred thousand. */
const problemsMax = 20;
/** Above what any list may have. */
const listItemsMax = 1_000;

/** Reports everything that is wrong with the arguments in one error. Each problem names its field and what is allowed. */
export function inputProblems(tool: string, schema: z.ZodObject, args: unknown, issues: readonly Issue[]): HoldfastError {
  const count = issues.reduce((sum, issue) => sum + (issue.code === "unrecognized_keys" ? issue.keys.length : 1), 0);
  const problems = issues
    .slice(0, problemsMax)
    .flatMap((issue) => problemsOf(schema, args, issue))
    .slice(0, problemsMax);
  const fields = [...new Set(problems.map(({ field }) => field))];
  const more = count > problemsMax ? [`and ${count - problemsMax} more`] : [];
  return new HoldfastError("invalid_input", [...problems.map(({ text }) => text), ...more].join("\n"), {
    hint: `Nothing was changed. Arguments of ${tool}: ${signatureOf(schema)}.`,
    details: { field: fields[0], fields },
  });
}

/** Lists that are too long for any argument. Checked before the schema is: it would make an issue for each wrong item, in one stretch. */
export function requireShortLists(tool: string, schema: z.ZodObject, args: unknown): void {
  const message = `must have at most ${listItemsMax} items`;
  const issues = Object.entries(schema.shape).flatMap(([name, field]): Issue[] => {
    const given = valueAt(args, [name]);
    const isTooLong = Array.isArray(given) && given.length > listItemsMax && innermostSchema(field)._zod.def.type === "array";
    return isTooLong ? [{ code: "custom", path: [name], message, input: given }] : [];
  });
  if (issues.length > 0) throw inputProblems(tool, schema, args, issues);
}

interface Problem {
  readonly field: string;
  readonly text: string;
}

const problem = (field: string, text: string): Problem => ({ field, text: `${field}: ${text}` });

function problemsOf(schema: z.ZodObject, args: unknown, issue: Issue): Problem[] {
  if (issue.code === "unrecognized_keys") {
    const owner = issue.path.length === 0 ? "" : `${pathOf(issue.path)}.`;
    const allowed = Object.keys(schemaAt(schema, issue.path).shape ?? {}).join(", ") || "none";
    return issue.keys
      .slice(0, problemsMax)
      .map(shortened)
      .map((key) => ({ field: owner + key, text: `unknown argument: ${owner}${key}; allowed: ${allowed}` }));
  }
  return [problem(pathOf(issue.path) || "arguments", allowedBy(issue, valueAt(args, issue.path), schemaAt(schema, issue.path)))];
}

/** The allowed values, for the error message. */
function allowedBy(issue: Issue, given: unknown, { format }: SchemaFacts): string {
  switch (issue.code) {
    case "invalid_type":
      // zod reports a missing integer as a missing number.
      return given === undefined ? `required; must be ${kindName(format === "safeint" ? "int" : issue.expected)}` : `must be ${kindName(issue.expected)}, not ${kindOf(given)}`;
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

/** Numbers "must be at least 1"; strings and lists "must have at least 1". */
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
  if (typeof value === "number" && !Number.isInteger(value)) return Number.isFinite(value) ? "a fraction" : String(value);
  return kindNames[typeof value] ?? `a ${typeof value}`;
}

const pathOf = (path: readonly PropertyKey[]): string =>
  path.map((step, i) => (typeof step === "number" ? `[${step}]` : `${i === 0 ? "" : "."}${shortened(String(step))}`)).join("");

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let value = root;
  for (const step of path) value = value === null || typeof value !== "object" ? undefined : (value as Record<PropertyKey, unknown>)[step];
  return value;
}

interface SchemaFacts {
  readonly shape?: Readonly<Record<PropertyKey, z.core.$ZodType>>;
  readonly element?: z.core.$ZodType;
  readonly format?: string;
}

function schemaAt(schema: z.ZodObject, path: readonly PropertyKey[]): SchemaFacts {
  let at: SchemaFacts = schema._zod.def;
  for (const step of path) {
    const next: z.core.$ZodType | undefined = typeof step === "number" ? at.element : at.shape?.[step];
    if (next === undefined) return {};
    at = innermostSchema(next)._zod.def as SchemaFacts;
  }
  return at;
}

/** Removes wrappers such as optional. */
export function innermostSchema(schema: z.core.$ZodType): z.core.$ZodType {
  const { innerType } = schema._zod.def as { innerType?: z.core.$ZodType };
  return innerType === undefined ? schema : innermostSchema(innerType);
}

/** The parameters on one line, with optional ones marked: "key, value, ttl_seconds?". */
const signatureOf = (schema: z.ZodObject): string =>
  Object.entries(schema.shape)
    .map(([name, field]) => (field._zod.optin === "optional" ? `${name}?` : name))
    .join(", ") || "none";

/** As much of the caller's text as is needed to recognise it. */
export const shortened = (text: string): string => (text.length > 64 ? `${text.slice(0, 64)}…` : text);
