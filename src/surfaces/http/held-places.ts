/** Something that lasts as long as its caller likes: a call that waits, an open stream. */
export interface HeldPlace {
  readonly principal: object;
  readonly namespace: string;
  /** Ends it early, so that another gets the place. */
  readonly end: () => void;
}

interface PlacesMax {
  readonly all: number;
  readonly ofPrincipal: number;
  readonly ofNamespace: number;
}

/**
 * A bounded number of places that never runs out for newcomers: when it is full, the largest holder's oldest place is given away. The largest holder is a principal
 * of the namespace that holds most: whoever administers one namespace can make many principals in it, and must not gain by that.
 */
export class HeldPlaces {
  readonly #max: PlacesMax;
  /** The oldest first. */
  readonly #places = new Set<HeldPlace>();
  readonly #byPrincipal = new Map<object, number>();
  readonly #byNamespace = new Map<string, number>();

  constructor(max: PlacesMax) {
    this.#max = max;
  }

  get size(): number {
    return this.#places.size;
  }

  /** Whose place would be given away. Undefined: there is room. */
  get largestHolder(): object | undefined {
    return this.#places.size < this.#max.all ? undefined : this.#largestIn(largest(this.#byNamespace));
  }

  add(place: HeldPlace): void {
    const { principal, namespace } = place;
    const { all, ofPrincipal, ofNamespace } = this.#max;
    if ((this.#byPrincipal.get(principal) ?? 0) >= ofPrincipal) this.#endOldest((each) => each.principal === principal);
    if ((this.#byNamespace.get(namespace) ?? 0) >= ofNamespace) this.#endOldestOf(namespace);
    if (this.#places.size >= all) this.#endOldestOf(largest(this.#byNamespace));
    this.#places.add(place);
    count(this.#byPrincipal, principal, 1);
    count(this.#byNamespace, namespace, 1);
  }

  /** False: it was given away before. */
  delete(place: HeldPlace): boolean {
    if (!this.#places.delete(place)) return false;
    count(this.#byPrincipal, place.principal, -1);
    count(this.#byNamespace, place.namespace, -1);
    return true;
  }

  #largestIn(namespace: string | undefined): object | undefined {
    const holders = new Map<object, number>();
    for (const place of this.#places) if (place.namespace === namespace) count(holders, place.principal, 1);
    return largest(holders);
  }

  #endOldestOf(namespace: string | undefined): void {
    const principal = this.#largestIn(namespace);
    this.#endOldest((place) => place.namespace === namespace && place.principal === principal);
  }

  #endOldest(isMeant: (place: HeldPlace) => boolean): void {
    for (const place of this.#places) {
      if (!isMeant(place)) continue;
      this.delete(place);
      place.end();
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
