import type { CommitResult, PreparedCommit } from "./store.ts";

/** Observes calls of the store interface, for metrics. It must neither throw nor wait. */
export interface StoreObserver {
  /** The observer's own time in milliseconds. It is passed back when an operation ends. */
  nowMs(): number;
  /** The number of commits waiting for a batch changed by this much. */
  queued(change: number): void;
  /** A commit got its result or its error. `queuedMs`: when it was submitted. */
  answered(queuedMs: number, commit: PreparedCommit, result: CommitResult | undefined, error?: unknown): void;
  /** The engine returned from one batch. */
  batchEnded(beganMs: number, commits: number): void;
  /** The number of watchers changed by this much. */
  watching(change: number): void;
}
