import * as z from "zod";
import type { Effect, Tool } from "./tool.ts";
import { requestKeyArgument } from "./tool.ts";

export interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint: boolean;
}

export interface ToolDescription {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  readonly annotations: ToolAnnotations;
}

export type JsonSchema = { readonly type: "object"; readonly [keyword: string]: unknown };

const described = new WeakMap<Tool, Map<string, ToolDescription>>();

/**
 * The tool as shown to a client that is offered these tools; all of them by default. Returns the same
 * object every time, because clients and the contract tests compare its bytes.
 */
export function describeTool(tool: Tool, offered?: ReadonlySet<string>): ToolDescription {
  const known = described.get(tool) ?? new Map<string, ToolDescription>();
  described.set(tool, known);
  const text = descriptionOf(tool, offered);
  let description = known.get(text);
  if (description === undefined) {
    const { name, title, effect } = tool;
    description = { name, title, description: text, inputSchema: inputSchemaOf(tool), outputSchema: outputSchemaOf(tool), annotations: annotationsOf[effect] };
    known.set(text, description);
  }
  return description;
}

/** The descriptions that a client gets for a selection of tools. */
export function descriptionsOf(tools: readonly Tool[]): readonly ToolDescription[] {
  const offered = new Set(tools.map(({ name }) => name));
  return tools.map((tool) => describeTool(tool, offered));
}

/** Models call tools that descriptions mention, so a sentence about a tool that is not offered is left out. */
export const descriptionOf = ({ description, pointers = [] }: Tool, offered?: ReadonlySet<string>): string =>
  [description, ...pointers.filter(({ to }) => offered === undefined || to.every((name) => offered.has(name))).map(({ text }) => text)].join(" ");

/** A store is a closed world. Hints are left out if they equal the protocol's default or have no meaning for a read-only tool. */
const annotationsOf: Record<Effect, ToolAnnotations> = {
  read: { readOnlyHint: true, openWorldHint: false },
  write: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
  "write-idempotent": { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  destructive: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
};

/** The complete schemas, for the documentation and for review. Clients get the shorter `describeTool`. */
export const fullSchemas = (tool: Tool): { readonly input: JsonSchema; readonly output: JsonSchema } => ({
  input: withRequestKey(tool, jsonSchema(tool.input, "input", dropIntegerBounds)),
  output: jsonSchema(tool.output, "output", (node) => {
    dropIntegerBounds(node);
    // Left open, so that clients that validate accept keys added by later versions.
    delete node.additionalProperties;
  }),
});

/** A model reads every word on every turn. Bounds can be left out, because the error for a wrong value states what is allowed. */
function inputSchemaOf(tool: Tool): JsonSchema {
  const schema = jsonSchema(tool.input, "input", (node) => {
    dropIntegerBounds(node);
    for (const keyword of ["minimum", "exclusiveMinimum", "maximum", "minItems", "minLength", "maxLength"]) delete node[keyword];
    // Inside the schema, the keyword is worth its tokens only where it describes a map's values.
    if (node.additionalProperties === false || isEmptyObject(node.additionalProperties)) delete node.additionalProperties;
  });
  return { ...withRequestKey(tool, schema), additionalProperties: false };
}

function withRequestKey(tool: Tool, schema: JsonSchema): JsonSchema {
  if (tool.effect === "read") return schema;
  return { ...schema, properties: { ...(schema.properties as object), [requestKeyArgument]: { type: "string" } } };
}

/**
 * The keys of an answer and their types, without the contents of lists and objects. No key is required, because errors carry structured content too:
 * some clients validate every structured result against this schema, including errors, and would show their own message instead.
 */
function outputSchemaOf(tool: Tool): JsonSchema {
  const { properties } = fullSchemas(tool).output as unknown as { properties: Record<string, SchemaNode> };
  // Any answer may carry a warning or a hint, so they are not listed for each tool.
  const declared = Object.entries(properties).filter(([name]) => name !== "warning" && name !== "hint");
  return { type: "object", properties: Object.fromEntries(declared.map(([name, node]) => [name, kindOf(node)])) };
}

type SchemaNode = Record<string, unknown>;

const isEmptyObject = (value: unknown): boolean => typeof value === "object" && value !== null && Object.keys(value).length === 0;

function kindOf({ type, const: fixed, anyOf }: SchemaNode): SchemaNode {
  if (Array.isArray(anyOf)) return { type: (anyOf as SchemaNode[]).map((branch) => branch.type) };
  if (type === undefined) return fixed === undefined ? {} : { type: typeof fixed };
  return { type };
}

function jsonSchema(schema: z.ZodObject, io: "input" | "output", trim: (node: SchemaNode) => void): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any", override: ({ jsonSchema: node }) => trim(node as SchemaNode) });
  return rest as unknown as JsonSchema;
}

/** zod adds the safe integer range to every integer. */
function dropIntegerBounds(node: SchemaNode): void {
  if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
  if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
}
