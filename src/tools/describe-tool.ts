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
 * The tool as a client sees it that is offered these tools; all of them when left out.
 * The same object every time: clients and the contract tests compare its bytes.
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

/** A selection of tools as a client sees it. */
export function descriptionsOf(tools: readonly Tool[]): readonly ToolDescription[] {
  const offered = new Set(tools.map(({ name }) => name));
  return tools.map((tool) => describeTool(tool, offered));
}

/** A model calls what it reads of: a sentence about a tool that is not offered is left out. */
export const descriptionOf = ({ description, pointers = [] }: Tool, offered?: ReadonlySet<string>): string =>
  [description, ...pointers.filter(({ to }) => offered === undefined || to.every((name) => offered.has(name))).map(({ text }) => text)].join(" ");

/** A store is a closed world. A hint that equals the protocol's default, or says nothing about a tool that only reads, is left out. */
const annotationsOf: Record<Effect, ToolAnnotations> = {
  read: { readOnlyHint: true, openWorldHint: false },
  write: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
  "write-idempotent": { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  destructive: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
};

/** Everything the schemas check, for the documentation and for review; clients are sent the shorter `describeTool`. */
export const fullSchemas = (tool: Tool): { readonly input: JsonSchema; readonly output: JsonSchema } => ({
  input: withRequestKey(tool, jsonSchema(tool.input, "input", dropIntegerBounds)),
  output: jsonSchema(tool.output, "output", (node) => {
    dropIntegerBounds(node);
    // Open at the end: a later version may add keys, and a client that checks must not refuse them.
    delete node.additionalProperties;
  }),
});

/** Every word is read by a model on every turn. Bounds can go: a wrong value is refused with a message that names what is allowed. */
function inputSchemaOf(tool: Tool): JsonSchema {
  const schema = jsonSchema(tool.input, "input", (node) => {
    dropIntegerBounds(node);
    for (const keyword of ["minimum", "exclusiveMinimum", "maximum", "minItems", "minLength", "maxLength"]) delete node[keyword];
    // Inside, what is allowed besides is not worth a word; a map says what its values are.
    if (node.additionalProperties === false || isEmptyObject(node.additionalProperties)) delete node.additionalProperties;
  });
  return { ...withRequestKey(tool, schema), additionalProperties: false };
}

function withRequestKey(tool: Tool, schema: JsonSchema): JsonSchema {
  if (tool.effect === "read") return schema;
  return { ...schema, properties: { ...(schema.properties as object), [requestKeyArgument]: { type: "string" } } };
}

/**
 * The keys of an answer and their kinds, without the insides of lists and objects. None is marked required, because an error carries structured
 * content too: some clients hold every structured answer against this schema, failed ones included, and would show their own complaint instead.
 */
function outputSchemaOf(tool: Tool): JsonSchema {
  const { properties } = fullSchemas(tool).output as unknown as { properties: Record<string, SchemaNode> };
  // Any answer may carry a warning or a hint; they are not worth a word in each.
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

/** zod states the safe integers' range for every integer. */
function dropIntegerBounds(node: SchemaNode): void {
  if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
  if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
}
