import type { Clock } from "../kernel/clock.ts";
import { HoldfastError, isHoldfastError } from "../kernel/errors.ts";
import { limits } from "./limits.ts";
import { everything, keyRange } from "./ranges.ts";
import type { CommitResult, Engine, PreparedCommit } from "./store.ts";

/** A process counts again after creating this share of the keys that were left, or this share of the maximum if that is more. */
const partOfRoom = 1 / 8;
const partOfAll = 1 / 100;
/** A full namespace is counted at most this often. */
const recountMs = 1_000;

/**
 * Keeps a namespace within its maximum number of keys. Counting all keys is expensive, so it is rare. In between, the process adds up the outcomes of its own commits.
 * Only a commit that might exceed the limit waits for a count and is checked key by key. A single process never exceeds the limit. Several processes on one store
 * see each other's commits only as revision numbers, and assume one new key for each. They count again in time to exceed the limit together by at most a few
 * hundredths of it, or by more if commits create many keys each.
 */
export class KeyQuota {
  readonly #engine: Engine;
  readonly #namespace: string;
  readonly #clock: Clock;
  readonly #max: number;
  /** Keys that may still be created, as far as this process knows; undefined before the first check. */
  #room: number | undefined;
  /** Keys created here since the last count, and the number after which the next count is due. */
  #made = 0;
  #countAfter = 0;
  /** The revision before the first commit since the last count, and how many of the later revisions are this process's own. */
  #since: number | undefined;
  #own = 0;
  #countedAtMs = Number.NEGATIVE_INFINITY;
  /** Keys that commits in flight may create. */
  #reserved = 0;
  #looking: Promise<void> | undefined;
  /** Called when a commit has ended. */
  readonly #waiting: (() => void)[] = [];

  constructor(engine: Engine, namespace: string, clock: Clock, max: number) {
    this.#engine = engine;
    this.#namespace = namespace;
    this.#clock = clock;
    this.#max = max;
  }

  async commit(prepared: PreparedCommit, submit: (prepared: PreparedCommit) => Promise<CommitResult>): Promise<CommitResult> {
    const puts = putsOf(prepared);
    const fits = puts === 0 || (this.#room !== undefined && puts <= this.#room - this.#reserved);
    const most = fits ? this.#reserve(puts) : await this.#admit(prepared, puts);
    try {
      const result = await submit(prepared);
      this.#note(prepared, result);
      return result;
    } catch (error) {
      // The commit may have taken effect.
      if (isHoldfastError(error, "outcome_unknown")) this.#add(most);
      throw error;
    } finally {
      this.#reserved -= most;
      for (const wake of this.#waiting.splice(0)) wake();
    }
  }

  #reserve(keys: number): number {
    this.#reserved += keys;
    return keys;
  }

  #note({ writes }: PreparedCommit, result: CommitResult): void {
    if (!result.ok || result.replayed || writes.length === 0) return;
    let made = 0;
    for (let i = 0; i < writes.length; i += 1) {
      const existed = result.writes[i]?.existed === true;
      if (writes[i]?.op === "put") made += existed ? 0 : 1;
      else if (existed) made -= 1;
    }
    this.#own += 1;
    this.#since ??= result.revision - 1;
    this.#add(made, result.revision - this.#since - this.#own);
  }

  #add(made: number, byOthers = 0): void {
    if (this.#room === undefined) return;
    this.#room -= made;
    this.#made += made;
    // No caller waits for this count, because there is still room.
    if (this.#made + byOthers >= this.#countAfter) this.#look(() => this.#count()).catch(() => {});
  }

  /** Resolves when the commit may proceed, with the number of keys reserved for it. */
  async #admit(prepared: PreparedCommit, puts: number): Promise<number> {
    if (this.#room === undefined) await this.#look(() => this.#begin());
    if (puts <= this.#left) return this.#reserve(puts);
    if (this.#clock.nowMs() - this.#countedAtMs >= recountMs) await this.#look(() => this.#count());
    if (puts <= this.#left) return this.#reserve(puts);
    const growth = Math.max(0, await this.#growth(prepared));
    // Commits in flight have reserved more than most of them need. Only when they end is the remaining room known.
    while (growth > Math.max(0, this.#left) && growth <= (this.#room ?? 0) && this.#reserved > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (growth <= Math.max(0, this.#left)) return this.#reserve(growth);
    throw new HoldfastError("limit_exceeded", `keys: this namespace may have ${this.#max} and has no room for more; nothing was changed.`, {
      hint: "Delete keys that are not needed, set a ttl, use another namespace, or raise the limit (keysMax).",
      details: { field: "keys", max: this.#max },
    });
  }

  get #left(): number {
    return (this.#room ?? 0) - this.#reserved;
  }

  /** Runs one count at a time, shared by all callers that need it. */
  #look(how: () => Promise<void>): Promise<void> {
    this.#looking ??= how().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** A young namespace cannot have many keys, whatever was written. Its revision limits them, so nothing has to be counted. */
  async #begin(): Promise<void> {
    const { revision } = await this.#engine.position(this.#namespace);
    const keysMost = revision * limits.commitWritesMax;
    if (keysMost < this.#max) this.#learn(keysMost);
    else await this.#count();
  }

  async #count(): Promise<void> {
    const madeBefore = this.#made;
    const counted = await this.#engine.count(this.#namespace, everything);
    // Keys created during the count may or may not be included. Assume that they are not.
    const meanwhile = this.#made - madeBefore;
    this.#learn(counted + Math.max(0, meanwhile));
    this.#countedAtMs = this.#clock.nowMs();
  }

  #learn(keys: number): void {
    this.#room = this.#max - keys;
    this.#made = 0;
    this.#since = undefined;
    this.#own = 0;
    this.#countAfter = Math.max(this.#room * partOfRoom, this.#max * partOfAll);
  }

  /** The number of keys that the commit would add. */
  async #growth({ writes }: PreparedCommit): Promise<number> {
    const { entries } = await this.#engine.read(
      this.#namespace,
      writes.map(({ key }) => keyRange(key)),
      { limit: limits.readEntriesMax, values: false },
    );
    const present = new Set(entries.map(({ key }) => key));
    let growth = 0;
    for (const { op, key } of writes) {
      if (op === "put" && !present.has(key)) growth += 1;
      if (op === "delete" && present.has(key)) growth -= 1;
    }
    return growth;
  }
}

function putsOf({ writes }: PreparedCommit): number {
  let puts = 0;
  for (const { op } of writes) if (op === "put") puts += 1;
  return puts;
}
