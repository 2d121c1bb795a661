import { describe, expect, test } from "vitest";
import { exposition } from "../../src/telemetry/exposition.ts";
import { openMeter } from "../../src/telemetry/open-meter.ts";
import { seriesMax } from "../../src/telemetry/series.ts";
import { cpuMsOf } from "../support/cpu-ms.ts";

const textOf = async (meter: ReturnType<typeof openMeter>): Promise<string> => exposition(await meter.collect());

describe("the meter", () => {
  test("shows a counter from the start and by label, with help and type once", async () => {
    const meter = openMeter();
    meter.counter("a_total", "Without labels.").of().add();
    const calls = meter.counter("calls_total", "By tool.", ["tool", "outcome"]);
    calls.of("x", "ok").add();
    calls.of("x", "ok").add(2);
    calls.of("x", "conflict").add();
    meter.counter("idle_total", "Never added to.");
    expect(await textOf(meter)).toBe(
      [
        "# HELP a_total Without labels.",
        "# TYPE a_total counter",
        "a_total 1",
        "# HELP calls_total By tool.",
        "# TYPE calls_total counter",
        'calls_total{tool="x",outcome="ok"} 3',
        'calls_total{tool="x",outcome="conflict"} 1',
        "# HELP idle_total Never added to.",
        "# TYPE idle_total counter",
        "idle_total 0",
        "",
      ].join("\n"),
    );
  });

  test("counts a value in the first bound that is not below it, and shows buckets that add up", async () => {
    const meter = openMeter();
    const seconds = meter.histogram("wait_seconds", "Waits.", [0.1, 1], ["kind"]).of("k");
    for (const value of [0.05, 0.1, 0.5, 1, 7]) seconds.record(value);
    expect(await textOf(meter)).toContain(
      [
        'wait_seconds_bucket{kind="k",le="0.1"} 2',
        'wait_seconds_bucket{kind="k",le="1"} 4',
        'wait_seconds_bucket{kind="k",le="+Inf"} 5',
        'wait_seconds_sum{kind="k"} 8.65',
        'wait_seconds_count{kind="k"} 5',
      ].join("\n"),
    );
  });

  test("reads gauges on each scrape, and omits one that fails or has no value", async () => {
    const meter = openMeter();
    let level = 1;
    meter.gauge("now", "Now.", () => level);
    meter.gauge("later", "Later.", async () => [{ labels: ["v1"], value: 1 }], ["version"]);
    meter.gauge("broken", "Broken.", () => {
      throw new Error("no");
    });
    meter.gauge("unknown", "Unknown.", () => undefined);
    level = 5;
    expect(await textOf(meter)).toBe('# HELP now Now.\n# TYPE now gauge\nnow 5\n# HELP later Later.\n# TYPE later gauge\nlater{version="v1"} 1\n');
  });

  test("escapes what would end a line or a label, in help and in values", () => {
    const text = exposition([{ name: "x", help: "a\\b\nc", type: "gauge", labels: ["l"], samples: [{ labels: [["l", 'q"b\\s\nn']], value: Number.NaN }] }]);
    expect(text).toBe('# HELP x a\\\\b\\nc\n# TYPE x gauge\nx{l="q\\"b\\\\s\\nn"} NaN\n');
  });

  test("lets no caller fill the memory: too many, too long and strange words share one series", async () => {
    const meter = openMeter();
    const hostile = meter.counter("hostile_total", "Words of callers.", ["word"]);
    hostile.of("x".repeat(10_000)).add();
    hostile.of("line\nbreak").add();
    hostile.of("\u202e").add();
    for (let i = 0; i < 5 * seriesMax; i += 1) hostile.of(`word-${i}`).add();
    const [family] = await meter.collect();
    expect(family?.samples.length).toBeLessThanOrEqual(seriesMax + 1);
    expect(family?.samples.reduce((sum, { value }) => sum + value, 0)).toBe(5 * seriesMax + 3);
    expect(family?.samples.find(({ labels }) => labels[0]?.[1] === "other")?.value).toBeGreaterThan(4 * seriesMax);
  });

  test("the same name is the same figure, and a different one under it is a defect", () => {
    const meter = openMeter();
    meter.counter("n_total", "N.", ["a"]).of("x").add();
    expect(meter.counter("n_total", "N.", ["a"])).toBe(meter.counter("n_total", "N.", ["a"]));
    expect(() => meter.counter("n_total", "N.", ["b"])).toThrow(/registered twice/);
    expect(() => meter.histogram("n_total", "N.", [1])).toThrow(/registered twice/);
  });

  test("costs little: about as much as counting in a map", () => {
    const meter = openMeter();
    const known = meter.counter("known_total", "Known.").of();
    const labelled = meter.counter("labelled_total", "Labelled.", ["tool", "outcome"]);
    const seconds = meter.histogram("s_seconds", "S.", [0.001, 0.01, 0.1, 1]).of();
    const counts = new Map<string, number>();
    const count = (...labels: readonly string[]): void => {
      const key = labels.join(" ");
      counts.set(key, (counts.get(key) ?? 0) + 1);
    };
    const cpuMs = (work: () => void): number =>
      cpuMsOf(() => {
        for (let i = 0; i < 100_000; i += 1) work();
      });
    const works: Record<string, () => void> = {
      map: () => count("state_set", "ok"),
      known: () => known.add(),
      labelled: () => labelled.of("state_set", "ok").add(),
      histogram: () => seconds.record(0.02),
    };
    // In turns, and the quickest of each: what else the machine does counts for all.
    const laps = Array.from({ length: 5 }, () => Object.fromEntries(Object.entries(works).map(([name, work]) => [name, cpuMs(work)])));
    const quickest = (name: string): number => Math.max(1, Math.min(...laps.map((lap) => lap[name] as number)));
    for (const name of ["known", "labelled", "histogram"]) expect(quickest(name) / quickest("map"), name).toBeLessThan(8);
  });
});
