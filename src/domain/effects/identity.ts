import { invalidInput } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import { fingerprint } from "../../kernel/json.ts";
import { jsonText, requireKey } from "../../store/prepare-commit.ts";
import { requireRunId } from "../workflows/workflows.ts";

/** Two calls with the same identity are the same effect. The program around the model sets it, never the model, which would invent a new key per attempt. */
export interface EffectIdentity {
  /** Separates effects that would otherwise be equal, such as calls to tools of the same name on two servers. */
  readonly scope?: string;
  readonly run?: string;
  readonly step?: number | string;
  /** Distinguishes equal effects within a step; the first is 1. */
  readonly ordinal?: number;
  /** The operation: the name of a tool or a step, or a command. */
  readonly tool: string;
  readonly args: Json;
  /** The caller's name for the effect. If set, scope, run and name alone identify the effect, and different arguments are a conflict. */
  readonly name?: string;
}

/** Short enough to type; long enough (80 bits) that ids in one store do not collide in practice. */
const idDigits = 20;

export function effectId({ scope = "", run, step, ordinal = 1, tool, args, name }: EffectIdentity): string {
  const parts = name === undefined ? { scope, run, step, ordinal, tool, args } : { scope, run, name };
  return `fx-${fingerprint(parts).slice(0, idDigits)}`;
}

/** Equal for two calls of the same tool with the same arguments. */
export const effectFingerprint = ({ tool, args }: EffectIdentity): string => fingerprint([tool, args]);

export function requireIdentity({ scope, run, step, ordinal, tool, args, name }: EffectIdentity): void {
  requireKey(tool, "tool");
  // The empty scope is the default one.
  if (scope !== undefined && scope !== "") requireKey(scope, "scope");
  if (run !== undefined) requireRunId(run, "run");
  if (typeof step === "string") requireKey(step, "step");
  else if (step !== undefined && !(Number.isSafeInteger(step) && step >= 0)) throw invalidInput("step", "must be a name or a whole number, 0 or more");
  if (ordinal !== undefined && !(Number.isSafeInteger(ordinal) && ordinal >= 1)) throw invalidInput("ordinal", "must be a whole number, 1 or more");
  if (name !== undefined) requireKey(name, "name");
  jsonText(args, "args");
}

export function requireEffectId(id: string): void {
  if (typeof id !== "string" || id.length !== 3 + idDigits || !/^fx-[0-9a-f]+$/.test(id))
    throw invalidInput("id", `must be the id of an effect: fx- and ${idDigits} hexadecimal digits`);
}
