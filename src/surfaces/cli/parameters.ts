import { describeTool } from "../../tools/describe-tool.ts";
import type { Tool } from "../../tools/tool.ts";
import { requestKeyArgument } from "../../tools/tool.ts";
import type { DocumentedFlag } from "./command.ts";
import { parameterMeanings } from "./parameter-meanings.ts";

/** The form of a parameter on the command line. */
export type ParameterKind = "text" | "integer" | "number" | "duration" | "switch" | "map" | "texts" | "lease" | "leases" | "json" | "value";

export interface Parameter {
  readonly property: string;
  readonly flag: string;
  readonly kind: ParameterKind;
  readonly required: boolean;
  readonly meaning: string;
  readonly choices?: readonly string[];
  /** Given by position, not by flag. */
  readonly isPositional?: boolean;
}

interface PropertySchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly additionalProperties?: unknown;
  readonly items?: PropertySchema;
}

/** `--agent` sets these on every command, so they need no flag of their own. */
export const agentProperties: readonly string[] = ["agent_id", "holder_id"];

/** The parameters of a tool, derived from its schema. */
export function parametersOf(tool: Tool): readonly Parameter[] {
  const { properties = {}, required = [] } = describeTool(tool).inputSchema as { properties?: Record<string, PropertySchema>; required?: readonly string[] };
  return Object.entries(properties)
    .filter(([property]) => !agentProperties.includes(property) && property !== requestKeyArgument)
    .map(([property, schema]) => ({
      property,
      flag: flagOf(property, kindOf(property, schema)),
      kind: kindOf(property, schema),
      required: required.includes(property),
      meaning: parameterMeanings[`${tool.name}.${property}`] ?? parameterMeanings[property] ?? "",
      choices: schema.enum,
    }));
}

/** `ttl_seconds` becomes `--ttl 60s`: the unit is part of the value. `checkpointId` becomes `--checkpoint-id`. `tags`, repeated for each tag, becomes `--tag`. */
function flagOf(property: string, kind: ParameterKind): string {
  const flag = property
    .replace(/_seconds$/, "")
    .replaceAll(/([a-z])([A-Z])/g, "$1-$2")
    .replaceAll("_", "-")
    .toLowerCase();
  return repeated.includes(kind) ? flag.replace(/s$/, "") : flag;
}

function kindOf(property: string, schema: PropertySchema): ParameterKind {
  if (property.endsWith("_seconds")) return "duration";
  switch (schema.type) {
    case "string":
      return "text";
    case "integer":
    case "number":
      return schema.type;
    case "boolean":
      return "switch";
    case "array":
      if (schema.items?.type === "string") return "texts";
      return isLease(schema.items) ? "leases" : "json";
    case "object":
      if (isLease(schema)) return "lease";
      return typeof schema.additionalProperties === "object" ? "map" : "json";
    default:
      return schema.enum === undefined ? "value" : "text";
  }
}

const isLease = (schema: PropertySchema | undefined): boolean => schema?.properties !== undefined && Object.keys(schema.properties).sort().join() === "resource_id,token";

const takes: Readonly<Record<ParameterKind, string | undefined>> = {
  text: "TEXT",
  integer: "N",
  number: "N",
  duration: "DURATION",
  switch: undefined,
  map: "NAME=VALUE",
  texts: "TEXT",
  lease: "NAME:TOKEN",
  leases: "NAME:TOKEN",
  json: "JSON",
  value: "VALUE",
};
const repeated: readonly ParameterKind[] = ["map", "texts", "leases"];

export const toFlag = ({ flag, kind, meaning, choices }: Parameter): DocumentedFlag => ({
  name: flag,
  // The tool's own name also works.
  aliases: repeated.includes(kind) ? [`${flag}s`] : undefined,
  takes: choices === undefined ? takes[kind] : choices.join("|"),
  repeats: repeated.includes(kind),
  meaning,
  choices,
});
