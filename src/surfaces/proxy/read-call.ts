import { invalidInput } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import type { Params, Request } from "../mcp/json-rpc.ts";
import { isPlainObject } from "../mcp/json-rpc.ts";
import { inexactNumbersIn } from "./inexact-numbers.ts";
import { envelopeIn } from "./own-requests.ts";

/** The run and step to which a call belongs, and the ordinal or name that distinguishes it from equal calls. */
export interface CallPlace {
  readonly run?: string;
  /** The fencing token of the run's claim. */
  readonly token?: number;
  readonly step?: number | string;
  readonly ordinal?: number;
  readonly name?: string;
}

/** A call of a tool that has an effect. */
export interface EffectCall {
  readonly id: Request["id"];
  readonly tool: string;
  /** The arguments for the upstream, without those meant for the proxy. */
  readonly args: Readonly<Record<string, unknown>>;
  /** Distinguishes this call from others: the arguments, plus the original text of numbers that JavaScript cannot represent exactly. */
  readonly identifyingArgs: Json;
  readonly place: CallPlace;
  readonly isStateless: boolean;
}

/** The key in `_meta` with which programs pass a CallPlace. */
export const placeKey = "holdfast/effect";
/** The argument with which models pass an ordinal, because they cannot set `_meta`. */
export const ordinalArgument = "holdfast_ordinal";
const textMax = 256;
const ordinalMax = 1_000_000;

/** `defaults` names the run for which the proxy was started. Throws `invalid_input` that names the field. */
export function readEffectCall({ id, params = {} }: Request, line: string, defaults: CallPlace, idempotentKeyField?: string): EffectCall {
  const meta = isPlainObject(params._meta) ? params._meta : {};
  if (params.arguments !== undefined && params.arguments !== null && !isPlainObject(params.arguments)) throw invalidInput("arguments", "must be an object");
  const given = isPlainObject(params.arguments) ? params.arguments : {};
  const { [ordinalArgument]: asked, ...args } = given;
  const told = placeIn(meta);
  const ordinal = asked === undefined ? told.ordinal : requireOrdinal(asked, ordinalArgument);
  const place = { ...defaults, ...told, ...(ordinal === undefined ? {} : { ordinal }) };
  if (told.run !== undefined && told.run !== defaults.run && told.token === undefined)
    throw invalidInput(`_meta["${placeKey}"].token`, "is required with run: the token of the run's claim");
  // A rewritten message would contain a different number from the client's.
  const inexact = inexactNumbersIn(line).find((digits) => holdsNumber(given, Number(digits)));
  if (inexact !== undefined) throw invalidInput("arguments", `the number ${inexact} has more digits than can be kept; pass it as text`);
  // The caller may generate a new idempotency key per attempt, so the key must not make a retry look like a different call.
  const identifying = Object.fromEntries(Object.entries(args).filter(([name]) => name !== idempotentKeyField)) as { readonly [name: string]: Json };
  return {
    id,
    tool: String((params as Params).name),
    args,
    identifyingArgs: identifying,
    place,
    isStateless: envelopeIn(params) !== undefined,
  };
}

const holdsNumber = (value: unknown, number: number): boolean =>
  typeof value === "object" && value !== null ? Object.values(value).some((member) => holdsNumber(member, number)) : value === number;

const readers: Readonly<Record<keyof CallPlace, (value: unknown, field: string) => unknown>> = {
  run: requireText,
  token: (value, field) => requireWhole(value, field, Number.MAX_SAFE_INTEGER),
  step: (value, field) => (typeof value === "number" ? requireWhole(value, field, Number.MAX_SAFE_INTEGER, 0) : requireText(value, field)),
  ordinal: requireOrdinal,
  name: requireText,
};

function placeIn(meta: Readonly<Record<string, unknown>>): CallPlace {
  const told = meta[placeKey];
  if (told === undefined) return {};
  const field = `_meta["${placeKey}"]`;
  if (!isPlainObject(told)) throw invalidInput(field, `must be an object of ${Object.keys(readers).join(", ")}`);
  const unknown = Object.keys(told).find((member) => !Object.hasOwn(readers, member));
  if (unknown !== undefined) throw invalidInput(`${field}.${unknown}`, `unknown field; allowed: ${Object.keys(readers).join(", ")}`);
  return Object.fromEntries(Object.entries(told).map(([member, value]) => [member, readers[member as keyof CallPlace](value, `${field}.${member}`)])) as CallPlace;
}

function requireText(value: unknown, field: string): string {
  if (typeof value !== "string" || value === "" || value.length > textMax) throw invalidInput(field, `must be text of 1 to ${textMax} characters`);
  return value;
}

function requireWhole(value: unknown, field: string, max: number, min = 1): number {
  if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max) throw invalidInput(field, `must be a whole number from ${min} to ${max}`);
  return value as number;
}

function requireOrdinal(value: unknown, field: string): number {
  return requireWhole(value, field, ordinalMax);
}

/** Returns the line to send to the upstream. It is the client's line unchanged unless an argument must be removed or added. */
export function lineFor(call: EffectCall, message: Request, line: string, keyed: { readonly field: string | undefined; readonly effectId: string }): string {
  const hasOrdinal = isPlainObject(message.params?.arguments) && Object.hasOwn(message.params.arguments, ordinalArgument);
  if (!hasOrdinal && keyed.field === undefined) return line;
  const args = keyed.field === undefined ? call.args : { ...call.args, [keyed.field]: keyed.effectId };
  return JSON.stringify({ ...message, params: { ...message.params, arguments: args } });
}
