import { isHoldfastError } from "../../kernel/errors.ts";
import { limits } from "../../store/limits.ts";
import type { CommitResult, PreparedCommit } from "../../store/store.ts";
import type { BatchPlace, Locking, Part } from "./commit-batch.ts";
import { commitBatch } from "./commit-batch.ts";
import { Lanes } from "./lanes.ts";
import type { NamespacePlaces } from "./namespace-places.ts";
import { isAnswer, sqlState, translatePostgresError } from "./postgres-errors.ts";
import type { Roads } from "./roads.ts";
import { lockShare } from "./server.ts";
import { remaining } from "./session.ts";

/** Namespaces in one transaction at most. */
const partsMax = 64;
/** How long a transaction of several waits for a namespace that another process has locked. */
const patienceMs = 100;
const lockNotAvailable = "55P03";

interface Waiting extends Part {
  place: BatchPlace;
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
  readonly #roads: Roads;
  readonly #places: NamespacePlaces;
  readonly #deadlineMs: number;
  readonly #ring: (namespace: string) => void;
  #waiting: Waiting[] = [];
  /** With a batch in a transaction, or on its way into another. */
  readonly #busy = new Set<string>();
  /** Namespaces that other processes write to as well have to be waited for; nobody else waits with them. */
  readonly #lanes = { alone: new Lanes(1, (lanes) => this.#begin(lanes, false)), contended: new Lanes(1, (lanes) => this.#begin(lanes, true)) };

  /** `ring`: after a batch that took revisions. */
  constructor(roads: Roads, places: NamespacePlaces, deadlineMs: number, ring: (namespace: string) => void) {
    this.#roads = roads;
    this.#places = places;
    this.#deadlineMs = deadlineMs;
    this.#ring = ring;
  }

  commit(namespace: string, commits: readonly PreparedCommit[]): Promise<readonly CommitResult[]> {
    const place = this.#places.known(namespace);
    return place === undefined ? this.#places.require(namespace).then((made) => this.#send(made, commits)) : this.#send(place, commits);
  }

  #send(place: BatchPlace, commits: readonly PreparedCommit[]): Promise<readonly CommitResult[]> {
    return new Promise((resolve, reject) => {
      let bytes = 0;
      for (const commit of commits) bytes += commit.bytes;
      this.#wait({ place, commits, bytes, deadlineMs: this.#roads.deadlineFromNow(), outcome: undefined, resolve, reject, staleTimes: 0 });
    });
  }

  #wait(part: Waiting): void {
    this.#waiting.push(part);
    this.#lanesOf(part.place).due();
  }

  #lanesOf({ memory }: BatchPlace): Lanes {
    return memory.isContended ? this.#lanes.contended : this.#lanes.alone;
  }

  #begin(lanes: Lanes, isContended: boolean): boolean {
    const group = this.#take(isContended);
    if (group.length > 0) void lanes.run((leave) => this.#commit(group, isContended, leave));
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
      if (!hasRoom || part.place.memory.isContended !== isContended || this.#busy.has(part.place.namespace)) {
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

  /** Until each of the parts is settled. */
  async #commit(parts: readonly Waiting[], isContended: boolean, leave?: () => void): Promise<void> {
    let locking: Locking = isContended ? { waitsForFirst: true, patienceMs: this.#patience(parts) } : "free ones";
    for (let open = parts; open.length > 0; ) {
      const failure = await this.#try(open, locking);
      if (failure === "alone") {
        const left = this.#settled(open);
        leave?.();
        await Promise.all(left.map((part) => this.#commit([part], true)));
        return;
      }
      open = this.#settled(open);
      // What is left somebody else has locked. One is waited for, another one each time, and the others come along if they are free by then.
      if (open.length > 0) leave?.();
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
      const { outcome, place } = part;
      if (outcome === undefined) {
        left.push(part);
        continue;
      }
      this.#busy.delete(place.namespace);
      if ("error" in outcome) void this.#refuse(part, outcome.error);
      else {
        if (outcome.rings) this.#ring(place.namespace);
        part.resolve(outcome.results);
      }
    }
    // Of a namespace that had one on its way another may be waiting.
    for (const { place } of this.#waiting) this.#lanesOf(place).due(2);
    return left;
  }

  /** A namespace that is another than was remembered was not written to: the batch goes to the one that there is now. */
  async #refuse(part: Waiting, error: unknown): Promise<void> {
    try {
      part.staleTimes += 1;
      this.#places.requireStale(error, part.place.namespace, part.staleTimes);
      part.place = await this.#places.require(part.place.namespace);
      part.outcome = undefined;
      this.#wait(part);
    } catch (reason) {
      part.reject(reason);
    }
  }
}

const deadlineOf = (parts: readonly Waiting[]): number => Math.min(...parts.map(({ deadlineMs }) => deadlineMs));
