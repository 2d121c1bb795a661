import * as z from "zod";
import { answerTextMax } from "../domain/answer-text.ts";
import { guard } from "../domain/leases/lease.ts";
import type { CommitWrite } from "../domain/state/state.ts";
import { commitState, deleteState, listState, readState, setState, waitForState } from "../domain/state/state.ts";
import type { StateEntry } from "../domain/state/state-entry.ts";
import type { CurrentEntry, VersionConflict } from "../domain/state/version-conflict.ts";
import { invalidInput } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";
import { limits } from "../store/limits.ts";
import { readTogether } from "../store/read-together.ts";
import { fitting, sizeOf } from "./answer-size.ts";
import { badCursor, cursor, fromCursor, listOf, toCursor } from "./cursor.ts";
import { json, key, label, pageLimit, prefix, revision, time, timeOrNull, token, toMs, toSeconds, toSecondsOrNull, toTtlMs, ttlSeconds, version, waitSeconds } from "./fields.ts";
import { defineTool } from "./tool.ts";

const leaseRef = z.strictObject({ resource_id: key, token });

/** An entry in its output form, without its key. */
const entryShape = { value: z.unknown(), version: z.int(), revision: z.int(), updated_at: time, updated_by: z.string(), expires_at: timeOrNull };
/** The values of all conflicts share the space of one response; `value_omitted` marks one that did not fit. */
const currentShape = { ...entryShape, value: z.unknown().optional(), value_omitted: z.literal(true).optional() };
const conflictShape = {
  reason: z.enum(["conflict", "not_found"]).optional(),
  expected_version: z.int().optional(),
  actual_version: z.int().optional(),
  current: z.strictObject(currentShape).nullable().optional(),
};

export const stateSet = defineTool({
  name: "state_set",
  title: "Set a key",
  description:
    "Write any JSON under a key; without ttl_seconds it never expires. expected_version: 0 = create only, N = only if N is current; else ok:false with the current entry, nothing written. lease: only while that token is current, else error lease_lost.",
  pointers: [{ to: ["state_commit"], text: "Several keys at once: state_commit." }],
  toolset: "state",
  effect: "write",
  input: z.strictObject({ key, value: json, ttl_seconds: ttlSeconds.optional(), expected_version: version.optional(), lease: leaseRef.optional(), agent_id: label.optional() }),
  output: z.strictObject({ ok: z.boolean(), key: z.string(), version: z.int().optional(), revision: z.int().optional(), expires_at: timeOrNull.optional(), ...conflictShape }),
  positional: ["key", "value"],
  async handle(context, args) {
    const result = await setState(context, {
      key: args.key,
      value: args.value,
      ttlMs: args.ttl_seconds === undefined ? undefined : toTtlMs(args.ttl_seconds),
      expectedVersion: args.expected_version,
      guard: args.lease && guard(args.lease.resource_id, args.lease.token),
    });
    if (!result.ok) return conflictAnswer(result);
    return { ok: true, key: result.key, version: result.version, revision: result.revision, expires_at: toSecondsOrNull(result.expiresAtMs) };
  },
});

export const stateGet = defineTool({
  name: "state_get",
  title: "Get a key",
  description:
    "Read one key and its author; found:false when there is none. version or revision: the past. wait_for_version_above waits up to wait_seconds (default 30) for a newer one.",
  pointers: [{ to: ["state_list"], text: "Many keys: state_list." }],
  toolset: "state",
  effect: "read",
  input: z.strictObject({
    key,
    version: z.int().min(1).optional(),
    revision: revision.optional(),
    wait_for_version_above: version.optional(),
    wait_seconds: waitSeconds.optional(),
  }),
  output: z.strictObject({
    key: z.string(),
    value: z.unknown(),
    found: z.boolean(),
    version: z.int(),
    revision: z.int().nullable(),
    updated_at: timeOrNull,
    updated_by: z.string().nullable(),
    expires_at: timeOrNull,
    agent_id: z.string().optional(),
  }),
  positional: ["key"],
  async handle(context, args) {
    const { key: name, version: pastVersion, revision: pastRevision, wait_for_version_above: versionAbove, wait_seconds: seconds } = args;
    if ([pastVersion, pastRevision, versionAbove].filter((given) => given !== undefined).length > 1)
      throw invalidInput("version", "give at most one of version, revision and wait_for_version_above");
    if (seconds !== undefined && versionAbove === undefined) throw invalidInput("wait_seconds", "allowed only with wait_for_version_above");
    const entry =
      versionAbove === undefined
        ? await readState(context, name, { version: pastVersion, revision: pastRevision })
        : (await waitForState(context, name, versionAbove, toMs(seconds ?? waitSecondsDefault))).entry;
    if (entry === undefined) return { key: name, value: null, found: false, version: 0, revision: null, updated_at: null, updated_by: null, expires_at: null };
    return { key: name, found: true, ...entryAnswer(entry), ...(entry.agent === undefined ? {} : { agent_id: entry.agent }) };
  },
});
const waitSecondsDefault = 30;

export const stateDelete = defineTool({
  name: "state_delete",
  title: "Delete a key",
  description: "Remove a key; history keeps its past. ok: whether a live key was removed.",
  pointers: [{ to: ["state_set"], text: "expected_version and lease: as in state_set." }],
  toolset: "state",
  effect: "destructive",
  input: z.strictObject({ key, expected_version: version.optional(), lease: leaseRef.optional(), agent_id: label.optional() }),
  output: z.strictObject({ ok: z.boolean(), key: z.string(), revision: z.int().optional(), ...conflictShape }),
  positional: ["key"],
  async handle(context, args) {
    const result = await deleteState(context, { key: args.key, expectedVersion: args.expected_version, guard: args.lease && guard(args.lease.resource_id, args.lease.token) });
    if (!result.ok) return conflictAnswer(result);
    return result.deleted ? { ok: true, key: args.key, revision: result.revision } : { ok: false, key: args.key, reason: "not_found" };
  },
});

const listLimit = { default: 100, max: 1_000 } as const;
/** Values are read in small pages, so that a thousand large ones cannot exhaust memory or the response. */
const valuesPage = 16;

export const stateList = defineTool({
  name: "state_list",
  title: "List keys",
  description: `List live keys in byte order, those beginning with prefix (no wildcards); values:true: entries (value, version) instead. limit: default ${listLimit.default}.`,
  toolset: "state",
  effect: "read",
  input: z.strictObject({ prefix: prefix.optional(), limit: pageLimit(listLimit.max).optional(), cursor: cursor.optional(), values: z.boolean().optional() }),
  output: z.strictObject({
    keys: z.array(z.string()).optional(),
    entries: z.array(z.strictObject({ key: z.string(), version: z.int(), updated_at: time, expires_at: timeOrNull, value: z.unknown().optional() })).optional(),
    cursor: z.string().nullable(),
  }),
  positional: ["prefix"],
  async handle(context, { prefix: begin = "", limit = listLimit.default, cursor: from, values: wanted }) {
    const values = wanted ?? false;
    const list = listOf("state", { prefix: begin });
    const start = from === undefined ? undefined : fromCursor(list, from);
    if (start !== undefined && !start.startsWith(begin)) throw badCursor();
    const { found, next } = await readTogether(context.store, async (store) => {
      const found: StateEntry[] = [];
      let after = start;
      let more = true;
      for (let bytesLeft: number = answerTextMax; more && found.length < limit && bytesLeft > 0; ) {
        const left = limit - found.length;
        const page = await listState({ store }, { prefix: begin, limit: values ? Math.min(left, valuesPage) : left, after, values, charactersMax: bytesLeft });
        const shown = values ? fitting(page.entries, ({ value }) => value, bytesLeft) : page.entries;
        found.push(...shown);
        after = shown.at(-1)?.key ?? after;
        more = page.more || shown.length < page.entries.length;
        if (shown.length < page.entries.length) break;
        if (values) for (const { value } of shown) bytesLeft -= sizeOf(value);
      }
      return { found, next: more ? after : undefined };
    });
    const nextCursor = next === undefined ? null : toCursor(list, next);
    if (wanted === undefined) return { keys: found.map((entry) => entry.key), cursor: nextCursor };
    return {
      entries: found.map((entry) => ({
        key: entry.key,
        version: entry.version,
        updated_at: toSeconds(entry.updatedAtMs),
        expires_at: toSecondsOrNull(entry.expiresAtMs),
        ...(values ? { value: entry.value } : {}),
      })),
      cursor: nextCursor,
    };
  },
});

const commitWrite = z.strictObject({ key, value: json.optional(), ttl_seconds: ttlSeconds.optional(), delete: z.boolean().optional() });

export const stateCommit = defineTool({
  name: "state_commit",
  title: "Commit several writes",
  description:
    "Write and delete several keys at one revision, all or nothing. Each of writes has a value or delete:true. expected: versions that must be current (0 = absent), also of keys only read; else ok:false with the conflicts. leases: all must be current.",
  toolset: "state",
  effect: "destructive",
  input: z.strictObject({
    writes: z.array(commitWrite).min(1).max(limits.commitWritesMax),
    expected: z.array(z.strictObject({ key, version })).max(limits.commitWritesMax).optional(),
    leases: z.array(leaseRef).max(16).optional(),
    agent_id: label.optional(),
  }),
  output: z.strictObject({
    ok: z.boolean(),
    revision: z.int().optional(),
    results: z.array(z.strictObject({ key: z.string(), version: z.int(), deleted: z.boolean().optional(), expires_at: timeOrNull })).optional(),
    reason: z.literal("conflict").optional(),
    conflicts: z.array(z.strictObject({ key: z.string(), expected_version: z.int(), actual_version: z.int(), current: z.strictObject(currentShape).nullable() })).optional(),
  }),
  positional: [],
  async handle(context, { writes, expected = [], leases = [] }) {
    const result = await commitState(context, {
      writes: writes.map(toCommitWrite),
      expected,
      guards: leases.map((lease) => guard(lease.resource_id, lease.token)),
    });
    if (!result.ok) return { ok: false, reason: "conflict", conflicts: result.conflicts.map((conflict) => ({ key: conflict.key, ...conflictFacts(conflict) })) };
    return {
      ok: true,
      revision: result.revision,
      results: result.results.map((outcome, i) => ({
        key: outcome.key,
        version: outcome.version,
        ...(writes[i]?.delete ? { deleted: outcome.existed } : {}),
        expires_at: toSecondsOrNull(outcome.expiresAtMs),
      })),
    };
  },
});

function toCommitWrite(write: z.output<typeof commitWrite>, i: number): CommitWrite {
  // Clients with strict schemas send null for omitted arguments; together with delete:true it can mean nothing else.
  const hasValue = write.value !== undefined && !(write.delete === true && write.value === null);
  if ((write.delete ?? false) === hasValue) throw invalidInput(`writes[${i}]`, "must have either a value or delete:true");
  if (write.delete) {
    if (write.ttl_seconds !== undefined) throw invalidInput(`writes[${i}].ttl_seconds`, "allowed only with a value");
    return { op: "delete", key: write.key };
  }
  return { op: "set", key: write.key, value: write.value as Json, ttlMs: write.ttl_seconds === undefined ? undefined : toTtlMs(write.ttl_seconds) };
}

const entryAnswer = (entry: StateEntry) => ({ value: entry.value, ...entryFacts(entry) });

const entryFacts = (entry: Omit<StateEntry, "value">) => ({
  version: entry.version,
  revision: entry.revision,
  updated_at: toSeconds(entry.updatedAtMs),
  updated_by: entry.updatedBy,
  expires_at: toSecondsOrNull(entry.expiresAtMs),
});

const currentAnswer = ({ value, ...entry }: CurrentEntry) => ({ ...(value === undefined ? { value_omitted: true as const } : { value }), ...entryFacts(entry) });

const conflictFacts = (conflict: VersionConflict) => ({
  expected_version: conflict.expectedVersion,
  actual_version: conflict.actualVersion,
  current: conflict.current === undefined ? null : currentAnswer(conflict.current),
});

const conflictAnswer = (conflict: VersionConflict) => ({ ok: false, reason: "conflict" as const, key: conflict.key, ...conflictFacts(conflict) });

export const stateTools = [stateSet, stateGet, stateDelete, stateList, stateCommit];
