import type { Mirror } from "../../domain/mirror/mirror.ts";
import type { Surroundings } from "../../domain/workspace/workspace.ts";
import { invalidInput } from "../../kernel/errors.ts";
import { canonicalJson, fingerprint } from "../../kernel/json.ts";
import { limits } from "../../store/limits.ts";
import type { Scope } from "../../store/transact.ts";
import type { WriteOptions } from "./call-options.ts";

/** What the library works with: a scope without the parts that belong to one call. */
export interface LibraryBase {
  readonly scope: Pick<Scope, "store" | "clock" | "writer">;
  readonly agent?: string;
  readonly claimTtlMs: number;
  /** Where the program works; its journal is kept by workspace. */
  readonly surroundings?: Surroundings;
  /** How long journal entries are kept when a call does not say; for ever when absent. */
  readonly journalTtlMs?: number;
  readonly mirror?: Mirror;
}

export const pageDefault = 100;

/** One call's scope. The fingerprint tells a retry from a request key used for something else. */
export function scopeOf({ scope, agent }: LibraryBase, options: WriteOptions, operation: string, input: unknown): Scope {
  const { requestKey, signal } = options;
  const request = requestKey === undefined ? undefined : { key: requestKey, fingerprint: fingerprintOf(operation, input) };
  return { ...scope, agent: options.agent ?? agent, signal, request };
}

/** The domain, which knows what a value may be, sees it only after this. */
function fingerprintOf(operation: string, input: unknown): string {
  try {
    return fingerprint({ operation, input });
  } catch (cause) {
    const field = Object.entries(input ?? {}).find(([, member]) => !canBeJson(member))?.[0] ?? "input";
    throw invalidInput(field, `must be JSON, nested at most ${limits.valueDepthMax} deep, without cycles or BigInts`, { reason: cause instanceof Error ? cause.name : "unknown" });
  }
}

function canBeJson(value: unknown): boolean {
  try {
    canonicalJson(value);
    return true;
  } catch {
    return false;
  }
}

/** What a timer can wait; a longer one would fire at once. */
const waitMsMax = 2_147_483_647;

export function requireWait(ms: unknown, field: string): number {
  if (typeof ms !== "number" || !(ms >= 0 && ms <= waitMsMax)) throw invalidInput(field, `must be a number of milliseconds from 0 to ${waitMsMax}`);
  return ms;
}
