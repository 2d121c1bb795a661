/** Something that lasts as long as its caller likes: a waiting call, an open stream. */
export interface HeldSlot {
  readonly principal: object;
  readonly namespace: string;
  /** Ends it early, so that another caller gets the slot. */
  readonly end: () => void;
}

interface SlotsMax {
  readonly all: number;
  readonly ofPrincipal: number;
  readonly ofNamespace: number;
}

/**
 * A bounded number of slots that never runs out for newcomers: when all are taken, the largest holder's oldest slot is reassigned. The largest holder is a principal
 * of the namespace that holds most: an admin of one namespace can create many principals in it and must not gain by that.
 */
export class HeldSlots {
  readonly #max: SlotsMax;
  /** Oldest first. */
  readonly #slots = new Set<HeldSlot>();
  readonly #byPrincipal = new Map<object, number>();
  readonly #byNamespace = new Map<string, number>();

  constructor(max: SlotsMax) {
    this.#max = max;
  }

  get size(): number {
    return this.#slots.size;
  }

  /** The principal that would lose a slot. Undefined: there is room. */
  get largestHolder(): object | undefined {
    return this.#slots.size < this.#max.all ? undefined : this.#largestIn(largest(this.#byNamespace));
  }

  add(slot: HeldSlot): void {
    const { principal, namespace } = slot;
    const { all, ofPrincipal, ofNamespace } = this.#max;
    if ((this.#byPrincipal.get(principal) ?? 0) >= ofPrincipal) this.#endOldest((each) => each.principal === principal);
    if ((this.#byNamespace.get(namespace) ?? 0) >= ofNamespace) this.#endOldestOf(namespace);
    if (this.#slots.size >= all) this.#endOldestOf(largest(this.#byNamespace));
    this.#slots.add(slot);
    count(this.#byPrincipal, principal, 1);
    count(this.#byNamespace, namespace, 1);
  }

  /** False: the slot was already reassigned. */
  delete(slot: HeldSlot): boolean {
    if (!this.#slots.delete(slot)) return false;
    count(this.#byPrincipal, slot.principal, -1);
    count(this.#byNamespace, slot.namespace, -1);
    return true;
  }

  #largestIn(namespace: string | undefined): object | undefined {
    const holders = new Map<object, number>();
    for (const slot of this.#slots) if (slot.namespace === namespace) count(holders, slot.principal, 1);
    return largest(holders);
  }

  #endOldestOf(namespace: string | undefined): void {
    const principal = this.#largestIn(namespace);
    this.#endOldest((slot) => slot.namespace === namespace && slot.principal === principal);
  }

  #endOldest(isMeant: (slot: HeldSlot) => boolean): void {
    for (const slot of this.#slots) {
      if (!isMeant(slot)) continue;
      this.delete(slot);
      slot.end();
      return;
    }
  }
}

function count<Key>(counts: Map<Key, number>, key: Key, change: 1 | -1): void {
  const sum = (counts.get(key) ?? 0) + change;
  if (sum === 0) counts.delete(key);
  else counts.set(key, sum);
}

function largest<Key>(counts: ReadonlyMap<Key, number>): Key | undefined {
  let found: { readonly key: Key; readonly held: number } | undefined;
  for (const [key, held] of counts) if (found === undefined || held > found.held) found = { key, held };
  return found?.key;
}
