import type { Budget, Holding } from "../kernel/budget.ts";
import { HoldfastError } from "../kernel/errors.ts";
import type { FairQueue } from "../kernel/fair-queue.ts";
import { limits } from "./limits.ts";
import type { ReadGate } from "./metered-store.ts";

/** Values that one read is taken to bring at most: what lists values reads no more at a time. */
const readValuesMax = 16;
const listBytesMax = readValuesMax * limits.valueBytesMax;
/** An answer is made from what was read, and is there beside it until it is sent. */
const answerFactor = 2;
/** Work on so much is worth a place in the queue. */
const largeBytes = 65_536;
/** How fast the expectation of an owner's lists falls while they are small. */
const expectationFall = 0.98;
const ownersMax = 1_024;
/** The owner where there is one caller only. */
export const theClient = "client";

interface AnswerGatesOptions {
  readonly budget: Budget;
  /** Absent where there is one caller only. */
  readonly queue?: FairQueue;
}

/**
 * Bounds the memory and shares the time of answers being built. The bytes of a read are reserved before it begins: as many as one value can have,
 * for a list as many as the owner's lists had lately (at first: as many as a list can have), and are put right when it is known what the read brought.
 */
export class AnswerGates {
  readonly #budget: Budget;
  readonly #queue: FairQueue | undefined;
  /** By owner; the longest unused is forgotten first. */
  readonly #expected = new Map<string, number>();

  constructor({ budget, queue }: AnswerGatesOptions) {
    this.#budget = budget;
    this.#queue = queue;
  }

  /** For one call, or one request with all its calls. */
  open(owner: string): AnswerGate {
    return new AnswerGate(this, this.#budget.open(owner), this.#queue);
  }

  /** Before a request of this owner is worked on; undefined: at once. */
  enter(owner: string): Promise<void> | undefined {
    return this.#queue?.enter(owner);
  }

  /** Before commits of this writer are carried out, beside the requests that brought them; undefined: at once. */
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

/** The gate of one call's reads. Whoever opened it releases it when the answer is sent. */
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

  /** Before an answer is made of what was read. A large one is made in a turn of its own; undefined: at once. */
  turn(): Promise<void> | undefined {
    return this.heldBytes > largeBytes ? this.pause() : undefined;
  }

  /** So many bytes, for answers that are not made from metered reads. */
  async hold(bytes: number): Promise<void> {
    await this.#reserve(bytes);
  }

  /** What is held turned out to be so many bytes. */
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

/** The caller is gone, and nobody would give back what is reserved now. */
const leftAlone = (): HoldfastError => new HoldfastError("cancelled", "The caller went away.");
