import { isHoldfastError } from "../../kernel/errors.ts";
import { limits } from "../../store/limits.ts";
import type { CommitResult, PreparedCommit } from "../../store/store.ts";
import { BatchScheduler } from "./batch-scheduler.ts";
import type { Locking, NamespaceHandle, Part } from "./commit-batch.ts";
import { commitBatch } from "./commit-batch.ts";
import type { NamespaceHandles } from "./namespace-handles.ts";
import { remaining } from "./pg-session.ts";
import type { PostgresConnections } from "./postgres-connections.ts";
import { isAnswer, sqlState, translatePostgresError } from "./postgres-errors.ts";
import { lockShare } from "./server.ts";

/** Namespaces in one transaction at most. */
const partsMax = 64;
/** How long a transaction of several waits for a namespace that another process has locked. */
const lockWaitMs = 100;
const lockNotAvailable = "55P03";

interface Waiting extends Part {
  namespaceHandle: NamespaceHandle;
  readonly bytes: number;
  /** By `performance.now()`. */
  readonly deadlineMs: number;
  readonly resolve: (results: readonly CommitResult[]) => void;
  readonly reject: (error: unknown) => void;
  /** How often the namespace turned out to be another than was remembered. */
  staleTimes: number;
}

/**
 * Batches of several namespaces that come at the same time share one transaction: its round trips, its sync, and one statement for all their rows. By itself each
 * would cost a transaction, however small. They stay strangers: each has its own outcome, a namespace that another process has locked does not hold up the others,
 * and what the server refuses for all of them is tried again with each alone.
 */
export class SharedCommits {
  readonly #connections: PostgresConnections;
  readonly #handles: NamespaceHandles;
  readonly #deadlineMs: number;
  readonly #notify: (namespace: string) => void;
  #waiting: Waiting[] = [];
  /** With a batch in a transaction, or on its way into another. */
  readonly #busy = new Set<string>();
  /** Namespaces that other processes write to as well have to be waited for; nobody else waits with them. */
  readonly #schedulers = {
    alone: new BatchScheduler(1, (scheduler) => this.#begin(scheduler, false)),
    contended: new BatchScheduler(1, (scheduler) => this.#begin(scheduler, true)),
  };

  /** `notify`: after a batch that took revisions. */
  constructor(connections: PostgresConnections, handles: NamespaceHandles, deadlineMs: number, notify: (namespace: string) => void) {
    this.#connections = connections;
    this.#handles = handles;
    this.#deadlineMs = deadlineMs;
    this.#notify = notify;
  }

  commit(namespace: string, commits: readonly PreparedCommit[]): Promise<readonly CommitResult[]> {
    const logPosition = this.#handles.known(namespace);
    return logPosition === undefined ? this.#handles.require(namespace).then((made) => this.#send(made, commits)) : this.#send(logPosition, commits);
  }

  #send(namespaceHandle: NamespaceHandle, commits: readonly PreparedCommit[]): Promise<readonly CommitResult[]> {
    return new Promise((resolve, reject) => {
      let bytes = 0;
      for (const commit of commits) bytes += commit.bytes;
      this.#wait({ namespaceHandle, commits, bytes, deadlineMs: this.#connections.deadlineFromNow(), outcome: undefined, resolve, reject, staleTimes: 0 });
    });
  }

  #wait(part: Waiting): void {
    this.#waiting.push(part);
    this.#schedulerOf(part.namespaceHandle).schedule();
  }

  #schedulerOf({ contention }: NamespaceHandle): BatchScheduler {
    return contention.isContended ? this.#schedulers.contended : this.#schedulers.alone;
  }

  #begin(scheduler: BatchScheduler, isContended: boolean): boolean {
    const group = this.#take(isContended);
    if (group.length > 0) void scheduler.run((leave) => this.#commit(group, isContended, leave));
    return group.length > 0;
  }

  /** The first of each namespace, as many as may go together. */
  #take(isContended: boolean): Waiting[] {
    const group: Waiting[] = [];
    const left: Waiting[] = [];
    let commits = 0;
    let bytes = 0;
    for (const part of this.#waiting) {
      const hasRoom = group.length === 0 || (group.length < partsMax && commits + part.commits.length <= limits.batchCommitsMax && bytes + part.bytes <= limits.commitBytesMax);
      if (!hasRoom || part.namespaceHandle.contention.isContended !== isContended || this.#busy.has(part.namespaceHandle.namespace)) {
        left.push(part);
        continue;
      }
      this.#busy.add(part.namespaceHandle.namespace);
      commits += part.commits.length;
      bytes += part.bytes;
      group.push(part);
    }
    this.#waiting = left;
    return group;
  }

  /** Until each of the parts is settled. */
  async #commit(parts: readonly Waiting[], isContended: boolean, leave?: () => void): Promise<void> {
    let locking: Locking = isContended ? { waitsForFirst: true, lockWaitMs: this.#lockWaitMs(parts) } : "free ones";
    for (let open = parts; open.length > 0; ) {
      const failure = await this.#try(open, locking);
      if (failure === "alone") {
        const left = this.#settled(open);
        leave?.();
        await Promise.all(left.map((part) => this.#commit([part], true)));
        return;
      }
      open = this.#settled(open);
      // Other sessions hold locks on the rest. Wait for one of them, a different one each time; the others join if they are free by then.
      if (open.length > 0) leave?.();
      if (failure === "busy") {
        locking = "free ones";
        open = [...open.slice(1), ...open.slice(0, 1)];
      } else locking = { waitsForFirst: true, lockWaitMs: this.#lockWaitMs(open) };
      if (open.length > 0 && this.#lockWaitMs(open) <= 0) open = this.#giveUp(open);
    }
  }

  /** Says what is to be done with the parts that are not settled by it. */
  async #try(parts: readonly Waiting[], locking: Locking): Promise<"busy" | "alone" | undefined> {
    try {
      await this.#connections.writing((tx) => commitBatch(tx, parts, locking), deadlineOf(parts));
      return undefined;
    } catch (error) {
      const { cause } = error as Error;
      const isRefused = !isHoldfastError(error, "outcome_unknown") && isAnswer(cause);
      if (parts.length > 1 && isRefused) return sqlState(cause) === lockNotAvailable ? "busy" : "alone";
      for (const part of parts) part.outcome ??= { error };
      return undefined;
    }
  }

  /** Part of the deadline is kept for what comes after the lock. */
  #lockWaitMs(parts: readonly Waiting[]): number {
    const leftMs = remaining(deadlineOf(parts)) - this.#deadlineMs * (1 - lockShare);
    return parts.length === 1 ? leftMs : Math.min(lockWaitMs, leftMs);
  }

  #giveUp(parts: readonly Waiting[]): Waiting[] {
    for (const part of parts) part.outcome = { error: translatePostgresError({ code: lockNotAvailable }) };
    return this.#settled(parts);
  }

  /** Answers those who know how they ended; the rest is left. */
  #settled(parts: readonly Waiting[]): Waiting[] {
    const left: Waiting[] = [];
    for (const part of parts) {
      const { outcome, namespaceHandle } = part;
      if (outcome === undefined) {
        left.push(part);
        continue;
      }
      this.#busy.delete(namespaceHandle.namespace);
      if ("error" in outcome) void this.#refuse(part, outcome.error);
      else {
        if (outcome.notifies) this.#notify(namespaceHandle.namespace);
        part.resolve(outcome.results);
      }
    }
    // Of a namespace that had one on its way another may be waiting.
    for (const { namespaceHandle } of this.#waiting) this.#schedulerOf(namespaceHandle).schedule(2);
    return left;
  }

  /** A namespace that is another than was remembered was not written to: the batch goes to the one that there is now. */
  async #refuse(part: Waiting, error: unknown): Promise<void> {
    try {
      part.staleTimes += 1;
      this.#handles.requireStale(error, part.namespaceHandle.namespace, part.staleTimes);
      part.namespaceHandle = await this.#handles.require(part.namespaceHandle.namespace);
      part.outcome = undefined;
      this.#wait(part);
    } catch (reason) {
      part.reject(reason);
    }
  }
}

const deadlineOf = (parts: readonly Waiting[]): number => Math.min(...parts.map(({ deadlineMs }) => deadlineMs));
