/** A tool's arguments, as a form can show them. */
export interface FormField {
  readonly name: string;
  readonly required: boolean;
  readonly kind: "text" | "number" | "boolean" | "choice" | "texts" | "json";
  readonly choices?: readonly string[];
  readonly hint: string;
  /** An example of what to enter, if the name alone does not suggest it. */
  readonly example?: string;
}

type Schema = Readonly<Record<string, unknown>>;

/** By the name of the argument, which means the same in every tool. */
const examples: Readonly<Record<string, string>> = {
  key: "build/status",
  prefix: "build/",
  pattern: "build/%",
  value: '{"green": true}',
  resource_id: "deploy/production",
  holder_id: "agent-1",
  agent_id: "agent-1",
  run_id: "wf-0123456789ab",
  session_id: "refactoring",
  ttl_seconds: "600",
  wait_seconds: "10",
  step: "1",
  tags: '{"team": "search"}',
  input: '{"goal": "ship 1.4", "steps": ["build", "test", "publish"]}',
  output: '{"files": 3}',
  query: "how do we deploy",
  id: "deploy-needs-vpn",
  content: "Deploys need the VPN: the registry is only reachable from inside.",
  source: "docs/deploy.md",
  since: "24h",
  range: "3d",
  request_key: "any text that is unique to this call",
};

export function formFieldsOf(input: Schema): readonly FormField[] {
  const properties = (input.properties ?? {}) as Readonly<Record<string, Schema>>;
  const required = Array.isArray(input.required) ? input.required : [];
  return Object.entries(properties)
    .map(([name, schema]) => ({ name, required: required.includes(name), ...kindOf(schema), hint: hintOf(schema), example: examples[name] }))
    .sort((a, b) => Number(b.required) - Number(a.required));
}

function kindOf({ type, enum: choices, items }: Schema): Pick<FormField, "kind" | "choices"> {
  if (Array.isArray(choices)) return { kind: "choice", choices: choices.map(String) };
  if (type === "string") return { kind: "text" };
  if (type === "number" || type === "integer") return { kind: "number" };
  if (type === "boolean") return { kind: "boolean" };
  return type === "array" && (items as Schema | undefined)?.type === "string" ? { kind: "texts" } : { kind: "json" };
}

const typeWords: Readonly<Record<string, string>> = { string: "text", integer: "whole number", number: "number", boolean: "true or false", array: "list", object: "object" };

/** An argument's description, and what to enter in its field. */
function hintOf(schema: Schema): string {
  const { description } = schema;
  const shape = shapeOf(schema);
  if (typeof description !== "string") return shape;
  return shape === "" || !isNested(schema) ? description : `${description} ${shape}`;
}

function shapeOf({ type, items, properties, required, additionalProperties, maximum }: Schema): string {
  const each = items as Schema | undefined;
  if (type === "integer") return `A whole number${typeof maximum === "number" ? `, at most ${maximum}` : ""}.`;
  if (type === "number") return `A number${typeof maximum === "number" ? `, at most ${maximum}` : ""}.`;
  if (type === "array" && each?.type === "string") return "One per line.";
  if (type === "array") return `A JSON list${each?.properties === undefined ? "" : ` of objects, each with${fieldsOf(each)}`}.`;
  if (type === "object" && (additionalProperties as Schema | undefined)?.type === "string") return 'A JSON object of texts, for example {"team": "search"}.';
  if (type === "object") return `A JSON object${properties === undefined ? "" : ` with${fieldsOf({ properties, required })}`}.`;
  return type === undefined ? "Any JSON; a text needs quotation marks." : "";
}

const isNested = ({ properties, items }: Schema): boolean => properties !== undefined || (items as Schema | undefined)?.properties !== undefined;

/** " resource_id (text) and token (whole number)", to be appended to a word; optional ones come last. */
function fieldsOf({ properties, required }: Schema): string {
  const needed = Array.isArray(required) ? required : [];
  const fields = Object.entries(properties as Readonly<Record<string, Schema>>).map(([name, { type, enum: choices, items }]) => {
    const inner = (items as Schema | undefined)?.type;
    const word = Array.isArray(choices) ? choices.join(", ") : typeof inner === "string" ? `list of ${typeWords[inner] ?? inner}s` : (typeWords[String(type)] ?? "any JSON");
    return { isNeeded: needed.includes(name), text: `${name} (${word})` };
  });
  const [first, others] = [true, false].map((wanted) => listed(fields.filter(({ isNeeded }) => isNeeded === wanted).map(({ text }) => text)));
  return `${first === "" ? "" : ` ${first}`}${others === "" ? "" : `${first === "" ? "" : " and"}, if wanted, ${others}`}`;
}

const listed = (texts: readonly string[]): string => (texts.length < 2 ? texts.join("") : `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}`);

export type Entered = Readonly<Record<string, string>>;

/** The arguments in a filled form, or the problem in each field. Empty fields are omitted. */
export function argumentsOf(parameters: readonly FormField[], entered: Entered): { readonly args: Record<string, unknown>; readonly problems: Readonly<Record<string, string>> } {
  const args: Record<string, unknown> = {};
  const problems: Record<string, string> = {};
  for (const { name, kind, required } of parameters) {
    const text = entered[name] ?? "";
    if (text === "") {
      if (required) problems[name] = "Required.";
      continue;
    }
    if (kind === "text" || kind === "choice") args[name] = text;
    else if (kind === "boolean") args[name] = text === "true";
    else if (kind === "texts") args[name] = text.split("\n").filter((line) => line !== "");
    else if (kind === "number") {
      if (Number.isFinite(Number(text)) && text.trim() !== "") args[name] = Number(text);
      else problems[name] = "This is not a number.";
    } else {
      try {
        args[name] = JSON.parse(text);
      } catch {
        problems[name] = "This is not JSON. A text needs quotation marks around it.";
      }
    }
  }
  return { args, problems };
}

/** The form filled with these arguments. */
export function enteredOf(parameters: readonly FormField[], args: Readonly<Record<string, unknown>>): Entered {
  const entered: Record<string, string> = {};
  for (const { name, kind } of parameters) {
    const value = args[name];
    if (value === undefined) continue;
    if (kind === "texts" && Array.isArray(value)) entered[name] = value.join("\n");
    else entered[name] = typeof value === "string" && kind !== "json" ? value : JSON.stringify(value, null, 2);
  }
  return entered;
}
