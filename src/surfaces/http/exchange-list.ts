import type { Exchange } from "./exchange.ts";

/**
 * The exchanges in progress, as a linked list. A Set that many items pass through allocates a new table every few items. An old table that V8 has moved to the
 * old generation keeps the next one alive, with everything that was ever in it, until a full collection. So every request would outlive its end.
 */
export class ExchangeList {
  #first: Exchange | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(exchange: Exchange): void {
    exchange.isListed = true;
    exchange.next = this.#first;
    if (this.#first !== undefined) this.#first.previous = exchange;
    this.#first = exchange;
    this.#size += 1;
  }

  has(exchange: Exchange): boolean {
    return exchange.isListed;
  }

  /** False: it is not in progress, or no longer. */
  delete(exchange: Exchange): boolean {
    if (!exchange.isListed) return false;
    const { previous, next } = exchange;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next !== undefined) next.previous = previous;
    exchange.isListed = false;
    exchange.previous = undefined;
    exchange.next = undefined;
    this.#size -= 1;
    return true;
  }

  /** A copy, so that the caller may end exchanges while it iterates. */
  *[Symbol.iterator](): Generator<Exchange> {
    const all: Exchange[] = [];
    for (let exchange = this.#first; exchange !== undefined; exchange = exchange.next) all.push(exchange);
    yield* all;
  }
}
