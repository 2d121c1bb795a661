import { invalidInput } from "../../kernel/errors.ts";
import { mustBeOneOf } from "../../kernel/nearest.ts";
import { isPlainObject } from "../mcp/json-rpc.ts";

export const unknownPolicies = ["ask", "retry", "assume-done"] as const;
export type UnknownPolicy = (typeof unknownPolicies)[number];
const kinds = ["effect", "read-only"] as const;

/** The configuration of one tool. Absent fields follow the upstream's annotations or the defaults. */
export interface ToolRule {
  readonly kind?: (typeof kinds)[number];
  /** The argument in which the upstream accepts an idempotency key. The proxy sets it to the effect's id. */
  readonly idempotentKeyField?: string;
  /** A read-only tool that the proxy calls with the same arguments to settle an unknown outcome. */
  readonly reconcile?: string;
  /** The member of that tool's answer that says whether the effect happened; `found` by default. */
  readonly reconcileMember?: string;
  /** What it does not find counts as not done. It may still be on its way: without this it stays unknown. */
  readonly reconcileAbsent?: "failed";
  readonly unknown?: UnknownPolicy;
  /** `retryable` means that an answer with `isError: true` had no effect, so the call may be repeated. */
  readonly errors?: "retryable";
}

export type ToolRules = ReadonlyMap<string, ToolRule>;

type Reader = (value: unknown, field: string) => unknown;

const oneOf =
  (allowed: readonly string[]): Reader =>
  (value, field) => {
    if (typeof value !== "string" || !allowed.includes(value))
      throw invalidInput(field, typeof value === "string" ? mustBeOneOf(value, allowed) : `must be one of ${allowed.join(", ")}`);
    return value;
  };
const name: Reader = (value, field) => {
  if (typeof value !== "string" || value === "" || value.length > 200) throw invalidInput(field, "must be a name of 1 to 200 characters");
  return value;
};

const members: Readonly<Record<keyof ToolRule, Reader>> = {
  kind: oneOf(kinds),
  idempotentKeyField: name,
  reconcile: name,
  reconcileMember: name,
  reconcileAbsent: oneOf(["failed"]),
  unknown: oneOf(unknownPolicies),
  errors: oneOf(["retryable"]),
};
const rulesMax = 10_000;

/** Reads rules from a file's JSON and from flags; flags take precedence. Errors name the file by its `origin`. */
export function readToolRules(
  file: { readonly json: unknown; readonly origin: string } | undefined,
  flags: { readonly effect?: readonly string[]; readonly readOnly?: readonly string[] } = {},
): ToolRules {
  const rules = new Map<string, ToolRule>();
  if (file !== undefined) for (const [tool, rule] of Object.entries(toolsIn(file))) rules.set(tool, readRule(rule, `tools.${tool} in ${file.origin}`));
  for (const [tools, kind] of [
    [flags.effect ?? [], "effect"],
    [flags.readOnly ?? [], "read-only"],
  ] as const) {
    for (const tool of tools) {
      if (kind === "read-only" && flags.effect?.includes(tool)) throw invalidInput("--read-only-tool", `${JSON.stringify(tool)} is also given as --effect-tool`);
      rules.set(tool, { ...rules.get(tool), kind });
    }
  }
  return rules;
}

function toolsIn({ json, origin }: { readonly json: unknown; readonly origin: string }): Readonly<Record<string, unknown>> {
  const unknown = isPlainObject(json) ? Object.keys(json).find((member) => member !== "tools") : undefined;
  if (!isPlainObject(json) || !isPlainObject(json.tools)) throw invalidInput(origin, 'must hold an object such as {"tools": {"send_mail": "effect"}}');
  if (unknown !== undefined) throw invalidInput(`${unknown} in ${origin}`, "unknown field; allowed: tools");
  if (Object.keys(json.tools).length > rulesMax) throw invalidInput(`tools in ${origin}`, `must name at most ${rulesMax} tools`);
  return json.tools;
}

function readRule(rule: unknown, field: string): ToolRule {
  if (typeof rule === "string") return { kind: members.kind(rule, field) as ToolRule["kind"] };
  if (!isPlainObject(rule)) throw invalidInput(field, `must be ${kinds.map((kind) => `"${kind}"`).join(", ")} or an object`);
  const unknown = Object.keys(rule).find((member) => !Object.hasOwn(members, member));
  if (unknown !== undefined) throw invalidInput(`${field}: ${unknown}`, `unknown field; allowed: ${Object.keys(members).join(", ")}`);
  const read = Object.entries(rule).map(([member, value]) => [member, members[member as keyof ToolRule](value, `${field}: ${member}`)]);
  const known = Object.fromEntries(read) as ToolRule;
  if (known.kind === "read-only" && Object.keys(known).length > 1) throw invalidInput(field, "a read-only tool has no other fields, because its calls are not recorded");
  if (known.reconcileMember !== undefined && known.reconcile === undefined) throw invalidInput(`${field}: reconcileMember`, "requires reconcile");
  if (known.reconcileAbsent !== undefined && known.reconcile === undefined) throw invalidInput(`${field}: reconcileAbsent`, "requires reconcile");
  return known;
}
