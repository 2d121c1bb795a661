// Everything that must hold, in one command: build, types, lint, generated documents, tests on this Node and on real servers, the SQLite suites on Node 24, stories.
// Prints a matrix and, last, one line "N passed, N failed". A missing tool is a failure that says how to get it; nothing is skipped in silence.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const reports = join(root, "build", "test-reports");
const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
const stepMinutesMax = 18;
const thisNode = `Node ${process.versions.node.split(".")[0]}`;

/** What a test file exercises, by its path; the first match counts. A title that ends in "on ENGINE" says more than the path; the driver follows from the engine and the runtime. */
const suites = [
  { path: /^test\/stories\/inspector/, suite: "story: Inspector", engine: "sqlite" },
  { path: /^test\/stories\/python/, suite: "story: Python client", engine: "sqlite" },
  { path: /^test\/stories\/prometheus/, suite: "story: Prometheus", engine: "sqlite" },
  { path: /^test\/stories\/clients/, suite: "story: real clients", engine: "sqlite" },
  { path: /^test\/stories\/http-clients/, suite: "story: clients over HTTP", engine: "sqlite" },
  { path: /^test\/conformance\//, suite: "MCP conformance", engine: "sqlite" },
  { path: /^test\/stories\//, suite: "stories", engine: "sqlite" },
  { path: /^test\/store\/memory/, suite: "store conformance", engine: "memory" },
  { path: /^test\/store\/sqlite\.test/, suite: "store conformance", engine: "sqlite" },
  { path: /^test\/store\/postgres\.test/, suite: "store conformance", engine: "postgres" },
  { path: /^test\/store\/redis\.test/, suite: "store conformance", engine: "redis" },
  { path: /^test\/store\/histories/, suite: "random histories", engine: "sqlite" },
  { path: /^test\/store\/concurrency\//, suite: "many processes", engine: "sqlite" },
  { path: /^test\/store\/sqlite/, suite: "SQLite engine", engine: "sqlite" },
  { path: /^test\/store\/postgres/, suite: "PostgreSQL engine", engine: "postgres" },
  { path: /^test\/store\/redis/, suite: "Redis engine", engine: "redis" },
  { path: /^test\/store\//, suite: "store", engine: "memory" },
  { path: /^test\/crash\//, suite: "crash", engine: "sqlite" },
  { path: /^test\/faults\/.*postgres/, suite: "faults", engine: "postgres" },
  { path: /^test\/faults\/.*redis/, suite: "faults", engine: "redis" },
  { path: /^test\/faults\//, suite: "faults" },
  { path: /^test\/load\//, suite: "hostile load", engine: "sqlite" },
  { path: /^test\/browser\//, suite: "browser", engine: "sqlite" },
  { path: /^test\/parity\//, suite: "parity" },
  { path: /^test\/transfer\//, suite: "transfer" },
  { path: /^test\/verify\//, suite: "verify" },
  { path: /^test\/telemetry\//, suite: "figures and traces" },
  { path: /^test\/search\//, suite: "search", engine: "memory" },
  { path: /^test\/domain\//, suite: "domain", engine: "memory" },
  { path: /^test\/tools\//, suite: "tools", engine: "memory" },
  { path: /^test\/(surfaces|timing)\//, suite: "surfaces", engine: "sqlite" },
  { path: /^test\/support\/servers\/postgres/, suite: "real servers", engine: "postgres" },
  { path: /^test\/support\/servers\/redis/, suite: "real servers", engine: "redis" },
  { path: /^test\/support\/(servers\/|fault-proxy)/, suite: "real servers" },
  { path: /^test\/bench/, suite: "bench" },
  { path: /^test\/library/, suite: "library", engine: "sqlite" },
  { path: /^test\//, suite: "project" },
];

/** How an engine stands in the matrix: with its driver, and with the version of the server that the tests start. */
const shownEngines = {
  memory: () => "memory",
  sqlite: (runtime) => `sqlite (${runtime === "Node 20" ? "photostructure" : "node:sqlite"})`,
  postgres: () => `${process.env.HOLDFAST_TEST_POSTGRES_URL ? "PostgreSQL as given" : (versions.postgres ?? "PostgreSQL")} (pg)`,
  redis: () => `${process.env.HOLDFAST_TEST_REDIS_URL ? "redis as given" : (versions.redis ?? "redis")} (ioredis)`,
};
const engineWords = { memory: "memory", sqlite: "sqlite", postgres: "postgres", postgresql: "postgres", redis: "redis", valkey: "redis" };
const versions = {};

const rows = [];
const remarks = [];
const startedMs = performance.now();
rmSync(reports, { recursive: true, force: true });
mkdirSync(reports, { recursive: true });

// Programs that the tests need, fetched one after another beside everything else; each is waited for where it is first used.
const redis = service("Redis", "redis.mjs", "redis");
const postgres = redis.then(() => service("PostgreSQL", "postgres.mjs", "postgres"));
const node24 = postgres.then(() => service("Node 24", "node24.mjs"));
const clients = node24.then(async () => [
  await service("Inspector", "inspector.mjs"),
  await service("Python client", "python-client.mjs"),
  await service("Clients", "clients.mjs"),
  await service("LangGraph", "langgraph.mjs"),
  await service("Conformance suite", "conformance.mjs"),
]);

const chromium = clients.then(() => service("Chromium", "chromium.mjs"));

await Promise.all([
  step("build", [process.execPath, "scripts/build.mjs"]),
  // The page and its tests know a browser's names, which nothing else may: projects of their own.
  step("types", [process.execPath, join("node_modules", "typescript", "bin", "tsc"), "-p", "."]),
  step("types of the page", [process.execPath, join("node_modules", "typescript", "bin", "tsc"), "-p", "dashboard"]),
  step("types of its tests", [process.execPath, join("node_modules", "typescript", "bin", "tsc"), "-p", "test/browser"]),
  step("lint", [process.execPath, join("node_modules", "@biomejs", "biome", "bin", "biome"), "check", "--error-on-warnings", "."]),
  step("generated documents", [process.execPath, "scripts/generate.mjs", "--check"]),
]);
// The tests start servers of their own from these programs, and fail one by one where they are missing.
await Promise.all([redis, postgres]);

// Campaigns start dozens of processes each: one file at a time. What looks at the clock runs last, when nothing else does.
const campaigns = ["test/crash", "test/store/concurrency", "test/faults", "test/support/servers", "test/load"];
const quiet = ["test/timing", "test/browser/large.test.ts", "test/browser/live.test.ts", "test/surfaces/hook-process.test.ts", "test/transfer/migrate-process.test.ts"];
const served = ["test/conformance", "test/browser"];
const without = (paths) => paths.flatMap((path) => ["--exclude", path.endsWith(".ts") ? path : `${path}/**`]);

// Two streams: much of what both do is to wait, for disks, servers and lapses.
await Promise.all([
  (async () => {
    await tests("tests", thisNode, [process.execPath, vitest, "run", ...without(["test/stories", ...served, ...campaigns, ...quiet])]);
    const fetched = [await node24, ...(await clients)];
    if (fetched.every((path) => path !== undefined)) await tests("stories", thisNode, [process.execPath, vitest, "run", "test/stories"]);
    await chromium;
    await tests("served", thisNode, [process.execPath, vitest, "run", "--no-file-parallelism", ...served, ...without(quiet)]);
    const runtime = await node24;
    if (runtime !== undefined) await tests("tests on Node 24", "Node 24", [runtime, vitest, "run", "--no-file-parallelism", "--config", "vitest.node24.config.ts"]);
  })(),
  tests("campaigns", thisNode, [process.execPath, vitest, "run", "--no-file-parallelism", ...campaigns]),
]);
await tests("quiet", thisNode, [process.execPath, vitest, "run", "--no-file-parallelism", ...quiet]);
conclude();

/** One command that passes or fails as a whole. */
async function step(name, command) {
  const { code, seconds } = await run(name, command);
  rows.push({ suite: name, engine: "", runtime: thisNode, passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0, seconds });
  if (code !== 0) remarks.push(`FAILED ${name}: ${command.map((word) => (word === process.execPath ? "node" : word)).join(" ")}`);
}

/** Something the tests need that is fetched on first use; prints its path. Answers undefined, and counts a failure, where it cannot be had. */
async function service(name, script, engine) {
  const { code, seconds, stdout } = await run(name, [process.execPath, join("scripts", "test-services", script)]);
  const [path, version] = stdout.trim().split("\n").reverse();
  if (engine !== undefined) versions[engine] = version;
  if (code === 0 && path !== undefined && existsSync(path)) return path;
  rows.push({ suite: `needs ${name}`, engine: "", runtime: thisNode, passed: 0, failed: 1, skipped: 0, seconds });
  remarks.push(`FAILED ${name} could not be found or fetched; scripts/test-services/${script} says above what to do.`);
  return undefined;
}

async function tests(name, runtime, command) {
  const report = join(reports, `${name.replaceAll(" ", "-")}.json`);
  const { code, seconds } = await run(name, [...command, "--reporter=default", "--reporter=json", `--outputFile.json=${report}`]);
  const results = existsSync(report) ? JSON.parse(readFileSync(report, "utf8")).testResults : [];
  const failures = results.reduce((total, file) => total + addFile(file, runtime), 0);
  if (results.length === 0) addFailure(name, runtime, seconds, `${name} ended with exit code ${code} and without a report.`);
  else if (code !== 0 && failures === 0) addFailure(name, runtime, 0, `${name}: every test passed, but the runner ended with exit code ${code} (see above).`);
}

function addFailure(suite, runtime, seconds, remark) {
  rows.push({ suite, engine: "", runtime, passed: 0, failed: 1, skipped: 0, seconds });
  remarks.push(`FAILED ${remark}`);
}

/** Adds one file's results to its rows, one for each engine, and answers how many failed. A file that could not be loaded is one failure. */
function addFile(file, runtime) {
  const path = relative(root, file.name).replaceAll("\\", "/");
  const { suite, engine } = suites.find((entry) => entry.path.test(path)) ?? { suite: path };
  let failures = 0;
  let unaccountedMs = Math.max(0, file.endTime - file.startTime);
  for (const { status, fullName, ancestorTitles, title, duration } of file.assertionResults) {
    const row = rowOf(suite, engineOf([title, ...ancestorTitles]) ?? engine, runtime);
    row.seconds += (duration ?? 0) / 1_000;
    unaccountedMs -= duration ?? 0;
    if (status === "passed") row.passed += 1;
    else if (status === "failed") {
      row.failed += 1;
      failures += 1;
      remarks.push(`FAILED ${runtime} ${path}: ${fullName}`);
    } else {
      row.skipped += 1;
      remarks.push(`skipped ${runtime} ${path}: ${fullName}`);
    }
  }
  // Loading the file and its hooks belong to no single test. Tests that run at the same time count each its own.
  const [first] = file.assertionResults;
  const row = rowOf(suite, (first && engineOf([first.title, ...first.ancestorTitles])) ?? engine, runtime);
  row.seconds += Math.max(0, unaccountedMs) / 1_000;
  if (file.status === "failed" && failures === 0) {
    row.failed += 1;
    failures += 1;
    remarks.push(`FAILED ${runtime} ${path}: ${file.message.split("\n")[0]}`);
  }
  return failures;
}

/** The engine that one of the titles ends in: "… on Redis". */
function engineOf(titles) {
  const named = titles.map((title) => /\bon (\w+)$/.exec(title)?.[1]?.toLowerCase()).find((word) => word !== undefined && Object.hasOwn(engineWords, word));
  return named === undefined ? undefined : engineWords[named];
}

function rowOf(suite, engine, runtime) {
  const shown = engine === undefined ? "" : shownEngines[engine](runtime);
  const found = rows.find((row) => row.suite === suite && row.engine === shown && row.runtime === runtime);
  if (found !== undefined) return found;
  const row = { suite, engine: shown, runtime, passed: 0, failed: 0, skipped: 0, seconds: 0 };
  rows.push(row);
  return row;
}

/**
 * Runs to the end, or to the time limit: a run that hangs must fail, not wait for somebody to notice. What it prints is passed on at once,
 * each line behind the run's name, because several run at a time.
 */
function run(name, [command, ...args]) {
  return new Promise((resolve) => {
    const fromMs = performance.now();
    // A group of its own, so that the time limit also ends what the command has started; where the system shares its time out by groups, none starves the others.
    const child = spawn(command, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"], detached: process.platform !== "win32" });
    let stdout = "";
    child.stdout.on("data", (text) => {
      stdout += text;
    });
    for (const output of [child.stdout, child.stderr]) createInterface({ input: output.setEncoding("utf8") }).on("line", (line) => process.stdout.write(`${name} | ${line}\n`));
    const limit = setTimeout(() => {
      process.stderr.write(`${name} | No end after ${stepMinutesMax} minutes; stopped.\n`);
      end(child);
    }, stepMinutesMax * 60_000);
    const stop = () => end(child);
    process.once("SIGINT", stop).once("SIGTERM", stop);
    const finish = (code) => {
      clearTimeout(limit);
      process.off("SIGINT", stop).off("SIGTERM", stop);
      resolve({ code, stdout, seconds: (performance.now() - fromMs) / 1_000 });
    };
    child.once("error", (error) => {
      process.stderr.write(`${command}: ${error.message}\n`);
      finish(127);
    });
    child.once("close", (code) => finish(code ?? 1));
  });
}

function end(child) {
  try {
    if (process.platform === "win32") child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch {
    // It ended by itself meanwhile.
  }
}

function conclude() {
  const header = { suite: "suite", engine: "engine (driver)", runtime: "runtime", passed: "passed", failed: "failed", skipped: "skipped", seconds: "seconds" };
  const shown = rows.map((row) => ({ ...row, seconds: row.seconds.toFixed(1) }));
  const columns = Object.keys(header);
  const widths = columns.map((column) => Math.max(...[header, ...shown].map((row) => String(row[column]).length)));
  const isNumber = (column) => ["passed", "failed", "skipped", "seconds"].includes(column);
  const line = (row) => columns.map((column, i) => (isNumber(column) ? String(row[column]).padStart(widths[i]) : String(row[column]).padEnd(widths[i]))).join("  ");
  process.stdout.write(`\n${[line(header), widths.map((width) => "-".repeat(width)).join("  "), ...shown.map(line)].join("\n")}\n\n`);
  for (const remark of remarks) process.stdout.write(`${remark}\n`);
  const sum = (column) => rows.reduce((total, row) => total + row[column], 0);
  process.stdout.write(`${sum("skipped")} skipped, ${((performance.now() - startedMs) / 1_000).toFixed(0)} s\n`);
  process.stdout.write(`${sum("passed")} passed, ${sum("failed")} failed\n`);
  process.exitCode = sum("failed") === 0 && sum("passed") > 0 ? 0 : 1;
}
