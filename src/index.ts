import { openStore } from "./compose.ts";
import { readConfig } from "./config.ts";
import { invalidInput } from "./kernel/errors.ts";
import type { Log } from "./kernel/log.ts";
import { silentLog } from "./kernel/log.ts";
import { bindDomain } from "./surfaces/library/bind-domain.ts";
import type { Holdfast } from "./surfaces/library/holdfast.ts";

export interface HoldfastOptions {
  /** `sqlite:PATH` or `memory:`. Default: HOLDFAST_STORE, or else the file that the command line uses. */
  readonly store?: string;
  readonly namespace?: string;
  /** The default name of this program in history and as the holder of leases and claims. */
  readonly agent?: string;
  /** The principal that history records as the writer; the operating system's user by default. */
  readonly writer?: string;
  /** The default duration of a workflow claim. */
  readonly claimTtlMs?: number;
  /** History older than this may be removed. */
  readonly historyAgeMs?: number;
  /** The maximum number of revisions of history kept. */
  readonly historyRevisions?: number;
  /** False: sweeping and compaction are left to other processes on the same store. */
  readonly maintain?: boolean;
  /** Receives log events; by default they are dropped. */
  readonly log?: Log;
}

/** A misspelt option would silently open another store. This is a record so that the compiler checks that it is complete. */
const optionNames: Readonly<Record<keyof HoldfastOptions, true>> = {
  store: true,
  namespace: true,
  agent: true,
  writer: true,
  claimTtlMs: true,
  historyAgeMs: true,
  historyRevisions: true,
  maintain: true,
  log: true,
};

/** Opens a store in this process. Missing settings come from HOLDFAST_* variables, as for the command line. Close it when done, to release connections and locks. */
export async function openHoldfast(options: HoldfastOptions = {}): Promise<Holdfast> {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(optionNames, name));
  if (unknown !== undefined) throw invalidInput(unknown, `unknown option; allowed: ${Object.keys(optionNames).join(", ")}`);
  const given = (origin: keyof HoldfastOptions) => ({ raw: options[origin], origin });
  const inSeconds = (origin: "claimTtlMs" | "historyAgeMs") => ({ raw: options[origin] === undefined ? undefined : options[origin] / 1_000, origin });
  const config = readConfig({}, undefined, {
    store: given("store"),
    namespace: given("namespace"),
    agent: given("agent"),
    historyRevisions: given("historyRevisions"),
    claimTtl: inSeconds("claimTtlMs"),
    historyAge: inSeconds("historyAgeMs"),
  });
  const opened = await openStore(config, { stays: options.maintain ?? true, log: options.log ?? silentLog, writer: options.writer });
  const { store: space, clock, writer, server } = opened.base;
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    closing ??= Promise.resolve(opened[Symbol.asyncDispose]());
    await closing;
  };
  return {
    namespace: space.namespace,
    ...bindDomain({
      scope: { store: space, clock, writer },
      agent: config.agent,
      claimTtlMs: config.claimTtlMs,
      effectKeepMs: config.effectAgeMs,
      surroundings: server.surroundings,
      journalTtlMs: server.journalTtlMs,
      mirror: server.mirror,
    }),
    health: () => server.health(space.namespace),
    close,
    [Symbol.asyncDispose]: close,
  };
}

export type { AssembleInput, AssembleResult } from "./domain/blobs/assemble-blob.ts";
export type { BlobRef, FoundBlob } from "./domain/blobs/blob.ts";
export type { BegunEffect, EffectGuard } from "./domain/effects/begin-effect.ts";
export type { EffectPolicy, EffectState } from "./domain/effects/effect.ts";
export type { EffectDetail, EffectPage, EffectQuery, EffectView } from "./domain/effects/find-effects.ts";
export type { EffectAttempt, EffectReport, FinishedEffect } from "./domain/effects/finish-effect.ts";
export type { EffectIdentity } from "./domain/effects/identity.ts";
export type { RunningAttempt } from "./domain/effects/perform-effect.ts";
export type { ResolveInput } from "./domain/effects/resolve-effect.ts";
export type { HistoryCursor, HistoryEntry, HistoryPage, HistoryQuery } from "./domain/history/history.ts";
export type { EntryHit, EntryPage } from "./domain/journal/find-entries.ts";
export type { SavedEntry } from "./domain/journal/journal.ts";
export type { JournalEntry } from "./domain/journal/journal-entry.ts";
export type { SaveNoteInput, SaveNoteResult } from "./domain/knowledge/knowledge.ts";
export type { Note, NoteStatus, Trust } from "./domain/knowledge/note.ts";
export type { Recall, RecalledNote } from "./domain/knowledge/recall.ts";
export type { AcquireResult, HeldLease, RenewResult } from "./domain/leases/leases.ts";
export type { Mirrored } from "./domain/mirror/mirror.ts";
export type { Action, Contribution, ResearchCheckpoint, ResearchContent, Source, Tension } from "./domain/research/checkpoint.ts";
export type { SaveCheckpointResult } from "./domain/research/checkpoints.ts";
export type { CheckpointPage, CheckpointSummary } from "./domain/research/list-checkpoints.ts";
export type { SavedSession, SaveResult } from "./domain/sessions/sessions.ts";
export type { CommitStateResult, CommitWrite, DeleteResult, SetResult } from "./domain/state/state.ts";
export type { StateEntry } from "./domain/state/state-entry.ts";
export type { CurrentEntry, VersionConflict } from "./domain/state/version-conflict.ts";
export type { StateChange, WatchInput } from "./domain/state/watch-state.ts";
export type { ClaimResult } from "./domain/workflows/claims.ts";
export type { FoundRuns, ResumedRun } from "./domain/workflows/find-runs.ts";
export type { Ending, RunStatus } from "./domain/workflows/workflow.ts";
export type { CheckpointResult, CreateInput, CreateResult, FinishResult, RunView } from "./domain/workflows/workflows.ts";
export { type ErrorCode, errorCodes, HoldfastError, isHoldfastError } from "./kernel/errors.ts";
export type { Json, JsonObject } from "./kernel/json.ts";
export type { Log, LogLevel } from "./kernel/log.ts";
export { version } from "./kernel/version.ts";
export { limits } from "./store/limits.ts";
export type { EngineHealth, Revision } from "./store/store.ts";
export { type ConnectOptions, connectHoldfast } from "./surfaces/client/connect-holdfast.ts";
export type { Blobs } from "./surfaces/library/blobs.ts";
export type { CallOptions, WriteOptions } from "./surfaces/library/call-options.ts";
export type { EffectOptions, Effects, OnceOptions, OnceResult } from "./surfaces/library/effects.ts";
export type { Holdfast, LeaseRef, Leases, Sessions, SetOptions, State, Tags, Workflows } from "./surfaces/library/holdfast.ts";
export type { EntryInput, Journal, Knowledge, Research, ResearchInput, ResumeOptions, ResumeText, WorkspaceOptions } from "./surfaces/library/memory.ts";
export { type NewWorkflow, runWorkflow, startWorkflow } from "./surfaces/library/run-workflow.ts";
export { type WithLeaseOptions, type WithLeaseResult, withLease } from "./surfaces/library/with-lease.ts";
export { type WorkOptions, workWorkflows } from "./surfaces/library/work-workflows.ts";
export {
  EffectNotDone,
  EffectUnknown,
  type SignalOptions,
  type StepAttempt,
  type StepOptions,
  type StepOutput,
  type WorkerOptions,
  type WorkflowContext,
  type WorkflowHandler,
  type WorkflowOutcome,
  type WorkflowSteps,
} from "./surfaces/library/workflow.ts";
export { signalWorkflow } from "./surfaces/library/workflow-signals.ts";
