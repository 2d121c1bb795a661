import { HoldfastError } from "./errors.ts";

interface BudgetOptions {
  /** The limit for one owner; defaults to the whole budget. */
  readonly ownerBytesMax?: number;
  /** How far above the maximum an owner that holds nothing may still be admitted, so that owners that hold everything cannot shut it out. */
  readonly reserveBytesMax?: number;
  /** The most requests of one owner that may wait for memory; further ones fail with `unavailable`. */
  readonly ownerWaitingMax?: number;
  /** Describes the waiting requests in the error, after their number. */
  readonly whatWaits?: string;
}

/** What one owner holds and is waiting for. */
interface Owner {
  readonly name: string;
  used: number;
  /** The one holding that may grow beyond the limit, so that holdings that wait for each other cannot deadlock. */
  growing: Holding | undefined;
  readonly waiting: Waiter[];
}

interface Waiter {
  readonly holding: Holding;
  readonly bytes: number;
  readonly go: () => void;
}

/**
 * Limits the bytes in memory at one time, for all owners together and for each of them. Work that needs memory waits until there is room;
 * a request larger than the maximum waits until nothing else is held. Bytes are whole numbers: sums of fractions might never return to zero.
 */
export class Budget {
  readonly #bytesMax: number;
  readonly #ownerBytesMax: number;
  readonly #reserveBytesMax: number;
  readonly #ownerWaitingMax: number;
  readonly #whatWaits: string;
  readonly #owners = new Map<string, Owner>();
  #used = 0;
  #growing = 0;
  #waiting = 0;

  constructor(
    bytesMax: number,
    {
      ownerBytesMax = bytesMax,
      reserveBytesMax = 0,
      ownerWaitingMax = Number.POSITIVE_INFINITY,
      whatWaits = "calls from this caller are already waiting for memory",
    }: BudgetOptions = {},
  ) {
    this.#bytesMax = bytesMax;
    this.#ownerBytesMax = ownerBytesMax;
    this.#reserveBytesMax = reserveBytesMax;
    this.#ownerWaitingMax = ownerWaitingMax;
    this.#whatWaits = whatWaits;
  }

  get usedBytes(): number {
    return this.#used;
  }

  get waiting(): number {
    return this.#waiting;
  }

  open(owner = ""): Holding {
    return new Holding(this, owner);
  }

  /** Undefined: the bytes were granted at once. Only `Holding` calls this. */
  reserve(holding: Holding, bytes: number): Promise<void> | undefined {
    const owner = this.#ownerOf(holding.owner);
    if (owner.waiting.length === 0 && this.#mayTake(owner, holding, bytes)) {
      this.#take(owner, holding, bytes);
      return undefined;
    }
    if (owner.waiting.length >= this.#ownerWaitingMax)
      throw new HoldfastError("unavailable", `${this.#ownerWaitingMax} ${this.#whatWaits}.`, {
        hint: "Wait for answers before calling again, and use smaller requests and pages.",
      });
    return new Promise((go) => {
      const waiter = { holding, bytes, go };
      // A holding that already has memory comes first, because it finishes and releases its memory sooner than one that has not begun.
      if (holding.bytes > 0) owner.waiting.unshift(waiter);
      else owner.waiting.push(waiter);
      this.#waiting += 1;
      this.#wake();
    });
  }

  /** Adjusts a holding that turned out larger or smaller; never waits. Only `Holding` calls this. */
  change(holding: Holding, bytes: number): void {
    const owner = this.#ownerOf(holding.owner);
    owner.used += bytes;
    this.#used += bytes;
    if (bytes < 0) this.#wake();
    this.#forgetIdle(owner);
  }

  /** Only `Holding` calls this. */
  release(holding: Holding, bytes: number): void {
    const owner = this.#ownerOf(holding.owner);
    if (owner.growing === holding) {
      owner.growing = undefined;
      this.#growing -= 1;
    }
    this.change(holding, -bytes);
  }

  #mayTake(owner: Owner, holding: Holding, bytes: number): boolean {
    if (owner.growing === holding || this.#used === 0) return true;
    const fitsOwner = owner.used === 0 || owner.used + bytes <= this.#ownerBytesMax;
    if (fitsOwner && this.#used + bytes <= this.#bytesMax) return true;
    if (holding.bytes === 0) return owner.used === 0 && this.#used + bytes <= this.#bytesMax + this.#reserveBytesMax;
    return owner.growing === undefined && (this.#growing === 0 || this.#used + bytes <= this.#bytesMax + this.#reserveBytesMax);
  }

  #take(owner: Owner, holding: Holding, bytes: number): void {
    const fits = owner.used + bytes <= this.#ownerBytesMax && this.#used + bytes <= this.#bytesMax;
    if (!fits && holding.bytes > 0 && owner.growing === undefined) {
      owner.growing = holding;
      this.#growing += 1;
    }
    owner.used += bytes;
    this.#used += bytes;
    holding.bytes += bytes;
  }

  /** Owners that hold the least are served first. */
  #wake(): void {
    if (this.#waiting === 0) return;
    const owners = [...this.#owners.values()].filter(({ waiting }) => waiting.length > 0).sort((a, b) => a.used - b.used);
    for (const owner of owners) {
      for (let next = owner.waiting[0]; next !== undefined && this.#mayTake(owner, next.holding, next.bytes); next = owner.waiting[0]) {
        owner.waiting.shift();
        this.#waiting -= 1;
        this.#take(owner, next.holding, next.bytes);
        next.go();
      }
    }
  }

  #ownerOf(name: string): Owner {
    let owner = this.#owners.get(name);
    if (owner === undefined) {
      owner = { name, used: 0, growing: undefined, waiting: [] };
      this.#owners.set(name, owner);
    }
    return owner;
  }

  #forgetIdle(owner: Owner): void {
    if (owner.used === 0 && owner.waiting.length === 0) this.#owners.delete(owner.name);
  }
}

/** The memory that one piece of work holds, from its first reservation until its release. */
export class Holding {
  readonly owner: string;
  readonly #budget: Budget;
  bytes = 0;

  constructor(budget: Budget, owner: string) {
    this.#budget = budget;
    this.owner = owner;
  }

  /** Resolves when the bytes are granted; undefined: at once. Throws `unavailable` if too many requests are waiting. */
  reserve(bytes: number): Promise<void> | undefined {
    return this.#budget.reserve(this, Math.ceil(bytes));
  }

  /** Adjusts the reservation by this many bytes, up or down. */
  change(bytes: number): void {
    const before = this.bytes;
    this.bytes = Math.ceil(before + bytes);
    this.#budget.change(this, this.bytes - before);
  }

  release(): void {
    const { bytes } = this;
    // Set first, because the release may grant memory to this same holding if it is still waiting for more.
    this.bytes = 0;
    this.#budget.release(this, bytes);
  }
}
