import type { LabelNames } from "../kernel/meter.ts";

/** The most series per name; further ones share a single series, so that no caller can fill the memory with label values. */
export const seriesMax = 1_024;
/** A longer value, or one with other characters, was not chosen by the program. */
const plainWord = /^[\x20-\x7e]{0,100}$/;
const other = "other";

interface Branch<S> {
  series?: S;
  readonly next: Map<string, Branch<S>>;
}

/** The series of one name, found by label values without allocating anything. */
export class SeriesTable<S> {
  readonly #labels: LabelNames;
  readonly #make: () => S;
  readonly #root: Branch<S> = { next: new Map() };
  readonly #all: { readonly values: readonly string[]; readonly series: S }[] = [];

  constructor(labels: LabelNames, make: () => S) {
    this.#labels = labels;
    this.#make = make;
    // A metric without labels exists from the start, because absent and zero mean different things to a monitor.
    if (labels.length === 0) this.of();
  }

  of(a = "", b = "", c = ""): S {
    const depth = this.#labels.length;
    let branch: Branch<S> | undefined = this.#root;
    if (depth > 0) branch = branch.next.get(a);
    if (depth > 1) branch = branch?.next.get(b);
    if (depth > 2) branch = branch?.next.get(c);
    return branch?.series ?? this.#add([a, b, c].slice(0, depth));
  }

  get all(): readonly { readonly values: readonly string[]; readonly series: S }[] {
    return this.#all;
  }

  #add(values: readonly string[]): S {
    const fits = this.#all.length < seriesMax && values.every((value) => plainWord.test(value));
    const isOther = values.every((value) => value === other);
    if (!fits && !isOther) return this.of(other, other, other);
    let branch = this.#root;
    for (const value of values) {
      const next: Branch<S> = branch.next.get(value) ?? { next: new Map() };
      branch.next.set(value, next);
      branch = next;
    }
    branch.series = this.#make();
    this.#all.push({ values, series: branch.series });
    return branch.series;
  }
}
