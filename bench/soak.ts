import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import type { Sample } from "./flat-memory.ts";
import { slopePer } from "./flat-memory.ts";
import type { Figure } from "./report.ts";
import { quantile } from "./rounds.ts";
import type { SoakClient } from "./soak-clients.ts";
import { clientKinds } from "./soak-clients.ts";
import type { Surroundings } from "./surroundings.ts";

const sampleEveryMs = 2_000;
/** Filling caches and compiling the hot code is not a leak. */
const warmUpPart = 1 / 3;
const problemsShown = 5;

/** Mixed load of 64 clients over HTTP for the given time: errors, times, and whether memory and descriptors stay constant. */
export async function measureSoak({ serving, progress }: Surroundings, { minutes }: { readonly minutes: number }): Promise<Figure[]> {
  const { file, args = [] } = serving("soak.db");
  const server = spawn(process.execPath, [file, ...args, "--profile", "all", "--history-revisions", "50000"], { stdio: ["ignore", "pipe", "inherit"] });
  const [text] = (await once(server.stdout, "data")) as [Buffer];
  const { url } = JSON.parse(String(text).split("\n")[0] as string) as { readonly url: string };
  const pid = server.pid as number;
  let isOver = false;
  let calls = 0;
  const problems: string[] = [];
  const timesMs: number[] = [];
  const timesOf = new Map<string, number[]>();
  const client: SoakClient = {
    url,
    isOver: () => isOver,
    onAnswer(what, ms) {
      calls += 1;
      if (ms === undefined) return;
      timesMs.push(ms);
      const times = timesOf.get(what) ?? [];
      timesOf.set(what, times);
      times.push(ms);
    },
    onProblem: (problem) => void problems.push(problem),
  };
  const forMs = minutes * 60_000;
  const startedMs = performance.now();
  const elapsedMs = (): number => performance.now() - startedMs;
  const working = clientKinds.flatMap(({ count, live }, kind) => Array.from({ length: count }, (_, i) => live(client, kind * 100 + i)));
  const samples: Soaked[] = [];
  const latenciesMs: { readonly p50: number; readonly p99: number }[] = [];
  try {
    while (elapsedMs() < forMs && server.exitCode === null) {
      await new Promise((resolve) => setTimeout(resolve, sampleEveryMs));
      const descriptors = readdirSync(`/proc/${pid}/fd`).length;
      const mebibytes = residentBytes(pid) / 1_048_576;
      const window = timesMs.splice(0);
      if (elapsedMs() < warmUpPart * forMs) continue;
      samples.push({ calls, mebibytes, descriptors });
      if (window.length > 0) latenciesMs.push({ p50: quantile(window, 0.5), p99: quantile(window, 0.99) });
      progress(
        `soak: ${(elapsedMs() / 60_000).toFixed(1)} of ${minutes} min, ${calls.toLocaleString("en-US")} calls, ${mebibytes.toFixed(0)} MiB, ${descriptors} descriptors, ${problems.length} problems`,
      );
    }
    if (server.exitCode !== null) throw new Error(`The server ended with ${server.exitCode} in the middle of the soak.`);
    const measuredMs = elapsedMs();
    isOver = true;
    await Promise.all(working);
    for (const problem of problems.slice(0, problemsShown)) process.stderr.write(`${problem}\n`);
    const [slowest = "none", itsTimesMs = [0]] = [...timesOf].toSorted(([, a], [, b]) => quantile(b, 0.5) - quantile(a, 0.5))[0] ?? [];
    const half = Math.floor(samples.length / 2);
    const gained = (of: "mebibytes" | "descriptors"): number => middle(samples.slice(-half), of) - middle(samples.slice(0, half), of);
    return [
      { what: `calls answered in ${minutes} min by ${working.length} clients`, unit: "count", value: steady(calls) },
      { what: "calls", unit: "per second", value: steady((calls / measuredMs) * 1_000) },
      { what: "calls that failed", unit: "count", value: steady(problems.length), budget: { atMost: 0 } },
      { what: "median time of a call", unit: "ms", value: spread(latenciesMs.map(({ p50 }) => p50)) },
      { what: "99th percentile of a call", unit: "ms", value: spread(latenciesMs.map(({ p99 }) => p99)) },
      { what: `median time of the slowest kind of call, ${slowest}`, unit: "ms", value: steady(quantile(itsTimesMs, 0.5)) },
      { what: "resident memory of the server", unit: "MiB", value: spread(samples.map(({ mebibytes }) => mebibytes)) },
      { what: "memory gained from the second third of the time to the last", unit: "MiB", value: steady(gained("mebibytes")), budget: { atMost: 12 } },
      { what: "memory gained per 100,000 calls meanwhile", unit: "MiB", value: steady(slopePer(samples, 100_000)) },
      { what: "open descriptors of the server", unit: "count", value: spread(samples.map(({ descriptors }) => descriptors)) },
      { what: "descriptors gained from the second third of the time to the last", unit: "count", value: steady(gained("descriptors")), budget: { atMost: 16 } },
    ];
  } finally {
    isOver = true;
    server.kill("SIGTERM");
    if (server.exitCode === null) await once(server, "exit");
  }
}

interface Soaked extends Sample {
  readonly descriptors: number;
}

const middle = (samples: readonly Soaked[], of: "mebibytes" | "descriptors"): number =>
  quantile(
    samples.map((sample) => sample[of]),
    0.5,
  );
const steady = (value: number) => ({ median: value, min: value, max: value });
const spread = (values: readonly number[]) => ({ median: quantile(values, 0.5), min: Math.min(...values), max: Math.max(...values) });

function residentBytes(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  if (found === null) throw new Error("The operating system does not report the memory of a process.");
  return Number(found[1]) * 1_024;
}
