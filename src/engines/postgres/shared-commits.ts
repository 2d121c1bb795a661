import { isHoldfastError } from "../../kernel/errors.ts";
import { namedBy } from "../../ledger/plan-batch.ts";
import type { LockedRows, RowDecision } from "../../ledger/rows.ts";
import { limits } from "../../store/limits.ts";
import type { PreparedCommit } from "../../store/store.ts";
import { BatchScheduler } from "./batch-scheduler.ts";
import type { Locking, NamespaceHandle, Part } from "./commit-batch.ts";
import { commitBatch } from "./commit-batch.ts";
import type { NamespaceHandles } from "./namespace-handles.ts";
import { remaining } from "./pg-session.ts";
import type { PostgresConnections } from "./postgres-connections.ts";
import { isAnswer, sqlState, translatePostgresError } from "./postgres-errors.ts";
import { lockShare } from "./server.ts";

/** The maximum number of namespaces in one transaction. */
const partsMax = 64;
/** How long a transaction with several namespaces waits for one that another process has locked. */
const lockWaitMs = 100;
const lockNotAvailable = "55P03";

interface Waiting extends Part {
  namespaceHandle: NamespaceHandle;
  readonly commits: number;
  readonly bytes: number;
  /** By `performance.now()`. */
  readonly deadlineMs: number;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** How often the namespace turned out to be a different one than remembered. */
  staleTimes: number;
}

/**
 * Batches of several namespaces that arrive at the same time share one transaction: its round trips, its sync, and one statement for all their rows. Alone, each
 * would cost a transaction, however small. They remain independent: each has its own outcome, a namespace that another process has locked does not delay the others,
 * and a transaction that the server rejects is retried with each batch alone.
 */
export class SharedCommits {
  readonly #connections: PostgresConnections;
  readonly #handles: NamespaceHandles;
  readonly #deadlineMs: number;
  readonly #notify: (namespace: string) => void;
  #waiting: Waiting[] = [];
  /** Namespaces with a batch in a transaction, or about to be in one. */
  readonly #busy = new Set<string>();
  /** Namespaces that other processes also write to may have to be waited for, so they are scheduled separately from the others. */
  readonly #schedulers = {
    alone: new BatchScheduler(1, (scheduler) => this.#begin(scheduler, false)),
    contended: new BatchScheduler(1, (scheduler) => this.#begin(scheduler, true)),
  };

  /** `notify`: called after a batch that took revisions. */
  constructor(connections: PostgresConnections, handles: NamespaceHandles, deadlineMs: number, notify: (namespace: string) => void) {
    this.#connections = connections;
    this.#handles = handles;
    this.#deadlineMs = deadlineMs;
    this.#notify = notify;
  }

  commit<T>(namespace: string, batch: readonly PreparedCommit[], decide: (locked: LockedRows) => RowDecision<T>): Promise<T> {
    const known = this.#handles.known(namespace);
    return known === undefined ? this.#handles.require(namespace).then((made) => this.#send(made, batch, decide)) : this.#send(known, batch, decide);
  }

  #send<T>(namespaceHandle: NamespaceHandle, batch: readonly PreparedCommit[], decide: (locked: LockedRows) => RowDecision<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const bytes = batch.reduce((sum, commit) => sum + commit.bytes, 0);
      const deadlineMs = this.#connections.deadlineFromNow();
      const settling = { resolve: resolve as (result: unknown) => void, reject, outcome: undefined, staleTimes: 0 };
      this.#wait({ namespaceHandle, named: namedBy(batch), decide, commits: batch.length, bytes, deadlineMs, ...settling });
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

  /** The first batch of each namespace, as many as may share a transaction. */
  #take(isContended: boolean): Waiting[] {
    const group: Waiting[] = [];
    const left: Waiting[] = [];
    let commits = 0;
    let bytes = 0;
    for (const part of this.#waiting) {
      const hasRoom = group.length === 0 || (group.length < partsMax && commits + part.commits <= limits.batchCommitsMax && bytes + part.bytes <= limits.commitBytesMax);
      if (!hasRoom || part.namespaceHandle.contention.isContended !== isContended || this.#busy.has(part.namespaceHandle.namespace)) {
        left.push(part);
        continue;
      }
      this.#busy.add(part.namespaceHandle.namespace);
      commits += part.commits;
      bytes += part.bytes;
      group.push(part);
    }
    this.#waiting = left;
    return group;
  }

  /** Runs until every part is settled. */
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

  /** Returns how to continue with the parts that are not settled. */
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

  /** Part of the deadline is reserved for the work after the lock. */
  #lockWaitMs(parts: readonly Waiting[]): number {
    const leftMs = remaining(deadlineOf(parts)) - this.#deadlineMs * (1 - lockShare);
    return parts.length === 1 ? leftMs : Math.min(lockWaitMs, leftMs);
  }

  #giveUp(parts: readonly Waiting[]): Waiting[] {
    for (const part of parts) part.outcome = { error: translatePostgresError({ code: lockNotAvailable }) };
    return this.#settled(parts);
  }

  /** Returns the outcome to the callers of settled parts. The result is the parts that are left. */
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
        part.resolve(outcome.result);
      }
    }
    // Another batch may be waiting for a namespace that was busy until now.
    for (const { namespaceHandle } of this.#waiting) this.#schedulerOf(namespaceHandle).schedule(2);
    return left;
  }

  /** If the namespace is a different one than remembered, nothing was written: the batch is sent to the current one. */
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
