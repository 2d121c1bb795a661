import { expect, test } from "vitest";
import { sharedEngines } from "../support/engines.ts";
import { runGraphProgram, serveForTest } from "./python-graphs.ts";

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
