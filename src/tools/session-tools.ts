import * as z from "zod";
import { readSession, saveSession } from "../domain/sessions/sessions.ts";
import { jsonObject, key, timeOrNull, toSeconds, toSecondsOrNull, toTtlMs, ttlSeconds, version } from "./fields.ts";
import { defineTool } from "./tool.ts";

export const sessionSave = defineTool({
  name: "session_save",
  title: "Save a session",
  description: "Save a session's whole context under its id; older versions stay readable. expected_version: 0 = first save only, N = only if N is current, else ok:false.",
  toolset: "session",
  effect: "write",
  input: z.strictObject({ session_id: key, context: jsonObject, ttl_seconds: ttlSeconds.optional(), expected_version: version.optional() }),
  output: z.strictObject({
    ok: z.boolean(),
    session_id: z.string(),
    version: z.int().optional(),
    expires_at: timeOrNull.optional(),
    reason: z.literal("conflict").optional(),
    expected_version: z.int().optional(),
    actual_version: z.int().optional(),
  }),
  positional: ["session_id", "context"],
  async handle(context, args) {
    const result = await saveSession(context, {
      sessionId: args.session_id,
      context: args.context,
      ttlMs: args.ttl_seconds === undefined ? undefined : toTtlMs(args.ttl_seconds),
      expectedVersion: args.expected_version,
    });
    if (!result.ok) return { ok: false, reason: "conflict", session_id: result.sessionId, expected_version: result.expectedVersion, actual_version: result.actualVersion };
    return { ok: true, session_id: result.sessionId, version: result.version, expires_at: toSecondsOrNull(result.expiresAtMs) };
  },
});

export const sessionRestore = defineTool({
  name: "session_restore",
  title: "Restore a session",
  description: "Read the context saved for an id, the newest version by default; found:false when there is none.",
  toolset: "session",
  effect: "read",
  input: z.strictObject({ session_id: key, version: z.int().min(1).optional() }),
  output: z.strictObject({ found: z.boolean(), session_id: z.string(), context: z.unknown(), version: z.int(), saved_at: timeOrNull, updated_at: timeOrNull }),
  positional: ["session_id"],
  async handle(context, args) {
    const session = await readSession(context, args.session_id, args.version);
    if (session === undefined) return { found: false, session_id: args.session_id, context: null, version: 0, saved_at: null, updated_at: null };
    return {
      found: true,
      session_id: session.sessionId,
      context: session.context,
      version: session.version,
      saved_at: toSeconds(session.savedAtMs),
      updated_at: toSeconds(session.updatedAtMs),
    };
  },
});

export const sessionTools = [sessionSave, sessionRestore];
