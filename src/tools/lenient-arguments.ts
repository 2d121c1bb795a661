import type * as z from "zod";
import type { HoldfastError } from "../kernel/errors.ts";
import { innermostSchema, inputProblems, requireShortLists, shortened } from "./input-problems.ts";
import type { Tool } from "./tool.ts";

export interface ReadArguments {
  readonly args: Record<string, unknown>;
  /** Arguments that were interpreted differently from how they were written, for the answer. */
  readonly warnings: readonly string[];
}

const warningsMax = 10;

/**
 * Reads the arguments of a call. Clients with strict function schemas send null for omitted arguments, and models
 * write lists, numbers and booleans as text. If only one meaning is possible, the call is carried out and a warning
 * shows the correct form. Correct arguments cost one check more than parsing.
 */
export function readArguments(tool: Tool, given: unknown, profile?: string): ReadArguments {
  const present = withoutAbsent(tool, given ?? {});
  requireShortLists(tool.name, tool.input, present);
  const strict = tool.input.safeParse(present);
  if (strict.success) return { args: strict.data, warnings: [] };
  const warnings: string[] = [];
  const coerced = coerce(tool.input, withKnownNames(tool, present, warnings, profile), "", warnings);
  requireShortLists(tool.name, tool.input, coerced);
  const lenient = tool.input.safeParse(coerced);
  if (!lenient.success) throw problemsOf(tool, coerce(tool.input, present, "", []));
  return { args: lenient.data, warnings: warnings.length > warningsMax ? [...warnings.slice(0, warningsMax), `and ${warnings.length - warningsMax} more`] : warnings };
}

/** Uses the argument names that the caller sent. */
function problemsOf(tool: Tool, args: unknown): HoldfastError {
  const issues = tool.input.safeParse(args).error?.issues ?? [];
  return inputProblems(tool.name, tool.input, args, issues);
}

interface FieldFacts {
  readonly nullIsAbsent: boolean;
  readonly emptyIsAbsent: boolean;
}
const knownFields = new WeakMap<Tool, ReadonlyMap<string, FieldFacts>>();

function fieldsOf(tool: Tool): ReadonlyMap<string, FieldFacts> {
  let fields = knownFields.get(tool);
  if (fields === undefined) {
    fields = new Map(
      Object.entries(tool.input.shape).map(([name, schema]) => {
        const isOptional = schema._zod.optin === "optional";
        return [
          name,
          {
            // If null is a valid value, it is kept.
            nullIsAbsent: isOptional && !(schema as z.ZodType).safeParse(null).success,
            // Without its cursor, a listing would start over, and the caller would loop forever.
            emptyIsAbsent: isOptional && name !== "cursor" && holdsTexts(schema) && !tool.keepsEmpty?.includes(name),
          },
        ];
      }),
    );
    knownFields.set(tool, fields);
  }
  return fields;
}

/** True for a string, an enum or a list of strings. Any other empty value may have been meant to guard a write, so it is rejected. */
function holdsTexts(schema: z.core.$ZodType): boolean {
  const { type, element } = defOf(schema);
  return type === "string" || type === "enum" || (type === "array" && element !== undefined && defOf(element).type === "string");
}

/** Returns the same object if there is nothing to remove, as in nearly every call. */
function withoutAbsent(tool: Tool, given: unknown): unknown {
  if (!isRecord(given)) return given;
  const fields = fieldsOf(tool);
  const isAbsent = (name: string): boolean => {
    const value = given[name];
    return (value === null && fields.get(name)?.nullIsAbsent === true) || (value === "" && fields.get(name)?.emptyIsAbsent === true);
  };
  for (const name in given) if (isAbsent(name)) return Object.fromEntries(Object.entries(given).filter(([each]) => !isAbsent(each)));
  return given;
}

/** A save must not fail because of an unknown argument: the tool keeps its text in another field. */
function withKnownNames(tool: Tool, given: unknown, warnings: string[], profile: string | undefined): unknown {
  if (tool.adoptUnknown === undefined || !isRecord(given)) return given;
  const isKnown = ([name]: [string, unknown]): boolean => Object.hasOwn(tool.input.shape, name);
  const members = Object.entries(given);
  const known = Object.fromEntries(members.filter(isKnown));
  const unknown = Object.fromEntries(members.filter((member) => !isKnown(member)));
  if (Object.keys(unknown).length === 0) return given;
  const adopted = tool.adoptUnknown(known, unknown, profile);
  if (adopted === undefined) return given;
  warnings.push(...adopted.warnings);
  return adopted.args;
}

interface SchemaDef {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly element?: z.core.$ZodType;
  readonly entries?: Readonly<Record<string, string>>;
}

const defOf = (schema: z.core.$ZodType): SchemaDef => innermostSchema(schema)._zod.def as SchemaDef;

/** A JSON object with a custom check; its JSON Schema states the type. */
const isOpenObject = (schema: z.core.$ZodType): boolean => defOf(schema).type === "custom" && (innermostSchema(schema) as z.ZodType).meta()?.type === "object";

/** Converts the value to the schema's type if only one meaning is possible; otherwise returns it unchanged. */
function coerce(schema: z.core.$ZodType, value: unknown, field: string, warnings: string[]): unknown {
  const { type, shape, element } = defOf(schema);
  if (typeof value === "string") {
    const read = readText(schema, value);
    if (read === undefined) return value;
    warnings.push(`${field}: ${read.says}`);
    return type === "array" || type === "object" ? coerce(schema, read.value, field, warnings) : read.value;
  }
  if (type === "array" && element !== undefined && Array.isArray(value)) return value.map((item, i) => coerce(element, item, `${field}[${i}]`, warnings));
  if (type === "object" && shape !== undefined && isRecord(value))
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, member]) => {
        const inner = Object.hasOwn(shape, name) ? (shape[name] as z.core.$ZodType) : undefined;
        if (inner === undefined) return [[name, member]];
        if (member === null && inner._zod.optin === "optional" && !(inner as z.ZodType).safeParse(null).success) return [];
        return [[name, coerce(inner, member, field === "" ? name : `${field}.${name}`, warnings)]];
      }),
    );
  return value;
}

interface ReadText {
  readonly value: unknown;
  readonly says: string;
}

const numberForm = /^-?\d{1,17}(\.\d{1,17})?$/;

function readText(schema: z.core.$ZodType, text: string): ReadText | undefined {
  const { type, element, entries } = defOf(schema);
  const trimmed = text.trim();
  switch (type) {
    case "number":
      return numberForm.test(trimmed) ? { value: Number(trimmed), says: `read the string ${JSON.stringify(shortened(text))} as a number` } : undefined;
    case "boolean": {
      const word = trimmed.toLowerCase();
      return word === "true" || word === "false" ? { value: word === "true", says: `read the string ${JSON.stringify(text)} as ${word}` } : undefined;
    }
    case "enum": {
      const word = Object.values(entries ?? {}).find((each) => each === trimmed.toLowerCase());
      return word === undefined || word === text ? undefined : { value: word, says: `read ${JSON.stringify(shortened(text))} as ${JSON.stringify(word)}` };
    }
    case "array": {
      const parsed = parsedAs(trimmed, "[");
      if (Array.isArray(parsed)) return { value: parsed, says: "read the JSON text as a list; send a list" };
      return element !== undefined && defOf(element).type === "string" ? { value: [text], says: "read the string as a list of one; send a list" } : undefined;
    }
    default: {
      if (type !== "object" && !isOpenObject(schema)) return undefined;
      const parsed = parsedAs(trimmed, "{");
      return isRecord(parsed) ? { value: parsed, says: "read the JSON text as an object; send an object" } : undefined;
    }
  }
}

function parsedAs(text: string, opening: "[" | "{"): unknown {
  if (!text.startsWith(opening)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
