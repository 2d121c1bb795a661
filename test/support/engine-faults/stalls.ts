const tickMs = 20;

/** For how long this process was not given the machine, since it began to look: adds up by how much a timer comes late. */
export class Stalls {
  #sumMs = 0;
  #tickedMs = performance.now();

  constructor() {
    setInterval(() => {
      this.#sumMs += this.#late;
      this.#tickedMs = performance.now();
    }, tickMs).unref();
  }

  get #late(): number {
    return Math.max(0, performance.now() - this.#tickedMs - 2 * tickMs);
  }

  get totalMs(): number {
    return this.#sumMs + this.#late;
  }
}
