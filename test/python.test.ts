import { afterAll, beforeAll, expect, test } from "vitest";
import { connectHoldfast, runWorkflow, signalWorkflow } from "../src/index.ts";
import { libraryMethodNames } from "../src/surfaces/library/library-methods.ts";
import { buildExecutable } from "./support/cli-process.ts";
import type { PythonBench } from "./support/python-tests.ts";
import { openPythonBench, requirePython } from "./support/python-tests.ts";
import { comparable, story, tellStory } from "./support/told-story.ts";

let built: Awaited<ReturnType<typeof buildExecutable>>;
let bench: PythonBench;
let python: string;
beforeAll(async () => {
  python = requirePython();
  built = await buildExecutable();
  bench = await openPythonBench(built.main, built.folder);
});
afterAll(async () => {
  await bench?.[Symbol.asyncDispose]();
  await built?.remove();
});

const run = async (...args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await bench.run(python, args);
  expect({ code, stderr }, args.join(" ")).toEqual({ code: 0, stderr: expect.any(String) });
  return stdout;
};

test("the Python client's own tests pass", async () => {
  const { code, stderr } = await bench.run(python, ["-m", "unittest", "discover", "--start-directory", "tests"]);
  expect(stderr).toMatch(/\nOK\n$/);
  expect(code).toBe(0);
});

test("every method answers the same in TypeScript and in Python, sync and async", async () => {
  expect(new Set(story.map(({ call }) => call))).toEqual(new Set(libraryMethodNames));
  await using holdfast = await connectHoldfast(bench.url, { namespace: "told-ts", agent: "a1", workspace: "engine" });
  const answers = comparable(await tellStory(holdfast)) as readonly unknown[];
  const told = JSON.parse(await run("tests/story.py", bench.url, "told-sync", "told-async")) as Readonly<Record<"sync" | "async", readonly unknown[]>>;
  for (const way of ["sync", "async"] as const) {
    const others = comparable(told[way]) as readonly unknown[];
    const beside = (given: readonly unknown[]) => given.map((answer, i) => ({ way, call: story[i]?.call, answer }));
    expect(beside(others)).toEqual(beside(answers));
  }
});

test.each(["TypeScript", "Python"])("a run that a worker in %s began is continued in the other language, and no finished step runs again", async (first) => {
  await using holdfast = await connectHoldfast(bench.url, { namespace: `order-${first}`, agent: "typescript" });
  const inPython = async (): Promise<unknown> => JSON.parse(await run("tests/handover.py", bench.url, `order-${first}`, "run-1"));
  const inTypeScript = async (): Promise<unknown> => {
    const ran: string[] = [];
    const note = <Output>(name: string, output: Output): Output => {
      ran.push(name);
      return output;
    };
    const outcome = await runWorkflow(holdfast, { name: "order", runId: "run-1", input: { from: "either" }, holdMs: 50 }, async (steps, { input }) => {
      const order = await steps.run("load", () => note("load", { total: 3 }));
      const paid = await steps.run("pay", () => note("pay", "receipt"), { effect: true, args: { total: 3 } });
      await steps.sleep("rest", 10);
      const go = (await steps.waitFor("go")) ?? null;
      const shipped = await steps.run("ship", () => note("ship", true));
      return [order, paid, go, shipped, input];
    });
    return { status: outcome.status, result: outcome.status === "done" ? outcome.result : null, ran };
  };
  const [begin, end] = first === "Python" ? [inPython, inTypeScript] : [inTypeScript, inPython];
  expect(await begin()).toEqual({ status: "parked", result: null, ran: ["load", "pay"] });
  await signalWorkflow(holdfast, "run-1", "go", "now");
  const ended = { status: "done", result: [{ total: 3 }, "receipt", "now", true, { from: "either" }] };
  expect(await end()).toEqual({ ...ended, ran: ["ship"] });
  expect(await begin()).toEqual({ ...ended, ran: [] });
});
