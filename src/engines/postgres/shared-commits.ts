import { isHoldfastError } from "../../kernel/errors.ts";
import { limits } from "../../store/limits.ts";
import type { PreparedCommit } from "../../store/store.ts";
import type { BatchPlace, Locking, Outcome, Part } from "./commit-batch.ts";
import { commitBatch } from "./commit-batch.ts";
import { isAnswer, sqlState, translatePostgresError } from "./postgres-errors.ts";
import type { Roads } from "./roads.ts";
import { lockShare } from "./server.ts";
import { remaining } from "./session.ts";

/** Namespaces in one transaction at most. */
const partsMax = 64;
/** Transactions of commits at once; what arrives meanwhile shares the next ones. One more than one: while the server works on one, the other is prepared. */
const lanesMax = 2;
/** Fewer commits than this are not shared out among them. */
const shareMin = 16;
/** A transaction that takes this long no longer keeps others from beginning: it waits for something that they need not wait for. */
const laneMs = 50;
/** How long a transaction of several waits for a namespace that another process has locked. */
const patienceMs = 100;
const lockNotAvailable = "55P03";

interface Waiting extends Part {
  readonly bytes: number;
  /** By `performance.now()`. */
  readonly deadlineMs: number;
  readonly resolve: (outcome: Outcome) => void;
}

/**
 * Batches of several namespaces that come at the same time share one transaction: its round trips, its sync, and one statement for all their rows. By itself each
 * would cost a transaction, however small. They stay strangers: each has its own outcome, a namespace that another process has locked does not hold up the others,
 * and what the server refuses for all of them is tried again with each alone.
 */
export class SharedCommits {
  readonly #roads: Roads;
  readonly #deadlineMs: number;
  #waiting: Waiting[] = [];
  /** With a batch in a transaction, or on its way into another. */
  readonly #busy = new Set<string>();
  #lanes = 0;
  #isDue = false;

  constructor(roads: Roads, deadlineMs: number) {
    this.#roads = roads;
    this.#deadlineMs = deadlineMs;
  }

  submit(place: BatchPlace, commits: readonly PreparedCommit[]): Promise<Outcome> {
    return new Promise((resolve) => {
      const bytes = commits.reduce((sum, commit) => sum + commit.bytes, 0);
      this.#waiting.push({ place, commits, bytes, deadlineMs: this.#roads.deadlineFromNow(), outcome: undefined, resolve });
      // Namespaces that are written to in the same turn of the event loop come together.
      this.#nextAfter(1);
    });
  }

  #nextAfter(turns: number): void {
    if (this.#isDue || this.#waiting.length === 0) return;
    this.#isDue = true;
    const turn = (left: number): void => void setImmediate(() => (left > 1 ? turn(left - 1) : this.#next()));
    turn(turns);
  }

  #next(): void {
    this.#isDue = false;
    for (let free = lanesMax - this.#lanes; free > 0 && this.#waiting.length > 0; free -= 1) {
      const commits = this.#waiting.reduce((sum, part) => sum + part.commits.length, 0);
      const group = this.#take(Math.max(shareMin, Math.ceil(commits / free)));
      if (group.length === 0) return;
      void this.#run(group);
    }
  }

  /** The first of each namespace, as many as may go together, up to about so many commits. */
  #take(share: number): Waiting[] {
    const group: Waiting[] = [];
    const left: Waiting[] = [];
    let commits = 0;
    let bytes = 0;
    for (const part of this.#waiting) {
      const hasRoom =
        group.length === 0 || (group.length < partsMax && commits < share && commits + part.commits.length <= limits.batchCommitsMax && bytes + part.bytes <= limits.commitBytesMax);
      if (!hasRoom || this.#busy.has(part.place.namespace)) {
        left.push(part);
        continue;
      }
      this.#busy.add(part.place.namespace);
      commits += part.commits.length;
      bytes += part.bytes;
      group.push(part);
    }
    this.#waiting = left;
    return group;
  }

  async #run(group: readonly Waiting[]): Promise<void> {
    this.#lanes += 1;
    let isCounted = true;
    const leave = (): void => {
      if (isCounted) this.#lanes -= 1;
      isCounted = false;
      // Callers that were just answered may ask again: let them join. Theirs takes one turn to get here, and another one to be gathered.
      this.#nextAfter(2);
    };
    const timer = setTimeout(leave, laneMs);
    await this.#commit(group);
    clearTimeout(timer);
    leave();
  }

  /** Until each of the parts is settled. */
  async #commit(parts: readonly Waiting[]): Promise<void> {
    let locking: Locking = parts.length === 1 ? { waitsForFirst: true } : "free ones";
    for (let open = parts; open.length > 0; ) {
      const failure = await this.#try(open, locking);
      if (failure === "alone") {
        const left = this.#settled(open);
        await Promise.all(left.map((part) => this.#commit([part])));
        return;
      }
      open = this.#settled(open);
      // What is left somebody else has locked. One is waited for, another one each time, and the others come along if they are free by then.
      if (failure === "busy") {
        locking = "free ones";
        open = [...open.slice(1), ...open.slice(0, 1)];
      } else locking = { waitsForFirst: true, patienceMs: this.#patience(open) };
      if (open.length > 0 && this.#patience(open) <= 0) open = this.#giveUp(open);
    }
  }

  /** Says what is to be done with the parts that are not settled by it. */
  async #try(parts: readonly Waiting[], locking: Locking): Promise<"busy" | "alone" | undefined> {
    try {
      await this.#roads.writing((tx) => commitBatch(tx, parts, locking), deadlineOf(parts));
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
  #patience(parts: readonly Waiting[]): number {
    const leftMs = remaining(deadlineOf(parts)) - this.#deadlineMs * (1 - lockShare);
    return parts.length === 1 ? leftMs : Math.min(patienceMs, leftMs);
  }

  #giveUp(parts: readonly Waiting[]): Waiting[] {
    for (const part of parts) part.outcome = { error: translatePostgresError({ code: lockNotAvailable }) };
    return this.#settled(parts);
  }

  /** Answers those who know how they ended; the rest is left. */
  #settled(parts: readonly Waiting[]): Waiting[] {
    const left: Waiting[] = [];
    for (const part of parts) {
      if (part.outcome === undefined) left.push(part);
      else {
        this.#busy.delete(part.place.namespace);
        part.resolve(part.outcome);
      }
    }
    this.#nextAfter(2);
    return left;
  }
}

const deadlineOf = (parts: readonly Waiting[]): number => Math.min(...parts.map(({ deadlineMs }) => deadlineMs));
