/** Work that takes longer than this gives up its slot: it is waiting for something that the others need not wait for. */
const slotMs = 50;

/**
 * Decides when queued items are sent: at most `max` batches at a time, and items that arrive meanwhile form the next batch. A separate statement or transaction
 * costs the server and the driver far more than one extra row.
 */
export class BatchScheduler {
  readonly #max: number;
  readonly #begin: (scheduler: BatchScheduler) => boolean;
  #taken = 0;
  #isScheduled = false;

  /** `begin` is called when a slot is free: it takes queued items and runs them. False: there was nothing to take. */
  constructor(max: number, begin: (scheduler: BatchScheduler) => boolean) {
    this.#max = max;
    this.#begin = begin;
  }

  /** Call this when an item has arrived. Items that arrive in the same turn of the event loop join the batch. */
  schedule(turns = 1): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const turn = (left: number): void => void setImmediate(() => (left > 1 ? turn(left - 1) : this.#go()));
    turn(turns);
  }

  #go(): void {
    this.#isScheduled = false;
    while (this.#taken < this.#max && this.#begin(this));
  }

  /** `work` must not fail. It may release its slot before it ends, if others need not wait for the rest. */
  async run(work: (leave: () => void) => Promise<void>): Promise<void> {
    this.#taken += 1;
    let isIn = true;
    const leave = (): void => {
      if (!isIn) return;
      isIn = false;
      this.#taken -= 1;
      // Callers that just got an answer may send another request, so let them join. It takes them one turn to get here, and another to be collected.
      this.schedule(2);
    };
    const timer = setTimeout(leave, slotMs);
    await work(leave);
    clearTimeout(timer);
    leave();
  }
}
