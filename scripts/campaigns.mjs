// npm run test:campaigns: crash, fault, many-process, power-loss and load campaigns, and real third-party clients. Ends with `N passed, N failed`.
//   --scale N     number of repetitions: 1 as docs/guarantees.md states, 0.2 for a quick run, 10 for a night (default 1)
//   --resume      skip the campaigns that already passed on this commit at this scale or a larger one
//   --only TEXT   only the campaigns whose path contains the text
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { isStopping } from "./test/processes.mjs";
import { Progress } from "./test/progress.mjs";
import { Results, thisRuntime } from "./test/results.mjs";
import { requireService } from "./test/services.mjs";
import { buildStep } from "./test/steps.mjs";
import { runVitest } from "./test/vitest-run.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stateFile = join(root, "build", "campaigns.json");
const { scale, resume, only } = readOptions();
const results = new Results();
const progress = new Progress();
const context = { root, results, progress, showLogs: true, isCounted: true };

const files = readdirSync(join(root, "test"), { recursive: true })
  .map((path) => `test/${path.replaceAll("\\", "/")}`)
  .filter((path) => path.endsWith(".campaign.ts") && path.includes(only))
  .sort();
// Campaigns that depend on SQLite's driver run again under Node 24, where it is `node:sqlite`. Whether a planted fault is caught does not depend on the driver.
const onNode24 = files.filter((path) => /^test\/(crash|store\/concurrency)\//.test(path) && !path.includes("planted"));
const node24 = onNode24.length > 0 ? await requireService("Node 24", "node24.mjs", context) : undefined;
const campaigns = [
  ...files.map((file) => ({ file, runtime: { name: thisRuntime, node: process.execPath }, env: {} })),
  ...(node24 === undefined ? [] : onNode24.map((file) => ({ file, runtime: { name: "Node 24", node: node24 }, env: { HOLDFAST_TEST_ENGINES: "SQLite" } }))),
];

const commit = committedState();
const passedBefore = readPassed();
progress.expect(campaigns.length);
await buildStep(context);
for (const { file, runtime, env } of campaigns) {
  if (isStopping()) break;
  const name = `${runtime.name} ${file}`;
  if (resume && passedBefore[name] >= scale) {
    progress.end(`${file} (${runtime.name})`, { passed: true, detail: `passed before at scale ${passedBefore[name]}`, seconds: 0 });
    results.addStep(`${file} (before)`, { passed: true, seconds: 0 });
    continue;
  }
  const passed = await runVitest({
    ...context,
    args: ["--config", "vitest.campaigns.config.ts", file],
    runtime,
    env: { ...env, HOLDFAST_TEST_SCALE: String(scale) },
  });
  if (passed && commit !== undefined) rememberPassed(name);
}
progress.close();
if (!isStopping()) {
  process.stdout.write(results.conclusion());
  process.exitCode = results.exitCode;
}

function readOptions() {
  try {
    const { values } = parseArgs({ options: { scale: { type: "string", default: "1" }, resume: { type: "boolean", default: false }, only: { type: "string", default: "" } } });
    const number = Number(values.scale);
    if (!(number >= 0.05 && number <= 100)) throw new Error(`--scale: must be a number from 0.05 to 100 (got "${values.scale}").`);
    return { ...values, scale: number };
  } catch (error) {
    process.stderr.write(`${error.message}\nUsage: npm run test:campaigns -- [--scale N] [--resume] [--only TEXT]\n`);
    process.exit(2);
  }
}

/** The commit that is checked out, or undefined if files differ from it: a pass then proves nothing about later runs. */
function committedState() {
  const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
  try {
    return git("status", "--porcelain") === "" ? git("rev-parse", "HEAD") : undefined;
  } catch {
    return undefined;
  }
}

function readPassed() {
  try {
    const stored = JSON.parse(readFileSync(stateFile, "utf8"));
    return stored.commit === commit ? stored.passed : {};
  } catch {
    return {};
  }
}

function rememberPassed(name) {
  passedBefore[name] = Math.max(scale, passedBefore[name] ?? 0);
  mkdirSync(dirname(stateFile), { recursive: true });
  writeFileSync(stateFile, JSON.stringify({ commit, passed: passedBefore }, undefined, 2));
}
