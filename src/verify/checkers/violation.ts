/** One violation of a guarantee: which guarantee, the kind of fault, and the facts a person needs to investigate it. */
export interface Violation {
  /** The number in docs/guarantees.md. */
  readonly guarantee: `G${number}`;
  readonly fault: string;
  readonly detail: string;
}

/** The violations that one checker found. A broken store violates a guarantee thousands of times, and the first few are enough. */
export class Violations {
  readonly #guarantee: Violation["guarantee"];
  readonly #found: Violation[] = [];
  #left = 0;

  constructor(guarantee: Violation["guarantee"]) {
    this.#guarantee = guarantee;
  }

  add(fault: string, detail: string): void {
    if (this.#found.length < violationsMax) this.#found.push({ guarantee: this.#guarantee, fault, detail });
    else this.#left += 1;
  }

  list(): readonly Violation[] {
    if (this.#left === 0) return this.#found;
    return [...this.#found, { guarantee: this.#guarantee, fault: "more", detail: `${this.#left} more are left out.` }];
  }
}

const violationsMax = 50;
