import type { Mirror } from "../../domain/mirror/mirror.ts";
import type { Surroundings } from "../../domain/workspace/workspace.ts";
import { invalidInput } from "../../kernel/errors.ts";
import { canonicalJson, fingerprint } from "../../kernel/json.ts";
import { limits } from "../../store/limits.ts";
import type { Scope } from "../../store/transact.ts";
import type { WriteOptions } from "./call-options.ts";

/** The library's settings and its scope, without the parts that belong to a single call. */
export interface LibraryBase {
  readonly scope: Pick<Scope, "store" | "clock" | "writer">;
  readonly agent?: string;
  readonly claimTtlMs: number;
  /** How long the records of ended effects are kept, unless a call sets it. */
  readonly effectKeepMs: number;
  /** The program's folder and git state, from which the workspace of its journal is found. */
  readonly surroundings?: Surroundings;
  /** How long journal entries are kept, unless a call sets it; forever if absent. */
  readonly journalTtlMs?: number;
  readonly mirror?: Mirror;
  /** Approximate maximum number of characters of values in one page of a list; unlimited if absent. */
  readonly listCharactersMax?: number;
}

export const pageDefault = 100;

/** The scope of one call. The fingerprint distinguishes a retry from a request key reused for a different request. */
export function scopeOf({ scope, agent }: LibraryBase, options: WriteOptions, operation: string, input: unknown): Scope {
  const { requestKey, signal } = options;
  const request = requestKey === undefined ? undefined : { key: requestKey, fingerprint: fingerprintOf(operation, input, scope.writer) };
  return { ...scope, agent: options.agent ?? agent, signal, request };
}

/**
 * The domain validates values only after this, so the input may not be JSON. The writer is included because two writers may choose the same key for equal
 * requests: neither may receive the other's lease, claim or run.
 */
function fingerprintOf(operation: string, input: unknown, writer: string): string {
  try {
    return fingerprint({ operation, input, writer });
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
