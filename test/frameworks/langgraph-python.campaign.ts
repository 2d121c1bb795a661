import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sharedEngines } from "../support/engines.ts";
import { scaled } from "../support/scale.ts";
import { freshPostgresUrl } from "../support/servers/fresh-url.ts";
import { startPostgres } from "../support/servers/postgres-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runGraphProgram, serveForTest, startGraphProgram } from "./python-graphs.ts";

interface SuiteReport {
  readonly level: string;
  readonly capabilities: Readonly<Record<string, { readonly passed: number; readonly failed: number; readonly failures: readonly string[] }>>;
}
const runSuite = async (url: string, ...args: readonly string[]): Promise<Readonly<Record<string, SuiteReport>>> =>
  JSON.parse(await runGraphProgram("tests/graphs/conformance.py", [url, ...args]));

/** All capabilities of langgraph-checkpoint-conformance 0.0.2 and how many tests each has: one that was skipped would show. */
const passes = (passed: number) => ({ passed, failed: 0, failures: [] });
const everything: SuiteReport = {
  level: "FULL",
  capabilities: {
    put: passes(17),
    put_writes: passes(10),
    get_tuple: passes(10),
    list: passes(16),
    delete_thread: passes(5),
    delete_for_runs: passes(7),
    copy_thread: passes(8),
    prune: passes(8),
  },
};

test.each(sharedEngines)("LangGraph's conformance suite passes entirely for both savers on $name", async (engine) => {
  const { url } = await serveForTest(await engine.freshUrl());
  expect(await runSuite(url)).toEqual({ HoldfastSaver: everything, AsyncHoldfastSaver: everything });
});

test.each(["order", "writes"])("the conformance suite finds a planted defect: %s", async (defect) => {
  const { url } = await serveForTest("memory:");
  for (const report of Object.values(await runSuite(url, "--planted", defect))) expect(report.level).not.toBe("FULL");
});

test.each(sharedEngines)("the tests of the savers and stores pass on $name", async (engine) => {
  const { url } = await serveForTest(await engine.freshUrl());
  await runGraphProgram("tests/graphs/test_graphs.py", [], { HOLDFAST_TEST_URL: url, PYTHONWARNINGS: "error::ResourceWarning" });
});

interface TakeoverReport {
  readonly rounds: number;
  readonly stale_writes_accepted: number;
  readonly first_refused: number;
  readonly second_completed: number;
  readonly first_said: Readonly<Record<string, number>>;
}
const takeOver = async (factory: string, argument: string, rounds: number): Promise<TakeoverReport> => {
  const report: TakeoverReport = JSON.parse(await runGraphProgram("tests/graphs/takeover_clause.py", [`savers:${factory}`, argument, String(rounds)]));
  console.log(`take-over, ${factory}: ${report.stale_writes_accepted} stale writes accepted in ${report.rounds} rounds`);
  return report;
};

test.each(sharedEngines)("a worker that was stopped inside a node and replaced stores nothing when it wakes, on $name", async (engine) => {
  const { url } = await serveForTest(await engine.freshUrl());
  const rounds = scaled(1000, 50);
  const report = await takeOver("holdfast_saver", url, rounds);
  expect(report).toMatchObject({ rounds, stale_writes_accepted: 0, first_refused: rounds, second_completed: rounds });
  expect(Object.keys(report.first_said)).toEqual([expect.stringContaining("was taken over by another worker; nothing was stored")]);
});

test("the savers that come with LangGraph accept the writes of the replaced worker, in the same test", async () => {
  expect(await takeOver("sqlite_saver", join(await temporaryFolder(), "stock.db"), 10)).toMatchObject({ rounds: 10, stale_writes_accepted: 10 });
  await using postgres = await startPostgres();
  expect(await takeOver("postgres_saver", postgres.superuserUrl, 10)).toMatchObject({ rounds: 10, stale_writes_accepted: 10 });
});

test("a graph whose worker and server are killed is continued by another worker through another server on the same PostgreSQL", async () => {
  const storeUrl = await freshPostgresUrl();
  const example = "examples/langgraph_takeover.py";
  const [here, there] = [await serveForTest(storeUrl), await serveForTest(storeUrl)];
  const first = await startGraphProgram(example, [here.url, "ann", "trip-7", "--hang-in", "pay", "--ttl", "2"]);
  expect(await first.saw(/ann pay\n/)).toBe("ann plan\nann book\nann pay\n");
  first.child.kill("SIGKILL");
  await here.stop("SIGKILL");
  expect(await runGraphProgram(example, [there.url, "ben", "trip-7"])).toBe("ben pay\nben confirm\nben finished: plan by ann, book by ann, pay by ben, confirm by ben\n");
});

interface Measured {
  readonly median: number;
  readonly rounds: readonly number[];
}

test("steps per second at 64 threads, beside LangGraph's own saver on the same PostgreSQL", async () => {
  await using postgres = await startPostgres({ settings: { max_connections: "200" } });
  const { url } = await serveForTest(postgres.url);
  const printed = await runGraphProgram("benchmarks/langgraph_throughput.py", [url, postgres.superuserUrl, "--steps", String(scaled(20, 5))]);
  console.log(`steps per second at 64 threads: ${printed}`);
  const measured: readonly Measured[] = Object.values(JSON.parse(printed));
  expect(measured).toHaveLength(3);
  for (const { rounds } of measured) expect(rounds).toEqual([expect.any(Number), expect.any(Number), expect.any(Number)]);
});

test("200 steps over a static megabyte take less than a twentieth of the storage that LangGraph's SQLite saver takes", async () => {
  const [ours, theirs] = [await temporaryFolder(), await temporaryFolder()];
  const play = async (factory: string, argument: string) =>
    JSON.parse(await runGraphProgram("tests/graphs/static_state.py", [`savers:${factory}`, argument, "200"])) as { readonly steps: number; readonly resumeMs: number };
  const server = await serveForTest(`sqlite:${join(ours, "store.db")}`);
  const [here, there] = [await play("holdfast_saver", server.url), await play("sqlite_saver", join(theirs, "stock.db"))];
  // Both have brought their files up to date by then.
  await server.stop();
  const [hereBytes, thereBytes] = [await bytesIn(ours), await bytesIn(theirs)];
  console.log(`200 steps over a static megabyte: ${JSON.stringify({ holdfast: { ...here, bytes: hereBytes }, langgraph: { ...there, bytes: thereBytes } })}`);
  expect([here.steps, there.steps]).toEqual([200, 200]);
  expect(thereBytes / hereBytes).toBeGreaterThan(20);
});

async function bytesIn(folder: string): Promise<number> {
  const sizes = await Promise.all((await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
