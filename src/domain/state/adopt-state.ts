import type { Json } from "../../kernel/json.ts";
import { canonicalJson } from "../../kernel/json.ts";
import { requireKey } from "../../store/prepare-commit.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Scope } from "../../store/transact.ts";
import type { AdoptOptions, Landing } from "../adoption.ts";
import { adopt } from "../adoption.ts";
import { stateKeys } from "../keyspace.ts";

export interface ForeignState {
  readonly key: string;
  readonly value: Json;
  readonly expiresAtMs?: number;
}

/** Imports a key with its value and its remaining time to live. */
export function adoptState(scope: Scope, { key: name, value, expiresAtMs }: ForeignState, options: AdoptOptions): Promise<Landing> {
  requireKey(name);
  const key = stateKeys.key(name);
  return adopt(scope, options, async () => {
    const { entries, nowMs } = await scope.store.read(keyRange(key));
    if (expiresAtMs !== undefined && expiresAtMs <= nowMs) return { landing: "lapsed" };
    const here = entries[0];
    if (here !== undefined) return { landing: canonicalJson(here.value) === canonicalJson(value) ? "same" : "different" };
    const ttlMs = expiresAtMs === undefined ? undefined : expiresAtMs - nowMs;
    const lapse = ttlMs === undefined ? undefined : { kind: "state", op: "expire", subject: name };
    return { checks: [{ key, is: "absent" }], writes: [{ op: "put", key, value, ttlMs, record: { kind: "state", op: "set", subject: name }, lapse }] };
  });
}
