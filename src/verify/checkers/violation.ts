/** One broken promise: which one, by what name, and the facts a person needs to look it up. */
export interface Violation {
  /** The number in docs/guarantees.md. */
  readonly guarantee: `G${number}`;
  readonly fault: string;
  readonly detail: string;
}

/** Reports of one checker; a broken store breaks a promise thousands of times, and the first few tell the story. */
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
