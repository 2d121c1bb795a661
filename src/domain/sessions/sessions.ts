import { invalidInput } from "../../kernel/errors.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { requireKey } from "../../store/prepare-commit.ts";
import { keyRange } from "../../store/ranges.ts";
import { readVersion } from "../../store/read-version.ts";
import type { Scope } from "../../store/transact.ts";
import { transact } from "../../store/transact.ts";
import { sessionKeys } from "../keyspace.ts";
import { anyObject, storedAs } from "../stored-record.ts";

export interface SavedSession {
  readonly sessionId: string;
  readonly context: JsonObject;
  readonly version: number;
  /** When the session was first saved; `updatedAtMs` is the last save. */
  readonly savedAtMs: number;
  readonly updatedAtMs: number;
  readonly expiresAtMs?: number;
}

export interface SaveInput {
  readonly sessionId: string;
  readonly context: JsonObject;
  readonly ttlMs?: number;
  readonly expectedVersion?: number;
}
export type SaveResult =
  | { readonly ok: true; readonly sessionId: string; readonly version: number; readonly expiresAtMs?: number }
  | { readonly ok: false; readonly sessionId: string; readonly expectedVersion: number; readonly actualVersion: number };

export async function saveSession(scope: Scope, { sessionId, context, ttlMs, expectedVersion }: SaveInput): Promise<SaveResult> {
  requireKey(sessionId, "session_id");
  if (typeof context !== "object" || context === null || Array.isArray(context)) throw invalidInput("context", "must be a JSON object");
  const key = sessionKeys.key(sessionId);
  return transact<{ sessionId: string }, SaveResult>(scope, {
    decide: () => ({
      checks: expectedVersion === undefined ? [] : [{ key, version: expectedVersion }],
      writes: [
        {
          op: "put",
          key,
          value: context,
          ttlMs,
          record: { kind: "session", op: "save", subject: sessionId },
          lapse: ttlMs === undefined ? undefined : { kind: "session", op: "expire", subject: sessionId },
        },
      ],
      note: { sessionId },
    }),
    finish: (note, committed) => ({ ok: true, sessionId: note.sessionId, version: committed.writes[0]?.version ?? 0, expiresAtMs: committed.writes[0]?.expiresAtMs }),
    refused: (failed) => ({ ok: false, sessionId, expectedVersion: expectedVersion ?? 0, actualVersion: failed[0]?.entry?.version ?? 0 }),
  });
}

const toContext = storedAs(anyObject);

export async function readSession({ store }: Scope, sessionId: string, version?: number): Promise<SavedSession | undefined> {
  requireKey(sessionId, "session_id");
  const key = sessionKeys.key(sessionId);
  const entry = (await store.read(keyRange(key))).entries[0];
  if (entry !== undefined && (version === undefined || version === entry.version))
    return { sessionId, context: toContext(entry), version: entry.version, savedAtMs: entry.createdAtMs, updatedAtMs: entry.updatedAtMs, expiresAtMs: entry.expiresAtMs };
  if (version === undefined) return undefined;
  const row = await readVersion(store, key, version);
  return row && { sessionId, context: toContext(row), version, savedAtMs: row.atMs, updatedAtMs: row.atMs, expiresAtMs: row.expiresAtMs };
}
