/**
 * What is counted while working, for whoever watches the process. Only a process that exposes its metrics makes a meter;
 * everybody else is given none, and pays nothing.
 *
 * Names follow Prometheus: `holdfast_` first, the base unit last (`_seconds`, `_bytes`), `_total` for what only grows.
 * A label takes one of a few words that the program itself chose: a tool, a route's pattern, an error's code. Never a key, a namespace, a principal or any
 * other text of a caller: metrics are shown to people who may not read those, and their number would be unbounded.
 */
export interface Meter {
  /** Only grows. The same name again is the same counter. */
  counter(name: string, help: string, labels?: LabelNames): Counter;
  /** Goes up and down with what is there now: `add(1)`, `add(-1)`. */
  level(name: string, help: string, labels?: LabelNames): Counter;
  /** Counts values by size. `bounds` grow; a value counts in the first bound that is not below it. */
  histogram(name: string, help: string, bounds: readonly number[], labels?: LabelNames): Histogram;
  /** Asked for when somebody looks. */
  gauge(name: string, help: string, read: () => MetricReading | Promise<MetricReading>, labels?: LabelNames): void;
  /** Like a gauge, for what only grows and is counted elsewhere. */
  total(name: string, help: string, read: () => MetricReading | Promise<MetricReading>, labels?: LabelNames): void;
  /** Runs only forward and in fractions of a millisecond; its zero means nothing. */
  nowMs(): number;
}

export type LabelNames = readonly [] | readonly [string] | readonly [string, string] | readonly [string, string, string];

/** Undefined: cannot be told just now. A list where the gauge has labels. */
export type MetricReading = number | undefined | readonly { readonly labels: readonly string[]; readonly value: number }[];

export interface Counter {
  /** One series, by the values of its labels. Keep it where they are known beforehand: adding to it is then one addition. */
  of(a?: string, b?: string, c?: string): CounterSeries;
}

export interface CounterSeries {
  add(amount?: number): void;
}

export interface Histogram {
  of(a?: string, b?: string, c?: string): HistogramSeries;
}

export interface HistogramSeries {
  record(value: number): void;
}

/** From a tenth of a millisecond, which a read from memory takes, to the minute after which clients give up. */
export const secondsBounds: readonly number[] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];
