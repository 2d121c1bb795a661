// npm test: all deterministic checks, in a few minutes. Ends with `N passed, N failed`.
//   npm test                      build, types, lint, generated documents, every *.test.ts, the SQLite suites on Node 24 too
//   npm test -- PATH … [FLAGS]    only these files or folders (campaigns too), with whatever they need; FLAGS go to Vitest
//   npm run test:quick            kernel, store on memory and SQLite, search, domain, tools, architecture: no services
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isStopping } from "./test/processes.mjs";
import { Progress } from "./test/progress.mjs";
import { Results } from "./test/results.mjs";
import { requireService } from "./test/services.mjs";
import { buildStep, runStep } from "./test/steps.mjs";
import { runVitest } from "./test/vitest-run.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const results = new Results();
const progress = new Progress();
const context = { root, results, progress };
const node = process.execPath;
const tsc = join("node_modules", "typescript", "bin", "tsc");

const args = process.argv.slice(2);
const flags = args.filter((arg) => arg.startsWith("-") && arg !== "--quick");
const paths = args.filter((arg) => !arg.startsWith("-"));

if (args.includes("--quick")) await quick();
else if (paths.length > 0) await only(paths);
else await everything();
progress.close();
if (!isStopping()) {
  process.stdout.write(results.conclusion());
  process.exitCode = results.exitCode;
}

async function everything() {
  // Fetched in parallel with everything else; each is awaited where it is first used.
  const redis = requireService("Redis", "redis.mjs", { ...context, engine: "redis" });
  const postgres = redis.then(() => requireService("PostgreSQL", "postgres.mjs", { ...context, engine: "postgres" }));
  const node24 = postgres.then(() => requireService("Node 24", "node24.mjs", context));
  const conformance = node24.then(() => requireService("the MCP conformance suite", "conformance.mjs", context));
  const chromium = conformance.then(() => requireService("Chromium", "chromium.mjs", context));

  await Promise.all([
    buildStep(context),
    typeStep("types", "."),
    // The page and its tests use a browser's globals, which nothing else may use, so they are separate projects.
    typeStep("types of the dashboard", "dashboard"),
    typeStep("types of its tests", join("test", "browser")),
    runStep(context, "lint", [node, join("node_modules", "@biomejs", "biome", "bin", "biome"), "check", "--error-on-warnings", "."]),
    runStep(context, "generated documents", [node, join("scripts", "generate.mjs"), "--check"]),
  ]);
  await Promise.all([redis, postgres]);
  if (isStopping()) return;

  // Two streams, because both spend much of their time waiting for disks, servers and pages. Tests without a server fill up the second, so that both end together.
  const second = ["test/browser", "test/conformance", "test/domain", "test/tools"];
  await Promise.all([
    runVitest({ ...context, args: ["--maxWorkers=4", ...second.flatMap((folder) => ["--exclude", `${folder}/**`]), ...flags] }),
    (async () => {
      const runtime = await node24;
      if (runtime !== undefined)
        await runVitest({ ...context, args: ["--no-file-parallelism", "--config", "vitest.node24.config.ts", ...flags], runtime: { name: "Node 24", node: runtime } });
      await Promise.all([conformance, chromium]);
      if (!isStopping()) await runVitest({ ...context, args: ["--no-file-parallelism", ...second, ...flags] });
    })(),
  ]);
}

/** Tests fetch what they need themselves; some need the built package. */
async function only(wanted) {
  await buildStep(context);
  const isCampaign = (path) => path.endsWith(".campaign.ts");
  const [campaigns, tests] = [wanted.filter(isCampaign), wanted.filter((path) => !isCampaign(path))];
  if (tests.length > 0) await runVitest({ ...context, args: [...tests, ...flags], showLogs: true });
  if (campaigns.length > 0) await runVitest({ ...context, args: ["--config", "vitest.campaigns.config.ts", ...campaigns, ...flags], showLogs: true });
}

async function quick() {
  const folders = ["test/kernel", "test/search", "test/domain", "test/tools", "test/architecture.test.ts"];
  const stores = ["memory", "sqlite", "sqlite-namespaces", "histories", "leap", "key-quota", "namespace-quota", "maintenance", "open-store", "long-values"].map(
    (name) => `test/store/${name}.test.ts`,
  );
  await runVitest({ ...context, args: [...folders, ...stores, ...paths, ...flags], env: { HOLDFAST_TEST_ENGINES: "memory,SQLite" } });
}

/** Checks only what changed since the last run; tsc keeps its results, including errors, in build/. */
function typeStep(name, project) {
  return runStep(context, name, [node, tsc, "-p", project, "--incremental", "--tsBuildInfoFile", join("build", `${name.replaceAll(" ", "-")}.tsbuildinfo`)]);
}
