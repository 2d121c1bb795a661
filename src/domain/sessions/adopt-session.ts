import type { JsonObject } from "../../kernel/json.ts";
import { canonicalJson } from "../../kernel/json.ts";
import { requireKey } from "../../store/prepare-commit.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Scope } from "../../store/transact.ts";
import type { AdoptOptions, Landing } from "../adoption.ts";
import { adopt } from "../adoption.ts";
import { sessionKeys } from "../keyspace.ts";

export interface ForeignSession {
  readonly sessionId: string;
  readonly context: JsonObject;
}

/** Imports an agent's saved context. */
export function adoptSession(scope: Scope, { sessionId, context }: ForeignSession, options: AdoptOptions): Promise<Landing> {
  requireKey(sessionId, "session_id");
  const key = sessionKeys.key(sessionId);
  return adopt(scope, options, async () => {
    const here = (await scope.store.read(keyRange(key))).entries[0];
    if (here !== undefined) return { landing: canonicalJson(here.value) === canonicalJson(context) ? "same" : "different" };
    return { checks: [{ key, is: "absent" }], writes: [{ op: "put", key, value: context, record: { kind: "session", op: "save", subject: sessionId } }] };
  });
}
