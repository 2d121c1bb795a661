import type { Clock } from "../../kernel/clock.ts";
import type { BatchSource, StoredSlot, Tombstone } from "../../store/plan-batch.ts";
import { BatchPlan, jumps } from "../../store/plan-batch.ts";
import type { CommitResult, Entry, HistoryRecord, PreparedCommit, StoredRequest } from "../../store/store.ts";
import { lapseText, parseLapse } from "./log-rows.ts";
import type { PgNamespaceClock, PgNamespaceRow } from "./namespace-row.ts";
import { hostClock, isServedByOther } from "./namespace-row.ts";
import type { Tables } from "./schema.ts";
import { bigintArray, intArray } from "./sql-arrays.ts";
import { guardFrom } from "./write-rows.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
export type KnownSlot = Mutable<StoredSlot> & { lapse: string | null };

/** What lies under keys: there, remembered, or (neither) known to be nothing. */
export interface KnownKeys {
  readonly slots: Map<string, KnownSlot>;
  readonly tombstones: Map<string, Tombstone>;
  readonly nothing: Set<string>;
}

export type KnownRequests = ReadonlyMap<string, StoredRequest & { readonly keptUntilMs: number }>;

export const noKeys = (): KnownKeys => ({ slots: new Map(), tombstones: new Map(), nothing: new Set() });

/** Answers a plan from what is known. An entry that breaks a check is promised and filled in before anybody sees it. */
export class KnownSource implements BatchSource {
  readonly wanted: { readonly logPosition: number; readonly entry: Entry }[] = [];
  readonly #keys: KnownKeys;
  readonly #requests: KnownRequests;

  constructor(keys: KnownKeys, requests: KnownRequests = new Map()) {
    this.#keys = keys;
    this.#requests = requests;
  }

  readSlot(key: string): StoredSlot | undefined {
    return this.#keys.slots.get(key);
  }

  readTombstone(key: string): Tombstone | undefined {
    return this.#keys.tombstones.get(key);
  }

  readRequest(key: string, nowMs: number): StoredRequest | undefined {
    const known = this.#requests.get(key);
    return known !== undefined && nowMs < known.keptUntilMs ? known : undefined;
  }

  readLapse(key: string): HistoryRecord | undefined {
    return parseLapse(this.#keys.slots.get(key)?.lapse ?? null);
  }

  readEntry(_key: string, { logPosition }: StoredSlot): Entry {
    const entry = {} as Entry;
    this.wanted.push({ logPosition, entry });
    return entry;
  }
}

/** A batch decided from memory: to be written only if the guard finds that nothing has changed since. */
export interface RememberedPlan {
  readonly plan: BatchPlan;
  readonly results: readonly CommitResult[];
  /** As the plan leaves it. */
  readonly space: PgNamespaceRow;
  /** As it was remembered. */
  readonly known: PgNamespaceRow;
  /** The next moment at which something that the batch names expires. What was decided by the remembered clock is, before that, what the server's own would have decided. */
  readonly untilMs: number;
}

/**
 * Locks the rows and divides by zero unless all of them are as remembered and free, and unless the server's clock has not reached the first of the moments.
 * Nobody is waited for: who has locked one of them is changing it. Answers the server's clock.
 */
export const guardOf = (t: Tables, plans: readonly RememberedPlan[], testMs: number | null) => {
  const p = (i: number): string => `$${guardFrom + i}`;
  const same = `SELECT 1 FROM unnest(${p(0)}::int[], ${p(1)}::bigint[], ${p(2)}::bigint[], ${p(3)}::bigint[]) AS w (id, changes, revision, oid)
    JOIN ${t.namespace} s ON s.id = w.id AND s.changes = w.changes AND s.revision = w.revision AND s.tableoid::bigint = w.oid FOR UPDATE OF s SKIP LOCKED`;
  return {
    name: "write-if",
    text: `SELECT h.host / (CASE WHEN h.host < ${p(5)}::bigint AND (SELECT count(*) FROM (${same}) same) = ${p(6)}::bigint THEN 1 ELSE 0 END) AS host FROM (SELECT ${hostClock(p(4))} AS host) h`,
    answer: "host",
    values: [
      intArray(plans, ({ known }) => known.id),
      bigintArray(plans, ({ known }) => known.changes),
      bigintArray(plans, ({ known }) => known.revision),
      bigintArray(plans, ({ known }) => known.tableOid),
      testMs,
      Math.min(...plans.map(({ untilMs }) => untilMs)),
      plans.length,
    ],
  };
};

const keysMax = 2_048;
/** After this long the facts are read again, and with them the server's clock. */
const freshMsMax = 500;
/** After a failed attempt, at most this many batches are not decided from memory: other processes write too, and each attempt costs a round trip. */
const restMax = 256;

/**
 * What this process left of a namespace when it last committed to it. Whoever writes anything in a namespace counts its row's `changes` up, so a batch
 * that names only remembered keys can be decided before the server is asked, and needs one round trip instead of two: the lock and the look at that count come
 * first in it, and if the count is another, the transaction ends there and the batch is done anew the long way.
 */
export class NamespaceMemory {
  readonly #timeSource: Clock | undefined;
  #keys = noKeys();
  #space: PgNamespaceRow | undefined;
  #learntMs = 0;
  #rest = 0;
  #nextRest = 1;
  /** The count of changes as this process left it. */
  #left: number | undefined;
  #isContended = false;

  constructor(timeSource: Clock | undefined) {
    this.#timeSource = timeSource;
  }

  /** Decides the batch, if everything it needs is known; undefined otherwise. Nothing is changed by it. */
  plan(clock: PgNamespaceClock, namespace: string, identity: string | null, commits: readonly PreparedCommit[]): RememberedPlan | undefined {
    if (this.#rest > 0) {
      this.#rest -= 1;
      return undefined;
    }
    const known = this.#space;
    const elapsedMs = performance.now() - this.#learntMs;
    if (known === undefined || elapsedMs > freshMsMax || isServedByOther(known, identity) || clock.seenRevision(namespace) > known.revision) return undefined;
    // A copy lets others write; and one that was killed leaves its seal behind.
    if (known.seal !== undefined && known.seal.state !== "copying") return undefined;
    if (!this.#knows(commits)) return undefined;
    const hostMs = this.#timeSource?.nowMs() ?? known.hostMs + Math.ceil(elapsedMs);
    const space: PgNamespaceRow = { ...known };
    space.hostMs = hostMs;
    space.nowMs = clock.nowMs(namespace, Math.max(hostMs, known.clockMs));
    const source = new KnownSource(this.#keys);
    const plan = new BatchPlan(source, space, space.nowMs);
    const results = commits.map((commit) => plan.apply(commit));
    // Refusals carry values, and an answer that nothing changed must be of now: both are the long way's.
    if (source.wanted.length > 0 || plan.rows.length === 0) return undefined;
    return { plan, results, space, known, untilMs: this.#untilMs(space.nowMs, commits) };
  }

  /** What was decided from memory has happened, by this time of the server's. */
  confirm({ space, plan }: RememberedPlan, hostMs: number): void {
    this.#nextRest = 1;
    this.#isContended = false;
    if (this.#space?.changes !== space.changes) return;
    this.#learntMs = performance.now();
    space.hostMs = hostMs;
    this.#note(space, plan);
  }

  /** Another process wrote to the namespace, or had it locked, when this one came to it last. */
  get isContended(): boolean {
    return this.#isContended;
  }

  /** After a commit that looked first: how it left the namespace and the keys it named. What was known of others holds only if nobody wrote in between. */
  learn(space: PgNamespaceRow, plan: BatchPlan, { slots, tombstones, nothing }: KnownKeys): void {
    const known = this.#keys;
    this.#isContended = this.#left !== undefined && this.#left !== space.changes;
    if (this.#space?.changes !== space.changes || known.slots.size + known.tombstones.size + known.nothing.size > keysMax) this.#keys = noKeys();
    for (const [key, slot] of slots) this.#set(key, slot);
    for (const [key, tombstone] of tombstones) this.#set(key, undefined, tombstone);
    for (const key of nothing) this.#set(key);
    this.#learntMs = performance.now();
    this.#note(space, plan);
  }

  /** What was remembered for the plan is no longer so: others have written meanwhile. */
  isInVain({ known }: RememberedPlan, found: PgNamespaceRow): boolean {
    return found.changes !== known.changes || found.revision !== known.revision || found.tableOid !== known.tableOid;
  }

  /** Another process had it locked. */
  wasLocked(): void {
    this.#isContended = true;
  }

  wasInVain(): void {
    this.#space = undefined;
    this.#rest = this.#nextRest;
    this.#nextRest = Math.min(restMax, this.#nextRest * 2);
  }

  #note(space: PgNamespaceRow, plan: BatchPlan): void {
    for (const [key, { present, row, index }] of plan.changed()) {
      const { logPosition, version, createdAtMs, expiresAtMs } = row;
      const anchor = jumps(row) ? logPosition : row.anchor;
      const slot = present ? this.#keys.slots.get(key) : undefined;
      if (slot !== undefined) {
        // In its place: thousands of new objects that live long would be the collector's work.
        slot.logPosition = logPosition;
        slot.version = version;
        slot.anchor = anchor;
        slot.createdAtMs = createdAtMs;
        slot.expiresAtMs = expiresAtMs;
        slot.findable = index !== undefined;
        slot.lapse = lapseText(row.lapse);
      } else if (present) this.#set(key, { logPosition, version, anchor, createdAtMs, expiresAtMs, findable: index !== undefined, lapse: lapseText(row.lapse) });
      else this.#set(key, undefined, { logPosition, version, anchor });
    }
    space.changes += 1;
    this.#left = space.changes;
    this.#space = space;
  }

  #set(key: string, slot?: KnownSlot, tombstone?: Tombstone): void {
    const { slots, tombstones, nothing } = this.#keys;
    if (slot === undefined) slots.delete(key);
    else slots.set(key, slot);
    if (tombstone === undefined) tombstones.delete(key);
    else tombstones.set(key, tombstone);
    if (slot === undefined && tombstone === undefined) nothing.add(key);
    else nothing.delete(key);
  }

  /** Request keys and texts to search by are not remembered. */
  #knows(commits: readonly PreparedCommit[]): boolean {
    const { slots, tombstones, nothing } = this.#keys;
    for (const { checks, writes, request } of commits) {
      if (request !== undefined) return false;
      for (const { key } of checks) if (!slots.has(key) && !tombstones.has(key) && !nothing.has(key)) return false;
      for (const write of writes) {
        const slot = slots.get(write.key);
        if (slot === undefined ? !tombstones.has(write.key) && !nothing.has(write.key) : slot.findable) return false;
        if (write.op === "put" && write.index !== undefined) return false;
      }
    }
    return true;
  }

  #untilMs(nowMs: number, commits: readonly PreparedCommit[]): number {
    let untilMs = nowMs + 100;
    for (const { checks, writes } of commits)
      for (const named of [checks, writes])
        for (const { key } of named) {
          const expiresAtMs = this.#keys.slots.get(key)?.expiresAtMs;
          if (expiresAtMs !== undefined && expiresAtMs > nowMs && expiresAtMs < untilMs) untilMs = expiresAtMs;
        }
    return untilMs;
  }
}
