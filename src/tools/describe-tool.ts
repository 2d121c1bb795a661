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

/** A store is a closed world. The other hints say nothing about a tool that only reads. */
const annotationsOf: Record<Effect, ToolAnnotations> = {
  read: { readOnlyHint: true, openWorldHint: false },
  write: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  "write-idempotent": { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  destructive: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
};

function inputSchemaOf(tool: Tool): JsonSchema {
  return jsonSchema(tool.input, "input");
}

/** Open at the end: a later version may add keys, and a client that checks must not refuse them. */
function outputSchemaOf(tool: Tool): JsonSchema {
  return jsonSchema(tool.output, "output");
}

function jsonSchema(schema: z.ZodObject, io: "input" | "output"): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any", override: ({ jsonSchema: node }) => trim(node, io) }) as Record<string, unknown>;
  return rest as JsonSchema;
}

/** Every word here is read by a model on every turn: what a client can do without goes. */
function trim(node: Record<string, unknown>, io: "input" | "output"): void {
  if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
  if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
  if (io === "output") delete node.additionalProperties;
}
