import * as z from "zod";
import type { SetResult } from "../domain/state/state.ts";
import { deleteState, listState, readState, setState } from "../domain/state/state.ts";
import { invalidInput, isHoldfastError } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";
import { readTogether } from "../store/read-together.ts";
import { badCursor, cursor, fromCursor, listOf, toCursor } from "./cursor.ts";
import { key, pageLimit, time, toSeconds } from "./fields.ts";
import { likePattern } from "./like-pattern.ts";
import type { ToolContext } from "./tool.ts";
import { defineTool } from "./tool.ts";

/** These tools share keys, versions and history with the state_ tools. Values are JSON text in both directions. */

const changedAt = z.union([time, z.string()]);

/** Unix seconds, as in all tools, or AgentCheckpoint's text format (`YYYY-MM-DD HH:MM:SS` in UTC) in its own profile. */
const changedAtOf = ({ server }: ToolContext, ms: number): number | string =>
  server.profile === "agentcheckpoint" ? new Date(ms).toISOString().slice(0, 19).replace("T", " ") : toSeconds(ms);

export const getState = defineTool({
  name: "get_state",
  title: "Get a key (JSON text)",
  description: "Read a key's value as JSON text with its version; status not_found when there is none.",
  pointers: [{ to: ["state_get"], text: "As plain JSON: state_get." }],
  toolset: "agentcheckpoint",
  effect: "read",
  input: z.strictObject({ key }),
  output: z.strictObject({ status: z.enum(["ok", "not_found"]), key: z.string(), value: z.string().optional(), version: z.int().optional(), updated_at: changedAt.optional() }),
  positional: ["key"],
  cli: { command: ["agentcheckpoint", "get"] },
  async handle(context, args) {
    const entry = await readState(context, args.key);
    if (entry === undefined) return { status: "not_found", key: args.key };
    return { status: "ok", key: args.key, value: JSON.stringify(entry.value), version: entry.version, updated_at: changedAtOf(context, entry.updatedAtMs) };
  },
});

const writeOutput = z.strictObject({
  status: z.enum(["ok", "conflict", "not_found", "error"]),
  key: z.string().optional(),
  version: z.int().optional(),
  expected_version: z.int().optional(),
  actual_version: z.int().optional(),
  message: z.string().optional(),
});

export const setStateText = defineTool({
  name: "set_state",
  title: "Set a key (JSON text)",
  description:
    "Write JSON text under a key. expected_version: -1 (default) = unconditional, 0 = create only, N = only if N is current. status: ok and the new version, or conflict, not_found or error (not JSON).",
  toolset: "agentcheckpoint",
  effect: "write",
  input: z.strictObject({ key, value: z.string(), expected_version: z.int().min(-1).optional() }),
  output: writeOutput,
  positional: ["key", "value"],
  cli: { command: ["agentcheckpoint", "set"] },
  handle: (context, args) => writeText(context, args.key, args.value, args.expected_version ?? -1),
});

export const forceSetState = defineTool({
  name: "force_set_state",
  title: "Overwrite a key (JSON text)",
  description: "Write JSON text under a key unconditionally; returns the new version.",
  pointers: [{ to: ["set_state"], text: "If others write too: set_state." }],
  toolset: "agentcheckpoint",
  effect: "write",
  input: z.strictObject({ key, value: z.string() }),
  output: writeOutput,
  positional: ["key", "value"],
  cli: { command: ["agentcheckpoint", "force-set"] },
  handle: (context, args) => writeText(context, args.key, args.value, -1),
});

async function writeText(context: ToolContext, name: string, text: string, expectedVersion: number): Promise<z.output<typeof writeOutput>> {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    return { status: "error", message: "value: must be JSON text; a plain string needs its quotes" };
  }
  let result: SetResult;
  try {
    result = await setState(context, { key: name, value, expectedVersion: expectedVersion < 0 ? undefined : expectedVersion });
  } catch (error) {
    // JSON text can contain numbers that no JSON value can hold: 1e400, or integers that would lose digits.
    if (isHoldfastError(error, "invalid_input") && error.details?.field === "value") return { status: "error", message: error.message };
    throw error;
  }
  if (result.ok) return { status: "ok", key: name, version: result.version };
  const versions = { expected_version: result.expectedVersion, actual_version: result.actualVersion };
  if (result.actualVersion === 0)
    return { status: "not_found", key: name, ...versions, message: `The key does not exist, so version ${expectedVersion} cannot be current; nothing was written.` };
  const message =
    expectedVersion === 0
      ? `The key exists already, at version ${result.actualVersion}; nothing was written.`
      : `Expected version ${expectedVersion}, but the current one is ${result.actualVersion}; nothing was written.`;
  return { status: "conflict", key: name, ...versions, message };
}

/** The maximum number of keys in one response, and of pages scanned for it. */
const listLimits = { keysMax: 1_000, scanPages: 10 } as const;

export const listStateText = defineTool({
  name: "list_state",
  title: "List keys by pattern",
  description: `List live keys that match a SQL LIKE pattern (default %): % any run, _ one character, \\ escapes; case-sensitive.`,
  pointers: [{ to: ["state_list"], text: "Plain prefixes: state_list." }],
  toolset: "agentcheckpoint",
  effect: "read",
  input: z.strictObject({ pattern: z.string().optional(), limit: pageLimit(listLimits.keysMax).optional(), cursor: cursor.optional() }),
  output: z.strictObject({ status: z.literal("ok"), keys: z.array(z.strictObject({ key: z.string(), version: z.int(), updated_at: changedAt })), cursor: z.string().nullable() }),
  positional: ["pattern"],
  keepsEmpty: ["pattern"],
  cli: { command: ["agentcheckpoint", "list"] },
  async handle(context, { pattern = "%", limit = listLimits.keysMax, cursor: from }) {
    const like = likePattern(pattern);
    const prefix = like.literalPrefix;
    // No key contains these characters, so nothing could match; engines handle them differently.
    if (!prefix.isWellFormed() || prefix.includes("\0")) throw invalidInput("pattern", "must be well-formed text without NUL");
    const list = listOf("like", { pattern });
    const start = from === undefined ? undefined : fromCursor(list, from);
    if (start !== undefined && !start.startsWith(prefix)) throw badCursor();
    const { keys, next } = await readTogether(context.store, async (store) => {
      const keys: { key: string; version: number; updated_at: number | string }[] = [];
      let after = start;
      let more = true;
      for (let page = 0; more && keys.length < limit && page < listLimits.scanPages; page += 1) {
        const found = await listState({ store }, { prefix, limit: listLimits.keysMax, after, values: false });
        more = found.more;
        for (const [i, entry] of found.entries.entries()) {
          after = entry.key;
          if (!like.matches(entry.key)) continue;
          keys.push({ key: entry.key, version: entry.version, updated_at: changedAtOf(context, entry.updatedAtMs) });
          if (keys.length === limit) {
            more ||= i < found.entries.length - 1;
            break;
          }
        }
      }
      return { keys, next: more ? after : undefined };
    });
    return { status: "ok", keys, cursor: next === undefined ? null : toCursor(list, next) };
  },
});

export const deleteStateText = defineTool({
  name: "delete_state",
  title: "Delete a key (status result)",
  description: "Remove a key; deleted: something was there.",
  pointers: [{ to: ["state_delete"], text: "With a version check: state_delete." }],
  toolset: "agentcheckpoint",
  effect: "destructive",
  input: z.strictObject({ key }),
  output: z.strictObject({ status: z.literal("ok"), key: z.string(), deleted: z.boolean() }),
  positional: ["key"],
  cli: { command: ["agentcheckpoint", "delete"] },
  async handle(context, args) {
    const result = await deleteState(context, { key: args.key });
    return { status: "ok", key: args.key, deleted: result.ok && result.deleted };
  },
});

export const agentcheckpointTools = [getState, setStateText, forceSetState, listStateText, deleteStateText];
