import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { measureDurable } from "./durable.ts";
import type { EngineName } from "./engines/measure-engines.ts";
import { engineNames, measureEngine } from "./engines/measure-engines.ts";
import { measureFlatMemory } from "./flat-memory.ts";
import { measureGrowth } from "./growth.ts";
import { measureHttp } from "./http.ts";
import { measureMigration } from "./migrate.ts";
import { measureProxy } from "./proxy.ts";
import type { Figure } from "./report.ts";
import { isKept, renderTable, toJson } from "./report.ts";
import { measureResume } from "./resume-run.ts";
import { measureSearch } from "./search-notes.ts";
import { measureSoak } from "./soak.ts";
import { measureColdStart, measureIdleMemory } from "./start-up.ts";
import { measureSums } from "./sums.ts";
import type { Surroundings } from "./surroundings.ts";
import { openSurroundings } from "./surroundings.ts";
import { measureThroughput } from "./throughput.ts";
import { measureTokens } from "./tokens.ts";
import { measureWorkflows } from "./workflows.ts";

type Measurement = (surroundings: Surroundings) => Promise<readonly Figure[]>;

const help = `npm run bench -- [--engines | --growth | --migrate | --soak [MINUTES]] [--only NAME,…] [--json] [--strict] [--dir FOLDER] [--server FILE]

Measures the product in src/ and prints each figure beside its floor, taken in the same run, and its budget.

  --engines         every engine against its own tool (redis-benchmark, pgbench) on a server started for it, instead of the budgets
  --growth          the cost of operations in a large store, and memory over many calls, instead of the budgets
  --migrate         a store with its whole history through every engine and back, copied and compared, instead of the budgets
  --soak [MINUTES]  mixed load of 64 clients over HTTP (default 10 minutes): errors, times, memory and descriptors, instead of the budgets
  --entries COUNT   growth: entries of the large store (default 1,000,000); migrate: of the store (default 100,000)
  --log-rows COUNT  growth: rows of its log (default 2,000,000; the design's figure is 5,000,000)
  --engine NAME     growth: the engine to measure, ${engineNames.join(", ")} (default sqlite)
  --calls COUNT     growth: calls over which memory is watched (default 200,000)
  --only NAME,…     only these: durable, throughput, http, cold-start, idle-memory, resume, search, tokens, sums, proxy; workflows (beside other queues, on servers started for it); engines: ${engineNames.join(", ")}; growth: store, memory
  --json            the figures as JSON
  --strict          exit with 1 when a budget is broken
  --server FILE     measure this executable over stdio instead of src/, for example an older build's dist/main.js
  --dir FOLDER      where stores are created and then removed; its disk is the one measured (default build/bench)
`;

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    engines: { type: "boolean" },
    growth: { type: "boolean" },
    migrate: { type: "boolean" },
    soak: { type: "boolean" },
    engine: { type: "string", default: "sqlite" },
    entries: { type: "string" },
    "log-rows": { type: "string", default: "2000000" },
    calls: { type: "string", default: "200000" },
    only: { type: "string" },
    json: { type: "boolean" },
    strict: { type: "boolean" },
    dir: { type: "string" },
    server: { type: "string" },
    help: { type: "boolean" },
  },
});

const budgets: Readonly<Record<string, Measurement>> = {
  durable: measureDurable,
  throughput: measureThroughput,
  http: measureHttp,
  "cold-start": measureColdStart,
  "idle-memory": measureIdleMemory,
  resume: measureResume,
  search: measureSearch,
  tokens: measureTokens,
  sums: measureSums,
  proxy: measureProxy,
};
/** Compares with other queues on servers started for it, so it runs only if --only names it. */
const comparisons: Readonly<Record<string, Measurement>> = { workflows: measureWorkflows };
const growth: Readonly<Record<string, Measurement>> = {
  store: (surroundings) => measureGrowth(surroundings, { engine: engineOf(), entries: countOf("entries", 1_000_000), logRows: countOf("log-rows") }),
  memory: (surroundings) => measureFlatMemory(surroundings, { calls: countOf("calls") }),
};

const migration: Readonly<Record<string, Measurement>> = {
  round: (surroundings) => measureMigration(surroundings, { entries: countOf("entries", 100_000, 1_000) }),
};

const soak: Readonly<Record<string, Measurement>> = { soak: (surroundings) => measureSoak(surroundings, { minutes: minutesOf() }) };

if (positionals.length > (flags.soak === true ? 1 : 0)) throw new Error(`Not understood: ${positionals.at(-1)}`);
if (flags.help === true) process.stdout.write(help);
else
  await run(
    flags.engines === true
      ? measureEngine
      : flags.growth === true
        ? growth
        : flags.migrate === true
          ? migration
          : flags.soak === true
            ? soak
            : flags.only === "workflows"
              ? comparisons
              : budgets,
  );

async function run(measurements: Readonly<Record<string, Measurement>>): Promise<void> {
  const names = flags.only?.split(",") ?? Object.keys(measurements);
  const wanted = names.map((name) => {
    const measure = measurements[name];
    if (measure === undefined) throw new Error(`--only: must be some of ${Object.keys(measurements).join(", ")}`);
    return measure;
  });
  const figures: Figure[] = [];
  // Before the first measurement, because later it would include the benches' own work.
  const loadBefore = loadavg()[0] as number;
  {
    using surroundings = openSurroundings({ dir: flags.dir, server: flags.server });
    for (const measure of wanted) figures.push(...(await measure(surroundings)));
  }
  const cores = cpus().length;
  if (flags.json === true) {
    const machine = { node: process.version, cores, platform: process.platform, load_before: loadBefore };
    process.stdout.write(`${JSON.stringify({ machine, figures: toJson(figures) }, null, 2)}\n`);
  } else {
    process.stdout.write(
      `Node ${process.version}, ${cores} cores, ${process.platform}; medians of rounds, ratios to floors measured alternately with the figures\n\n${renderTable(figures)}`,
    );
    if (loadBefore > cores / 2)
      process.stdout.write(
        `\nOther programs were using this machine (load ${loadBefore.toFixed(1)} on ${cores} cores): repeat the run before trusting a figure near its budget.\n`,
      );
  }
  if (flags.strict === true && figures.some((figure) => isKept(figure) === false)) process.exitCode = 1;
}

function engineOf(): EngineName {
  const engine = engineNames.find((name) => name === flags.engine);
  if (engine === undefined) throw new Error(`--engine: must be one of ${engineNames.join(", ")}`);
  return engine;
}

function minutesOf(): number {
  const minutes = Number(positionals[0] ?? 10);
  if (!(minutes >= 0.25 && minutes <= 10_000)) throw new Error("--soak: must be a number of minutes, at least 0.25");
  return minutes;
}

function countOf(name: "entries" | "log-rows" | "calls", otherwise?: number, min = 200_000): number {
  const count = Number(flags[name] ?? otherwise);
  if (!Number.isSafeInteger(count) || count < min) throw new Error(`--${name}: must be a whole number of at least ${min}`);
  return count;
}
