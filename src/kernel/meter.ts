/**
 * Metrics for monitoring. Only a process that exposes metrics creates a meter;
 * other processes have none and pay nothing.
 *
 * Names follow Prometheus: the prefix `holdfast_`, the base unit last (`_seconds`, `_bytes`), `_total` for values that only increase.
 * A label has one of a few values chosen by the program: a tool, a route's pattern, an error's code. Never a key, a namespace, a principal or any
 * other text from a caller: people who may not read those can see the metrics, and the number of series would be unbounded.
 */
export interface Meter {
  /** Only increases. Repeated calls with the same name return the same counter. */
  counter(name: string, help: string, labels?: LabelNames): Counter;
  /** Follows a current amount up and down: `add(1)`, `add(-1)`. */
  level(name: string, help: string, labels?: LabelNames): Counter;
  /** Counts values by size. `bounds` are ascending; a value counts in the first bound that is not below it. */
  histogram(name: string, help: string, bounds: readonly number[], labels?: LabelNames): Histogram;
  /** Read whenever the metrics are collected. */
  gauge(name: string, help: string, read: () => MetricReading | Promise<MetricReading>, labels?: LabelNames): void;
  /** Like a gauge, for values that only increase and are counted elsewhere. */
  total(name: string, help: string, read: () => MetricReading | Promise<MetricReading>, labels?: LabelNames): void;
  /** A monotonic clock with fractions of a millisecond; its zero has no meaning. */
  nowMs(): number;
}

export type LabelNames = readonly [] | readonly [string] | readonly [string, string] | readonly [string, string, string];

/** Undefined: currently unknown. A list if the gauge has labels. */
export type MetricReading = number | undefined | readonly { readonly labels: readonly string[]; readonly value: number }[];

export interface Counter {
  /** One series, by its label values. If they are known in advance, keep the series: each update is then a single addition. */
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

/** From a tenth of a millisecond, the time of a read from memory, to one minute, when clients give up. */
export const secondsBounds: readonly number[] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];
