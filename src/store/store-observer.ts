import type { CommitResult, PreparedCommit } from "./store.ts";

/** Observes calls of the store interface, for metrics. It must neither throw nor wait. */
export interface StoreObserver {
  /** Its own time, in milliseconds: given back to it with what ended. */
  nowMs(): number;
  /** So many commits more, or fewer, wait for a batch. */
  queued(change: number): void;
  /** One commit has its answer, or its error; `queuedMs` is when it was handed in. */
  answered(queuedMs: number, commit: PreparedCommit, result: CommitResult | undefined, error?: unknown): void;
  /** One batch came back from the engine. */
  batchEnded(beganMs: number, commits: number): void;
  /** So many watchers more, or fewer. */
  watching(change: number): void;
}
