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
import type { WriteOptions } from "./call-options.ts";
import type { Journal, Knowledge, Research, ResumeOptions, ResumeText } from "./memory.ts";

/** A lease that must be live, with its current token, for a write to land. */
export interface LeaseRef {
  readonly resource: string;
  readonly token: number;
}

export interface SetOptions extends WriteOptions {
  readonly ttlMs?: number;
  /** Absent: unconditional; 0: create only; N: compare and set. */
  readonly expectedVersion?: number;
  readonly lease?: LeaseRef;
}

export interface State {
  set(key: string, value: Json, options?: SetOptions): Promise<SetResult>;
  /** The live entry, or one of the past by `version` or `revision`; undefined when there is none. */
  get(key: string, past?: { readonly version?: number; readonly revision?: Revision }): Promise<StateEntry | undefined>;
  /** Waits until the key has a version above the given one or the time is up, then reads it. */
  waitFor(key: string, options: { readonly versionAbove: number; readonly timeoutMs: number; readonly signal?: AbortSignal }): Promise<StateEntry | undefined>;
  delete(key: string, options?: Omit<SetOptions, "ttlMs">): Promise<DeleteResult>;
  /** Live entries in byte order of their keys; give the last key as `after` for the next page. */
  list(options?: { readonly prefix?: string; readonly limit?: number; readonly after?: string; readonly values?: boolean }): Promise<{
    readonly entries: readonly StateEntry[];
    readonly more: boolean;
    readonly revision: Revision;
  }>;
  /** Several writes and deletes at one revision, or none. */
  commit(
    input: { readonly writes: readonly CommitWrite[]; readonly expected?: readonly { readonly key: string; readonly version: number }[]; readonly leases?: readonly LeaseRef[] },
    options?: WriteOptions,
  ): Promise<CommitStateResult>;
  /** Every change in order, none skipped, none twice, until the signal aborts or the loop is left. */
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
  /** A run by its id, or the next claimable one carrying the tags. */
  claim(what: { readonly runId: string } | { readonly tags?: Tags }, options?: WriteOptions & { readonly ttlMs?: number }): Promise<ClaimResult>;
  /** Extends the claim without a step: the heartbeat. */
  renew(runId: string, options?: WriteOptions & { readonly ttlMs?: number; readonly token?: number }): Promise<RenewResult>;
  giveBack(runId: string, options?: WriteOptions & { readonly token?: number }): Promise<{ readonly released: boolean }>;
  checkpoint(runId: string, step: number, output: Json, options?: WriteOptions & { readonly token?: number }): Promise<CheckpointResult>;
  resume(runId: string, options?: { readonly stepsAfter?: number; readonly limit?: number }): Promise<ResumedRun>;
  finish(runId: string, ending: Ending, options?: WriteOptions & { readonly token?: number }): Promise<FinishResult>;
}

export interface Sessions {
  save(sessionId: string, context: JsonObject, options?: WriteOptions & { readonly ttlMs?: number; readonly expectedVersion?: number }): Promise<SaveResult>;
  restore(sessionId: string, options?: { readonly version?: number }): Promise<SavedSession | undefined>;
}

/** The same operations as the tools, in-process and typed. Expected refusals are values; everything else throws HoldfastError. */
export interface Holdfast extends AsyncDisposable {
  readonly namespace: string;
  readonly state: State;
  readonly leases: Leases;
  readonly workflows: Workflows;
  readonly sessions: Sessions;
  readonly journal: Journal;
  readonly research: Research;
  readonly knowledge: Knowledge;
  /** What an agent needs to continue after a crash or a hand-over, as one text within a token budget. */
  resume(options?: ResumeOptions): Promise<ResumeText>;
  /** Who changed what, newest first. */
  history(query?: Partial<HistoryQuery>): Promise<HistoryPage>;
  health(): Promise<EngineHealth>;
  close(): Promise<void>;
}
