import * as z from "zod";
import type { Effect, Tool } from "./tool.ts";

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

const described = new WeakMap<Tool, ToolDescription>();

/** The tool as a client sees it. The same bytes every time: clients and the contract tests compare them. */
export function describeTool(tool: Tool): ToolDescription {
  let description = described.get(tool);
  if (description === undefined) {
    const { name, title, effect } = tool;
    description = { name, title, description: tool.description, inputSchema: inputSchemaOf(tool), outputSchema: outputSchemaOf(tool), annotations: annotationsOf[effect] };
    described.set(tool, description);
  }
  return description;
}

/** A store is a closed world. A hint that equals the protocol's default, or says nothing about a tool that only reads, is left out. */
const annotationsOf: Record<Effect, ToolAnnotations> = {
  read: { readOnlyHint: true, openWorldHint: false },
  write: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
  "write-idempotent": { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  destructive: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
};

/** Everything the schemas check, for the documentation and for review; clients are sent the shorter `describeTool`. */
export const fullSchemas = (tool: Tool): { readonly input: JsonSchema; readonly output: JsonSchema } => ({
  input: jsonSchema(tool.input, "input", dropIntegerBounds),
  output: jsonSchema(tool.output, "output", (node) => {
    dropIntegerBounds(node);
    // Open at the end: a later version may add keys, and a client that checks must not refuse them.
    delete node.additionalProperties;
  }),
});

/** Every word is read by a model on every turn. Lower bounds can go: a wrong value is refused with a message that names what is allowed. */
function inputSchemaOf(tool: Tool): JsonSchema {
  const schema = jsonSchema(tool.input, "input", (node) => {
    dropIntegerBounds(node);
    for (const keyword of ["minimum", "exclusiveMinimum", "minItems"]) delete node[keyword];
    if (node.additionalProperties === false) delete node.additionalProperties;
  });
  return { ...schema, additionalProperties: false };
}

/**
 * The keys of an answer and their kinds, without the insides of lists and objects. None is marked required, because an error carries structured
 * content too: some clients hold every structured answer against this schema, failed ones included, and would show their own complaint instead.
 */
function outputSchemaOf(tool: Tool): JsonSchema {
  const { properties } = fullSchemas(tool).output as unknown as { properties: Record<string, SchemaNode> };
  return { type: "object", properties: Object.fromEntries(Object.entries(properties).map(([name, node]) => [name, kindOf(node)])) };
}

type SchemaNode = Record<string, unknown>;

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
