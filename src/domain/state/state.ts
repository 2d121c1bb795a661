import { invalidInput } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import { requireKey } from "../../store/prepare-commit.ts";
import { keyRange, rangeAfter } from "../../store/ranges.ts";
import { readVersion } from "../../store/read-version.ts";
import type { Check, FailedCheck, Revision, Write, WriteOutcome } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { transact } from "../../store/transact.ts";
import { waitForChange } from "../../store/wait-for-change.ts";
import { nameBlobs, throwIfBlobAbsent } from "../blobs/name-blobs.ts";
import { stateKeys } from "../keyspace.ts";
import { leaseLost } from "../lease-lost.ts";
import type { StateEntry } from "./state-entry.ts";
import { toStateEntry } from "./state-entry.ts";
import type { VersionConflict } from "./version-conflict.ts";
import { readConflicts } from "./version-conflict.ts";

/** A lease that must be live, with this token current, for a write to succeed; see `guard` in leases. */
export interface LeaseGuard {
  readonly resource: string;
  readonly token: number;
  readonly checks: readonly Check[];
}

export interface SetInput {
  readonly key: string;
  readonly value: Json;
  readonly ttlMs?: number;
  /** Absent: unconditional; 0: create only; N: compare and set. */
  readonly expectedVersion?: number;
  readonly guard?: LeaseGuard;
  /** Hashes of the blobs that the entry names. They are kept for as long as this version of the entry is there. */
  readonly blobs?: readonly string[];
}
export type SetResult = { readonly ok: true; readonly key: string; readonly version: number; readonly revision: Revision; readonly expiresAtMs?: number } | VersionConflict;

export function setState(scope: Scope, input: SetInput): Promise<SetResult> {
  requireKey(input.key);
  const { key, value, ttlMs, expectedVersion, guard, blobs } = input;
  const names = nameBlobs([{ owner: stateKeys.key(key), blobs }]);
  return transact<{ key: string }, SetResult>(scope, {
    decide: () => ({
      checks: [...checksOf(key, expectedVersion, guard), ...names.checks],
      writes: [
        {
          op: "put",
          key: stateKeys.key(key),
          value,
          ttlMs,
          record: { kind: "state", op: "set", subject: key },
          lapse: ttlMs === undefined ? undefined : { kind: "state", op: "expire", subject: key },
        },
        ...names.writes,
      ],
      note: { key },
    }),
    finish: (note, committed) => ({
      ok: true,
      key: note.key,
      version: committed.writes[0]?.version ?? 0,
      revision: committed.revision,
      expiresAtMs: committed.writes[0]?.expiresAtMs,
    }),
    refused: (failed, at) => conflictOf(scope, failed, at, guard),
  });
}

export interface DeleteInput {
  readonly key: string;
  readonly expectedVersion?: number;
  readonly guard?: LeaseGuard;
}
/** `deleted`: true if a live key was removed. */
export type DeleteResult = { readonly ok: true; readonly deleted: boolean; readonly revision: Revision } | VersionConflict;

export function deleteState(scope: Scope, { key, expectedVersion, guard }: DeleteInput): Promise<DeleteResult> {
  requireKey(key);
  return transact<null, DeleteResult>(scope, {
    decide: () => ({
      checks: checksOf(key, expectedVersion, guard),
      writes: [{ op: "delete", key: stateKeys.key(key), record: { kind: "state", op: "delete", subject: key } }],
      note: null,
    }),
    finish: (_, committed) => ({ ok: true, deleted: committed.writes[0]?.existed ?? false, revision: committed.revision }),
    refused: (failed, at) => conflictOf(scope, failed, at, guard),
  });
}

/** The live entry or, with `version` or `revision`, a past one. */
export async function readState(scope: Scope, key: string, past: { readonly version?: number; readonly revision?: Revision } = {}): Promise<StateEntry | undefined> {
  requireKey(key);
  if (past.version !== undefined) {
    const row = await readVersion(scope.store, stateKeys.key(key), past.version);
    return row && toStateEntry({ ...row, updatedAtMs: row.atMs });
  }
  const { entries } = await scope.store.read(keyRange(stateKeys.key(key)), { at: past.revision });
  return entries[0] && toStateEntry(entries[0]);
}

export interface WaitedState {
  readonly entry?: StateEntry;
  /** What was waited for has happened; false: the time was up, or somebody ended the wait. */
  readonly hasHappened: boolean;
}

/**
 * Waits until the key has a version above the given one or is gone, by deletion or expiry, after it was seen; or the time is up. Then reads it.
 * `wasThere`: it was seen before the call, by the part of the same wait that came before.
 */
export async function waitForState(scope: Scope, key: string, versionAbove: number, timeoutMs: number, wasThere = false): Promise<WaitedState> {
  requireKey(key);
  const range = keyRange(stateKeys.key(key));
  const until = scope.clock.nowMs() + timeoutMs;
  // A function of its own: what it read and did not want is forgotten before the wait, and a thousand waiters for a large value hold none of it.
  let isKnown = wasThere;
  const look = async (): Promise<WaitedState | { readonly seen: Revision; readonly leftMs: number }> => {
    const { entries, revision, nowMs } = await scope.store.read(range);
    const entry = entries[0];
    const leftMs = until - scope.clock.nowMs();
    const hasHappened = entry === undefined ? isKnown : entry.version > versionAbove;
    isKnown = entry !== undefined;
    if (hasHappened || leftMs <= 0 || scope.signal?.aborted) return { entry: entry && toStateEntry(entry), hasHappened };
    // Nothing is written at the moment a key expires.
    return { seen: revision, leftMs: entry?.expiresAtMs === undefined ? leftMs : Math.min(leftMs, Math.max(1, entry.expiresAtMs - nowMs)) };
  };
  for (;;) {
    const looked = await look();
    if (!("seen" in looked)) return looked;
    await waitForChange(scope.store, scope.clock, range, looked.seen, looked.leftMs, scope.signal);
  }
}

export interface ListInput {
  readonly prefix: string;
  readonly limit: number;
  /** The last key of the previous page. */
  readonly after?: string;
  readonly values: boolean;
  /** Values in the page add up to at most about this many characters, but there is always at least one value. */
  readonly charactersMax?: number;
}

export async function listState(
  { store }: Pick<Scope, "store">,
  { prefix, limit, after, values, charactersMax }: ListInput,
): Promise<{ readonly entries: readonly StateEntry[]; readonly more: boolean; readonly revision: Revision }> {
  const range = stateKeys.prefix(prefix);
  const snapshot = await store.read(after === undefined ? range : rangeAfter(range, stateKeys.key(after)), { limit, values, charactersMax });
  return { entries: snapshot.entries.map(toStateEntry), more: snapshot.more || snapshot.rest !== undefined, revision: snapshot.revision };
}

export type CommitWrite =
  /** `blobs`: see `SetInput`. */
  { readonly op: "set"; readonly key: string; readonly value: Json; readonly ttlMs?: number; readonly blobs?: readonly string[] } | { readonly op: "delete"; readonly key: string };
export interface CommitInput {
  readonly writes: readonly CommitWrite[];
  /** Version 0 means that the key must not exist. */
  readonly expected: readonly { readonly key: string; readonly version: number }[];
  readonly guards: readonly LeaseGuard[];
}
export type CommitStateResult =
  | {
      readonly ok: true;
      readonly revision: Revision;
      readonly results: readonly { readonly key: string; readonly version: number; readonly existed: boolean; readonly expiresAtMs?: number }[];
    }
  | { readonly ok: false; readonly conflicts: readonly VersionConflict[] };

/** Applies all writes and deletes at one revision, or none of them. */
export async function commitState(scope: Scope, input: CommitInput): Promise<CommitStateResult> {
  for (const { key } of [...input.writes, ...input.expected]) requireKey(key);
  const written = new Set<string>();
  for (const { op, key } of input.writes) {
    if (op !== "set" && op !== "delete") throw invalidInput("op", "must be set or delete");
    if (written.has(key)) throw invalidInput("key", `each key may be written once; ${JSON.stringify(key)} appears twice`);
    written.add(key);
  }
  const names = nameBlobs(input.writes.map((write) => ({ owner: stateKeys.key(write.key), blobs: write.op === "set" ? write.blobs : undefined })));
  const checks = [...input.expected.map(({ key, version }) => ({ key: stateKeys.key(key), version })), ...input.guards.flatMap((guard) => guard.checks), ...names.checks];
  return transact<{ keys: string[] }, CommitStateResult>(scope, {
    decide: () => ({
      checks,
      writes: [
        ...input.writes.map(
          (write): Write =>
            write.op === "delete"
              ? { op: "delete", key: stateKeys.key(write.key), record: { kind: "state", op: "delete", subject: write.key } }
              : {
                  op: "put",
                  key: stateKeys.key(write.key),
                  value: write.value,
                  ttlMs: write.ttlMs,
                  record: { kind: "state", op: "set", subject: write.key },
                  lapse: write.ttlMs === undefined ? undefined : { kind: "state", op: "expire", subject: write.key },
                },
        ),
        ...names.writes,
      ],
      note: { keys: input.writes.map((write) => write.key) },
    }),
    finish: (note, committed) => ({ ok: true, revision: committed.revision, results: note.keys.map((key, i) => ({ key, ...(committed.writes[i] as WriteOutcome) })) }),
    refused: async (failed, at) => {
      for (const guard of input.guards) throwIfGuardFailed(guard, failed);
      throwIfBlobAbsent(failed);
      return { ok: false, conflicts: await readConflicts(scope.store, failed, at) };
    },
  });
}

function checksOf(key: string, expectedVersion: number | undefined, guard: LeaseGuard | undefined): Check[] {
  const own: Check[] = expectedVersion === undefined ? [] : [{ key: stateKeys.key(key), version: expectedVersion }];
  return guard === undefined ? own : [...own, ...guard.checks];
}

/** A lost lease takes precedence over a version conflict, because its holder must stop instead of retrying. */
async function conflictOf({ store }: Scope, failed: readonly FailedCheck[], at: Revision, guard: LeaseGuard | undefined): Promise<VersionConflict | undefined> {
  if (guard !== undefined) throwIfGuardFailed(guard, failed);
  throwIfBlobAbsent(failed);
  return (await readConflicts(store, failed, at))[0];
}

function throwIfGuardFailed(guard: LeaseGuard, failed: readonly FailedCheck[]): void {
  if (!failed.some(({ check }) => guard.checks.includes(check))) return;
  throw leaseLost(guard);
}
