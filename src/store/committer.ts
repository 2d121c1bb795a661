import type { Clock } from "../kernel/clock.ts";
import { HoldfastError, isHoldfastError } from "../kernel/errors.ts";
import { limits } from "./limits.ts";
import type { CommitResult, Engine, PreparedCommit } from "./store.ts";
import type { StoreObserver } from "./store-observer.ts";

interface Waiting {
  readonly commit: PreparedCommit;
  readonly sinceMs: number;
  /** In the observer's time. */
  readonly queuedMs: number;
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (error: unknown) => void;
}

/** Undefined: the writer's batch may be sent at once. */
export type BatchTurn = (writer: string) => Promise<void> | undefined;

/** Commits that waited longer than this are rejected when a batch fails. A connection that broke at once is worth another try; one that took this long is not. */
const waitMs = 250;

/**
 * Group commit, implemented once for every engine: commits that arrive while a batch is in flight become the next batch,
 * so that many callers share one fsync or round trip. Each commit keeps its own checks, revision and answer,
 * and no answer is returned before its batch is durable.
 */
export class Committer {
  readonly #engine: Engine;
  readonly #namespace: string;
  readonly #clock: Clock;
  readonly #observer: StoreObserver | undefined;
  readonly #batchTurn: BatchTurn | undefined;
  #waiting: Waiting[] = [];
  #running = false;

  constructor(engine: Engine, namespace: string, clock: Clock, observer?: StoreObserver, batchTurn?: BatchTurn) {
    this.#engine = engine;
    this.#namespace = namespace;
    this.#clock = clock;
    this.#observer = observer;
    this.#batchTurn = batchTurn;
  }

  submit(commit: PreparedCommit): Promise<CommitResult> {
    if (this.#waiting.length >= limits.queuedCommitsMax)
      return Promise.reject(new HoldfastError("unavailable", `${limits.queuedCommitsMax} commits are already waiting in this process.`, { hint: "Slow down and try again." }));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ commit, sinceMs: this.#clock.nowMs(), queuedMs: this.#observer?.nowMs() ?? 0, resolve, reject });
      this.#observer?.queued(1);
      if (this.#running) return;
      this.#running = true;
      // One turn of the event loop collects every commit of the same burst of input.
      this.#clock.turn(() => void this.#drain());
    });
  }

  async #drain(): Promise<void> {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const turn = this.#batchTurn?.(first.commit.writer);
      if (turn !== undefined) await turn;
      const batch = this.#nextBatch();
      const beganMs = this.#observer?.nowMs() ?? 0;
      try {
        const results = await this.#engine.commit(
          this.#namespace,
          batch.map((waiting) => waiting.commit),
        );
        this.#observer?.batchEnded(beganMs, batch.length);
        batch.forEach((waiting, i) => {
          waiting.resolve(results[i] as CommitResult);
          this.#observer?.answered(waiting.queuedMs, waiting.commit, results[i]);
        });
      } catch (error) {
        this.#observer?.batchEnded(beganMs, batch.length);
        for (const waiting of batch) this.#reject(waiting, error);
        if (isHoldfastError(error, "unavailable") || isHoldfastError(error, "outcome_unknown")) this.#refuseThoseWhoWaited();
      }
      // Callers that just got an answer may commit again in this turn, so let them join the next batch.
      if (this.#waiting.length > 0) await new Promise<void>((resolve) => this.#clock.turn(resolve));
    }
    this.#running = false;
  }

  /** The engine has its own time limit for one batch. Commits queued behind a batch that used it up must not wait for a second one. They were never sent. */
  #refuseThoseWhoWaited(): void {
    const nowMs = this.#clock.nowMs();
    const waited = this.#waiting.filter(({ sinceMs }) => nowMs - sinceMs > waitMs);
    this.#waiting = this.#waiting.filter(({ sinceMs }) => nowMs - sinceMs <= waitMs);
    this.#observer?.queued(-waited.length);
    for (const each of waited)
      this.#reject(each, new HoldfastError("unavailable", "The store did not answer the commits before this one; nothing was changed.", { hint: "Try again." }));
  }

  #reject(waiting: Waiting, error: unknown): void {
    waiting.reject(error);
    this.#observer?.answered(waiting.queuedMs, waiting.commit, undefined, error);
  }

  #nextBatch(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const { commit } of this.#waiting) {
      if (count >= limits.batchCommitsMax || (count > 0 && bytes + commit.bytes > limits.batchBytesMax)) break;
      bytes += commit.bytes;
      count += 1;
    }
    this.#observer?.queued(-count);
    return this.#waiting.splice(0, count);
  }
}
