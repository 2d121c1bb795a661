import { HoldfastError } from "../kernel/errors.ts";
import type { Counter, CounterSeries, Histogram, HistogramSeries, LabelNames, Meter, MetricReading } from "../kernel/meter.ts";
import type { Family, Sample } from "./exposition.ts";
import { SeriesTable } from "./series.ts";

/** A meter that keeps its values and can be read. */
export interface OpenMeter extends Meter {
  /** Every family with its current samples, in order of registration. A gauge that fails or takes too long has no samples. */
  collect(): Promise<readonly Family[]>;
}

/** A scrape waits at most this long for one metric. */
const readingMsMax = 2_000;

class Sum implements CounterSeries {
  value = 0;

  add(amount = 1): void {
    this.value += amount;
  }
}

class Spread implements HistogramSeries {
  readonly #bounds: readonly number[];
  /** One more than there are bounds, for values above the last bound. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  record(value: number): void {
    const bounds = this.#bounds;
    let i = 0;
    while (i < bounds.length && value > (bounds[i] as number)) i += 1;
    this.counts[i] = (this.counts[i] as number) + 1;
    this.sum += value;
  }
}

interface Known {
  readonly type: Family["type"];
  readonly labels: LabelNames;
  readonly recorder: unknown;
  family(): Promise<Family>;
}

export function openMeter(nowMs: () => number = () => performance.now()): OpenMeter {
  const known = new Map<string, Known>();

  const register = <R>(name: string, type: Family["type"], labels: LabelNames, make: () => { readonly recorder: R; family(): Promise<Family> }): R => {
    const found = known.get(name);
    if (found !== undefined) {
      if (found.type !== type || found.recorder === undefined || found.labels.join() !== labels.join())
        throw new HoldfastError("internal", `The metric ${name} was registered twice with different definitions.`);
      return found.recorder as R;
    }
    const made = make();
    known.set(name, { type, labels, ...made });
    return made.recorder;
  };

  const sums = (type: "counter" | "gauge", name: string, help: string, labels: LabelNames = []): Counter =>
    register(name, type, labels, () => {
      const recorder = new SeriesTable(labels, () => new Sum());
      const samples = (): Sample[] => recorder.all.map(({ values, series }) => ({ labels: named(labels, values), value: series.value }));
      return { recorder, family: async () => ({ name, help, type, labels, samples: samples() }) };
    });

  const readings = (type: "counter" | "gauge", name: string, help: string, read: () => MetricReading | Promise<MetricReading>, labels: LabelNames = []): void =>
    void register(name, type, labels, () => ({ recorder: undefined, family: async () => ({ name, help, type, labels, samples: readingSamples(labels, await readInTime(read)) }) }));

  return {
    nowMs,
    counter: (name, help, labels) => sums("counter", name, help, labels),
    level: (name, help, labels) => sums("gauge", name, help, labels),
    histogram: (name, help, bounds, labels = []): Histogram =>
      register(name, "histogram", labels, () => {
        const recorder = new SeriesTable(labels, () => new Spread(bounds));
        const samples = (): Sample[] => recorder.all.flatMap(({ values, series }) => spreadSamples(bounds, named(labels, values), series));
        return { recorder, family: async () => ({ name, help, type: "histogram" as const, labels, samples: samples() }) };
      }),
    gauge: (name, help, read, labels) => readings("gauge", name, help, read, labels),
    total: (name, help, read, labels) => readings("counter", name, help, read, labels),
    collect: () => Promise.all([...known.values()].map((each) => each.family())),
  };
}

const named = (labels: LabelNames, values: readonly string[]): readonly (readonly [string, string])[] => labels.map((label, i) => [label, values[i] ?? ""]);

function spreadSamples(bounds: readonly number[], labels: readonly (readonly [string, string])[], { counts, sum }: Spread): Sample[] {
  let count = 0;
  const buckets = [...bounds, Number.POSITIVE_INFINITY].map((bound, i): Sample => {
    count += counts[i] as number;
    return { suffix: "_bucket", labels: [...labels, ["le", bound === Number.POSITIVE_INFINITY ? "+Inf" : String(bound)]], value: count };
  });
  return [...buckets, { suffix: "_sum", labels, value: sum }, { suffix: "_count", labels, value: count }];
}

function readingSamples(labels: LabelNames, reading: MetricReading): Sample[] {
  if (reading === undefined) return [];
  if (typeof reading === "number") return [{ labels: [], value: reading }];
  return reading.map(({ labels: values, value }) => ({ labels: named(labels, values), value }));
}

async function readInTime(read: () => MetricReading | Promise<MetricReading>): Promise<MetricReading> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, readingMsMax, undefined);
    timer.unref();
  });
  try {
    return await Promise.race([read(), late]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
