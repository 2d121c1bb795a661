/** What takes this long no longer keeps others from beginning: it waits for something that they need not wait for. */
const slotMs = 50;

/**
 * When what has gathered goes on its way: so many things at a time; what comes meanwhile goes together afterwards. By itself, a statement or a transaction costs the
 * server and the driver far more than one row more in it.
 */
export class BatchScheduler {
  readonly #max: number;
  readonly #begin: (scheduler: BatchScheduler) => boolean;
  #taken = 0;
  #isScheduled = false;

  /** `begin` is called when one is free: it takes of what has gathered and runs it. False: there was nothing to take. */
  constructor(max: number, begin: (scheduler: BatchScheduler) => boolean) {
    this.#max = max;
    this.#begin = begin;
  }

  /** Something has come. What comes in the same turn of the event loop goes along. */
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

  /** `work` must not fail. It may give its slot back before it ends, when others need not wait for the rest. */
  async run(work: (leave: () => void) => Promise<void>): Promise<void> {
    this.#taken += 1;
    let isIn = true;
    const leave = (): void => {
      if (!isIn) return;
      isIn = false;
      this.#taken -= 1;
      // Callers that were just answered may ask again: let them join. They take one turn to get here, and another one to be gathered.
      this.schedule(2);
    };
    const timer = setTimeout(leave, slotMs);
    await work(leave);
    clearTimeout(timer);
    leave();
  }
}
