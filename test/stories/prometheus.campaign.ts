import { execFileSync } from "node:child_process";
import { beforeAll, describe, expect, test } from "vitest";
import { startHttpServer } from "../support/http-server.ts";
import { requireService } from "./installed-package.ts";

/** Prometheus's own reader of the format; what it refuses, a scraper refuses. */
const reader = `
import json, sys
from prometheus_client.parser import text_string_to_metric_families
families = {}
for family in text_string_to_metric_families(sys.stdin.read()):
    if family.name in families: raise ValueError("twice: " + family.name)
    families[family.name] = {"type": family.type, "help": family.documentation, "samples": [[s.name, s.labels, s.value] for s in family.samples]}
print(json.dumps(families))
`;

type Sample = [name: string, labels: Record<string, string>, value: number];
type Families = Record<string, { readonly type: string; readonly help: string; readonly samples: readonly Sample[] }>;

describe("figures, as Prometheus reads them", () => {
  let python: string;
  beforeAll(async () => {
    python = await requireService("python-client.mjs");
  });
  const read = (text: string): Families => JSON.parse(execFileSync(python, ["-c", reader], { input: text, encoding: "utf8", stdio: ["pipe", "pipe", "pipe"] }));

  test("every line of /metrics is understood, buckets add up and counters say what happened", async () => {
    await using http = await startHttpServer();
    for (let i = 0; i < 25; i += 1) await http.callTool("state_set", { key: `k${i}`, value: i });
    const text = await (await http.fetch("/metrics")).text();
    const families = read(text);
    const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    expect(Object.values(families).reduce((sum, { samples }) => sum + samples.length, 0)).toBe(lines.length);
    expect(Object.values(families).filter(({ type, help }) => type === "unknown" || help === "")).toEqual([]);
    expect(families.holdfast_tool_calls?.samples).toContainEqual(["holdfast_tool_calls_total", { tool: "state_set", outcome: "ok" }, 25]);
    const histograms = Object.entries(families).filter(([, { type }]) => type === "histogram");
    expect(histograms.length).toBeGreaterThan(3);
    for (const [name, { samples }] of histograms) {
      const byLabels = new Map<string, Sample[]>();
      for (const [sample, { le, ...labels }, value] of samples) {
        const key = JSON.stringify(labels);
        byLabels.set(key, [...(byLabels.get(key) ?? []), [sample, le === undefined ? {} : { le }, value]]);
      }
      for (const series of byLabels.values()) {
        const counts = series.filter(([sample]) => sample === `${name}_bucket`).map(([, , value]) => value);
        expect(counts, name).toEqual(counts.toSorted((a, b) => a - b));
        expect(series.find(([sample]) => sample === `${name}_count`)?.[2], name).toBe(counts.at(-1));
        expect(series.find(([sample, { le }]) => sample === `${name}_bucket` && le === "+Inf")?.[2], name).toBe(counts.at(-1));
      }
    }
  });

  test("the reader refuses what is not well formed", () => {
    expect(() => read('x{a="b} 1\n')).toThrow();
    expect(() => read("x one\n")).toThrow();
  });
});
