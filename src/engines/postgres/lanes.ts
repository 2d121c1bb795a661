/** What takes this long no longer keeps others from beginning: it waits for something that they need not wait for. */
const laneMs = 50;

/**
 * When what has gathered goes on its way. A few things at once; what comes meanwhile goes together afterwards. By itself, a statement or a transaction costs the
 * server and the driver far more than one row more in it. More than one lane: while the server works on one, the other is prepared.
 */
export class Lanes {
  readonly #max: number;
  readonly #begin: (free: number) => void;
  #used = 0;
  #isDue = false;

  /** `begin` is called when there is room for so many; it takes of what has gathered and runs it. */
  constructor(max: number, begin: (free: number) => void) {
    this.#max = max;
    this.#begin = begin;
  }

  /** Something has come. What comes in the same turn of the event loop goes along. */
  due(turns = 1): void {
    if (this.#isDue) return;
    this.#isDue = true;
    const turn = (left: number): void => void setImmediate(() => (left > 1 ? turn(left - 1) : this.#go()));
    turn(turns);
  }

  #go(): void {
    this.#isDue = false;
    if (this.#used < this.#max) this.#begin(this.#max - this.#used);
  }

  /** `work` must not fail. */
  async run(work: () => Promise<void>): Promise<void> {
    this.#used += 1;
    let isCounted = true;
    const leave = (): void => {
      if (isCounted) this.#used -= 1;
      isCounted = false;
      // Callers that were just answered may ask again: let them join. They take one turn to get here, and another one to be gathered.
      this.due(2);
    };
    const timer = setTimeout(leave, laneMs);
    await work();
    clearTimeout(timer);
    leave();
  }
}
