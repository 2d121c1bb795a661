import type { Budget, Holding } from "../kernel/budget.ts";
import { HoldfastError } from "../kernel/errors.ts";
import type { FairQueue } from "../kernel/fair-queue.ts";
import { limits } from "./limits.ts";
import type { ReadGate } from "./metered-store.ts";

/** The most values that one read is assumed to return. Code that lists values reads no more than this at a time. */
const readValuesMax = 16;
const listBytesMax = readValuesMax * limits.valueBytesMax;
/** An answer is built from the values that were read, and both are in memory until the answer is sent. */
const answerFactor = 2;
/** Work on more bytes than this waits for its turn in the queue. */
const largeBytes = 65_536;
/** How fast the expected size of an owner's lists falls while those lists are small. */
const expectationFall = 0.98;
const ownersMax = 1_024;
/** The owner when there is only one caller. */
export const theClient = "client";

interface AnswerGatesOptions {
  readonly budget: Budget;
  /** Absent if there is only one caller. */
  readonly queue?: FairQueue;
}

/**
 * Limits the memory of answers being built and shares the time to build them. Bytes are reserved before a read begins: as many as one value can have,
 * or, for a list, as many as the owner's recent lists had (at first, as many as a list can have). The reservation is corrected when the size of the result is known.
 */
export class AnswerGates {
  readonly #budget: Budget;
  readonly #queue: FairQueue | undefined;
  /** By owner. The owner unused for longest is removed first. */
  readonly #expected = new Map<string, number>();

  constructor({ budget, queue }: AnswerGatesOptions) {
    this.#budget = budget;
    this.#queue = queue;
  }

  /** Opens a gate for one call, or for one request with all its calls. */
  open(owner: string): AnswerGate {
    return new AnswerGate(this, this.#budget.open(owner), this.#queue);
  }

  /** Call this before working on a request of this owner. Undefined: start at once. */
  enter(owner: string): Promise<void> | undefined {
    return this.#queue?.enter(owner);
  }

  /** Call this before executing commits of this writer. Commits queue separately from the requests that submitted them. Undefined: start at once. */
  enterCommits(writer: string): Promise<void> | undefined {
    return this.#queue?.pause(`commits of ${writer}`);
  }

  expectedBytes(owner: string, valuesMax: number): number {
    if (valuesMax <= 1) return valuesMax * limits.valueBytesMax;
    return Math.min(valuesMax * limits.valueBytesMax, Math.max(limits.valueBytesMax, this.#expected.get(owner) ?? listBytesMax));
  }

  learn(owner: string, bytes: number): void {
    const expected = Math.min(listBytesMax, Math.max(bytes, (this.#expected.get(owner) ?? listBytesMax) * expectationFall));
    this.#expected.delete(owner);
    const [oldest] = this.#expected.keys();
    if (this.#expected.size >= ownersMax && oldest !== undefined) this.#expected.delete(oldest);
    this.#expected.set(owner, expected);
  }
}

/** The gate for the reads of one call. The caller that opened it must release it when the answer is sent. */
export class AnswerGate implements ReadGate {
  readonly #gates: AnswerGates;
  readonly #holding: Holding;
  readonly #queue: FairQueue | undefined;
  #isReleased = false;

  constructor(gates: AnswerGates, holding: Holding, queue: FairQueue | undefined) {
    this.#gates = gates;
    this.#holding = holding;
    this.#queue = queue;
  }

  get heldBytes(): number {
    return this.#holding.bytes;
  }

  enter(valuesMax: number): number | Promise<number> {
    const bytes = this.#gates.expectedBytes(this.#holding.owner, valuesMax);
    const turn = this.pause();
    if (turn !== undefined) return turn.then(() => this.#reserve(bytes));
    return this.#reserve(bytes);
  }

  leave(entered: number, bytes: number): Promise<void> | undefined {
    const held = bytes * answerFactor;
    if (this.#isReleased) return undefined;
    if (entered > limits.valueBytesMax || held > entered) this.#gates.learn(this.#holding.owner, held);
    if (held !== entered) this.#holding.change(held - entered);
    return bytes > largeBytes ? this.pause() : undefined;
  }

  forget(): void {
    if (!this.#isReleased && this.#holding.bytes > 0) this.#holding.release();
  }

  pause(): Promise<void> | undefined {
    return this.#queue?.pause(this.#holding.owner);
  }

  /** Call this before building an answer. A large answer waits for its own turn. Undefined: start at once. */
  turn(): Promise<void> | undefined {
    return this.heldBytes > largeBytes ? this.pause() : undefined;
  }

  /** Reserves bytes for answers that are not built from metered reads. */
  async hold(bytes: number): Promise<void> {
    await this.#reserve(bytes);
  }

  /** Corrects the reservation to the actual number of bytes. */
  correct(bytes: number): void {
    if (!this.#isReleased) this.#holding.change(bytes - this.#holding.bytes);
  }

  release(): void {
    this.#isReleased = true;
    this.#holding.release();
  }

  #reserve(bytes: number): number | Promise<number> {
    if (this.#isReleased) throw leftAlone();
    if (bytes === 0) return 0;
    const room = this.#holding.reserve(bytes);
    if (room === undefined) return bytes;
    return room.then(() => {
      if (!this.#isReleased) return bytes;
      this.#holding.release();
      throw leftAlone();
    });
  }
}

/** The caller is gone, so nothing would release a new reservation. */
const leftAlone = (): HoldfastError => new HoldfastError("cancelled", "The caller went away.");
