import type { Store } from "../../store/store.ts";
import type { LineWriter } from "./line-writer.ts";

/** One after the other, each in a turn of the event loop of its own and when there is room for output: what one brings is counted before the next. */
export class Turns {
  readonly #writer: LineWriter;
  #last: Promise<void> = Promise.resolve();

  constructor(writer: LineWriter) {
    this.#writer = writer;
  }

  next(): Promise<void> {
    const turn = this.#last.then(() => new Promise<void>((resolve) => this.#writer.whenRoom(resolve)));
    this.#last = turn.then(() => new Promise((resolve) => setImmediate(resolve)));
    return turn;
  }
}

/**
 * A store that reads at most so much within one turn of the event loop; the surplus takes turns. One write can wake every call that waits for it,
 * and each would have its copy of a large value in memory long before the first answer is sent.
 */
export function readingInTurns(store: Store, writer: LineWriter, readsMax: number): Store {
  const turns = new Turns(writer);
  let reads = 0;
  return {
    ...store,
    async read(...args) {
      if (reads === 0)
        setImmediate(() => {
          reads = 0;
        });
      reads += 1;
      if (reads > readsMax) await turns.next();
      return store.read(...args);
    },
  };
}
