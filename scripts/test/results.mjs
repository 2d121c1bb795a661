// The results of a test run: one row per suite, engine and runtime, the failures, and the closing line.
const suites = [
  { path: /^test\/stories\/inspector/, suite: "story: Inspector", engine: "sqlite" },
  { path: /^test\/stories\/python/, suite: "story: Python client", engine: "sqlite" },
  { path: /^test\/stories\/prometheus/, suite: "story: Prometheus", engine: "sqlite" },
  { path: /^test\/stories\/clients/, suite: "story: real clients", engine: "sqlite" },
  { path: /^test\/stories\/http-clients/, suite: "story: clients over HTTP", engine: "sqlite" },
  { path: /^test\/conformance\//, suite: "MCP conformance", engine: "sqlite" },
  { path: /^test\/stories\//, suite: "stories", engine: "sqlite" },
  { path: /^test\/frameworks\//, suite: "frameworks" },
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
  { path: /^test\/telemetry\//, suite: "metrics and traces" },
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

const engineWords = { memory: "memory", sqlite: "sqlite", postgres: "postgres", postgresql: "postgres", redis: "redis", valkey: "redis" };

export const thisRuntime = `Node ${process.versions.node.split(".")[0]}`;

export class Results {
  #rows = [];
  #failures = [];
  #skips = [];
  #startedMs = performance.now();
  /** The versions of the servers that the tests start, by engine; known once the servers are found. */
  versions = {};

  /** A command that passes or fails as a whole. */
  addStep(name, { passed, seconds, failure }) {
    this.#rows.push({ suite: name, engine: "", runtime: thisRuntime, passed: passed ? 1 : 0, failed: passed ? 0 : 1, skipped: 0, seconds });
    if (!passed) this.#failures.push(failure);
  }

  addTest(file, runtime, { titles, test, state, ms }) {
    const { suite, engine } = suites.find(({ path }) => path.test(file)) ?? { suite: file };
    const row = this.#row(suite, engineIn(titles) ?? engine, runtime);
    row.seconds += ms / 1_000;
    if (state === "passed") row.passed += 1;
    else if (state === "failed") {
      row.failed += 1;
      this.#failures.push(`${runtime} ${file}: ${test}`);
    } else {
      row.skipped += 1;
      this.#skips.push(`${runtime} ${file}: ${test}`);
    }
  }

  /** A failure outside any test. */
  addFailure(file, runtime, failure) {
    const { suite, engine } = suites.find(({ path }) => path.test(file)) ?? { suite: file };
    this.#row(suite, engine, runtime).failed += 1;
    this.#failures.push(`${runtime} ${file}: ${failure}`);
  }

  get totals() {
    const sum = (column) => this.#rows.reduce((total, row) => total + row[column], 0);
    return { passed: sum("passed"), failed: sum("failed"), skipped: sum("skipped") };
  }

  /** The matrix, the failures and, last, `N passed, N failed`. */
  conclusion() {
    const { passed, failed, skipped } = this.totals;
    const seconds = ((performance.now() - this.#startedMs) / 1_000).toFixed(0);
    const lines = [...this.#matrix(), "", ...this.#skips.map((skip) => `skipped ${skip}`), ...this.#failures.map((failure) => `FAILED ${failure}`)];
    return [...lines, `${skipped} skipped, ${seconds} s`, `${passed} passed, ${failed} failed`, ""].join("\n");
  }

  get exitCode() {
    const { passed, failed } = this.totals;
    return failed === 0 && passed > 0 ? 0 : 1;
  }

  #row(suite, engine, runtime) {
    const shown = engine === undefined ? "" : this.#engineShown(engine, runtime);
    const found = this.#rows.find((row) => row.suite === suite && row.engine === shown && row.runtime === runtime);
    if (found !== undefined) return found;
    const row = { suite, engine: shown, runtime, passed: 0, failed: 0, skipped: 0, seconds: 0 };
    this.#rows.push(row);
    return row;
  }

  /** An engine with its driver, and with the version of the server that the tests started. */
  #engineShown(engine, runtime) {
    if (engine === "sqlite") return `sqlite (${runtime === "Node 20" ? "photostructure" : "node:sqlite"})`;
    if (engine === "postgres") return `${process.env.HOLDFAST_TEST_POSTGRES_URL ? "PostgreSQL as given" : (this.versions.postgres ?? "PostgreSQL")} (pg)`;
    if (engine === "redis") return `${process.env.HOLDFAST_TEST_REDIS_URL ? "redis as given" : (this.versions.redis ?? "redis")} (ioredis)`;
    return engine;
  }

  #matrix() {
    const header = { suite: "suite", engine: "engine (driver)", runtime: "runtime", passed: "passed", failed: "failed", skipped: "skipped", seconds: "seconds" };
    const shown = this.#rows.map((row) => ({ ...row, seconds: row.seconds.toFixed(1) }));
    const columns = Object.keys(header);
    const widths = columns.map((column) => Math.max(...[header, ...shown].map((row) => String(row[column]).length)));
    const isNumber = (column) => ["passed", "failed", "skipped", "seconds"].includes(column);
    const line = (row) => columns.map((column, i) => (isNumber(column) ? String(row[column]).padStart(widths[i]) : String(row[column]).padEnd(widths[i]))).join("  ");
    return ["", line(header), widths.map((width) => "-".repeat(width)).join("  "), ...shown.map(line)];
  }
}

/** The engine at the end of one of the titles: "… on Redis". */
function engineIn(titles) {
  const named = titles.map((title) => /\bon (\w+)$/.exec(title)?.[1]?.toLowerCase()).find((word) => word !== undefined && Object.hasOwn(engineWords, word));
  return named === undefined ? undefined : engineWords[named];
}
