import type { HistoryPage, HistoryQuery } from "../../domain/history/history.ts";
import type { AcquireResult, HeldLease, RenewResult } from "../../domain/leases/leases.ts";
import type { SavedSession, SaveResult } from "../../domain/sessions/sessions.ts";
import type { CommitStateResult, CommitWrite, DeleteResult, SetResult } from "../../domain/state/state.ts";
import type { StateEntry } from "../../domain/state/state-entry.ts";
import type { StateChange, WatchInput } from "../../domain/state/watch-state.ts";
import type { ClaimResult } from "../../domain/workflows/claims.ts";
import type { FoundRuns, ResumedRun } from "../../domain/workflows/find-runs.ts";
import type { Ending, RunStatus } from "../../domain/workflows/workflow.ts";
import type { CheckpointResult, CreateInput, CreateResult, FinishResult, RunView } from "../../domain/workflows/workflows.ts";
import type { Json, JsonObject } from "../../kernel/json.ts";
import type { EngineHealth, Revision } from "../../store/store.ts";
import type { Blobs } from "./blobs.ts";
import type { WriteOptions } from "./call-options.ts";
import type { Effects } from "./effects.ts";
import type { Journal, Knowledge, Research, ResumeOptions, ResumeText } from "./memory.ts";

/** A lease that a write requires: it must be live, and the token must be current. */
export interface LeaseRef {
  readonly resource: string;
  readonly token: number;
}

export interface SetOptions extends WriteOptions {
  readonly ttlMs?: number;
  /** Absent: write unconditionally. 0: create only. N: write only if the version is N. */
  readonly expectedVersion?: number;
  readonly lease?: LeaseRef;
  /** Hashes of blobs that the entry names: they are kept until the entry is overwritten, deleted or expired. The write fails if one of them is absent. */
  readonly blobs?: readonly string[];
}

export interface State {
  set(key: string, value: Json, options?: SetOptions): Promise<SetResult>;
  /** Returns the live entry, or a past one by `version` or `revision`; undefined if there is none. */
  get(key: string, past?: { readonly version?: number; readonly revision?: Revision }): Promise<StateEntry | undefined>;
  /** Waits until the key's version exceeds `versionAbove` or the timeout expires, then reads the key. */
  waitFor(
    key: string,
    options: {
      readonly versionAbove: number;
      readonly timeoutMs: number;
      /** Set it if the key existed when last read: the wait then also ends when the key is gone. */
      readonly wasThere?: boolean;
      readonly signal?: AbortSignal;
    },
  ): Promise<StateEntry | undefined>;
  delete(key: string, options?: Omit<SetOptions, "ttlMs" | "blobs">): Promise<DeleteResult>;
  /** Lists live entries in byte order of their keys. Pass the last key as `after` for the next page. */
  list(options?: { readonly prefix?: string; readonly limit?: number; readonly after?: string; readonly values?: boolean }): Promise<{
    readonly entries: readonly StateEntry[];
    readonly more: boolean;
    readonly revision: Revision;
  }>;
  /** Applies several writes and deletes at one revision, or none of them. */
  commit(
    input: { readonly writes: readonly CommitWrite[]; readonly expected?: readonly { readonly key: string; readonly version: number }[]; readonly leases?: readonly LeaseRef[] },
    options?: WriteOptions,
  ): Promise<CommitStateResult>;
  /** Yields every change in order, exactly once, until the signal aborts or the caller leaves the loop. */
  watch(what: WatchInput, signal?: AbortSignal): AsyncIterable<StateChange>;
}

export interface Leases {
  acquire(resource: string, options: WriteOptions & { readonly ttlMs: number; readonly waitMs?: number }): Promise<AcquireResult>;
  renew(resource: string, options: WriteOptions & { readonly ttlMs: number; readonly token?: number }): Promise<RenewResult>;
  release(resource: string, options?: WriteOptions & { readonly token?: number }): Promise<{ readonly released: boolean }>;
  list(options?: { readonly limit?: number; readonly after?: string }): Promise<{ readonly leases: readonly HeldLease[]; readonly more: boolean }>;
}

export type Tags = Readonly<Record<string, string>>;

export interface Workflows {
  create(input: CreateInput, options?: WriteOptions): Promise<CreateResult>;
  find(query?: { readonly tags?: Tags; readonly status?: RunStatus; readonly claimable?: boolean; readonly limit?: number; readonly after?: string }): Promise<FoundRuns>;
  get(runId: string): Promise<RunView>;
  /** Claims a run by its id, or the next claimable run with the tags. */
  claim(what: { readonly runId: string } | { readonly tags?: Tags }, options?: WriteOptions & { readonly ttlMs?: number }): Promise<ClaimResult>;
  /** Extends the claim without recording a step; use it as a heartbeat. */
  renew(runId: string, options?: WriteOptions & { readonly ttlMs?: number; readonly token?: number }): Promise<RenewResult>;
  /** Releases the claim. The run becomes claimable as the next one at once, or after `claimableAfterMs`; by its id, at any time. */
  giveBack(runId: string, options?: WriteOptions & { readonly token?: number; readonly claimableAfterMs?: number }): Promise<{ readonly released: boolean }>;
  /** Makes a run that was given back for later claimable now. `woken` is false if the run is claimed, has ended or was already claimable. */
  wake(runId: string, options?: WriteOptions): Promise<{ readonly woken: boolean }>;
  checkpoint(runId: string, step: number, output: Json, options?: WriteOptions & { readonly token?: number }): Promise<CheckpointResult>;
  resume(runId: string, options?: { readonly stepsAfter?: number; readonly limit?: number }): Promise<ResumedRun>;
  finish(runId: string, ending: Ending, options?: WriteOptions & { readonly token?: number }): Promise<FinishResult>;
}

export interface Sessions {
  save(sessionId: string, context: JsonObject, options?: WriteOptions & { readonly ttlMs?: number; readonly expectedVersion?: number }): Promise<SaveResult>;
  restore(sessionId: string, options?: { readonly version?: number }): Promise<SavedSession | undefined>;
}

/**
 * The operations of the tools as typed methods, on a store opened by this process (`openHoldfast`) or by a server (`connectHoldfast`).
 * Expected refusals are returned as values; every other failure throws HoldfastError.
 */
export interface Holdfast extends AsyncDisposable {
  readonly namespace: string;
  readonly state: State;
  readonly blobs: Blobs;
  readonly leases: Leases;
  readonly workflows: Workflows;
  readonly effects: Effects;
  readonly sessions: Sessions;
  readonly journal: Journal;
  readonly research: Research;
  readonly knowledge: Knowledge;
  /** Returns the context that an agent needs to continue after a crash or a hand-over, as one text within a token budget. */
  resume(options?: ResumeOptions): Promise<ResumeText>;
  /** Lists changes and their authors, newest first. */
  history(query?: Partial<HistoryQuery>): Promise<HistoryPage>;
  health(): Promise<EngineHealth>;
  close(): Promise<void>;
}
