import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPythonBench, pythonFolder } from "../support/python-tests.ts";
import { sharedBuild } from "../support/shared-builds.ts";
import { requireService } from "./installed-package.ts";

const run = promisify(execFile);

let folder: string;
let tools: string;
let pyright: string;
/** The interpreter of an environment that has nothing but the wheel. */
let clean: string;
/** Of one that has the wheel and LangGraph, which part of the package is for. */
let withLangGraph: string;
/** The tests and the example, away from the sources, which they must not find. */
let copy: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-wheel-"));
  tools = await requireService("python-tools.mjs");
  pyright = await requireService("pyright.mjs");
  await run(tools, ["-m", "build", "--no-isolation", "--outdir", join(folder, "dist"), pythonFolder]);
  await run(tools, ["-m", "venv", join(folder, "venv")]);
  clean = join(folder, "venv", "bin", "python");
  await run(clean, ["-m", "pip", "install", "--disable-pip-version-check", "--no-index", "--no-deps", await built(".whl")]);
  withLangGraph = await environmentWith(await requireService("python-langgraph.mjs"));
  copy = join(folder, "copy");
  for (const part of ["tests", "examples", "benchmarks"]) await cp(join(pythonFolder, part), join(copy, part), { recursive: true });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The wheel beside the packages of another environment, which stays as it is. */
async function environmentWith(other: string): Promise<string> {
  await run(tools, ["-m", "venv", join(folder, "graphs")]);
  const python = join(folder, "graphs", "bin", "python");
  await run(python, ["-m", "pip", "install", "--disable-pip-version-check", "--no-index", "--no-deps", await built(".whl")]);
  const packagesOf = async (interpreter: string) => (await run(interpreter, ["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"])).stdout.trim();
  await writeFile(join(await packagesOf(python), "langgraph.pth"), `${await packagesOf(other)}\n`);
  return python;
}

async function built(ending: string): Promise<string> {
  const name = (await readdir(join(folder, "dist"))).find((each) => each.endsWith(ending));
  return join(folder, "dist", name as string);
}

const problemsOf = async (file: string, args: readonly string[]): Promise<string> => {
  const { stdout } = await run(file, [...args], { cwd: copy }).catch((error: { readonly stdout: string }) => error);
  return stdout;
};

test("the distributions are what an index takes, and carry the types and the licence", async () => {
  expect((await run(tools, ["-m", "twine", "check", "--strict", await built(".whl"), await built(".tar.gz")])).stdout).not.toMatch(/warning|error/i);
  const { stdout } = await run(clean, ["-m", "zipfile", "--list", await built(".whl")]);
  for (const file of ["holdfast/py.typed", "holdfast/aio/_io.py", "holdfast/sync/_io.py", "licenses/LICENSE"]) expect(stdout).toContain(file);
  expect(stdout).not.toContain("tests/");
});

test("mypy and Pyright find nothing in the package or in programs that use it, and find a planted mistake", async () => {
  const mypy = ["-m", "mypy", "--strict", "--python-executable", withLangGraph];
  expect(await problemsOf(tools, [...mypy, "tests", "examples", "benchmarks"])).toMatch(/^Success/m);
  expect(await problemsOf(tools, [...mypy, "--package", "holdfast"])).toMatch(/^Success/m);
  const checks = [pyright, "--pythonpath", withLangGraph];
  expect(await problemsOf(process.execPath, [...checks, "tests", "examples", "benchmarks"])).toMatch(/^0 errors/m);
  await writeFile(join(copy, "planted.py"), 'import holdfast\n\nwith holdfast.connect("http://127.0.0.1:1") as client:\n    client.state.set("k", object())\n');
  expect(await problemsOf(tools, [...mypy, "planted.py"])).toMatch(/incompatible type "object"/);
  expect(await problemsOf(process.execPath, [...checks, "planted.py"])).toMatch(/^1 error/m);
});

test("without LangGraph and the Claude Agent SDK, only LangGraph's part cannot be imported, and both are extras of the package", async () => {
  await run(clean, ["-c", "import holdfast.aio, holdfast.claude"]);
  expect(await run(clean, ["-c", "import holdfast.langgraph"]).then(String, (error: Error) => error.message)).toMatch(/No module named 'lang/);
  await run(withLangGraph, ["-c", "import holdfast.langgraph"]);
  const metadata = "import importlib.metadata as m; print(m.requires('holdfast'))";
  expect((await run(clean, ["-c", metadata])).stdout).toBe(`["claude-agent-sdk>=0.2.184; extra == 'claude'", "langgraph-checkpoint<5,>=4.3; extra == 'langgraph'"]\n`);
});

test("the client's tests pass on the installed wheel", async () => {
  await using bench = await openPythonBench(await sharedBuild("executable"), folder);
  const { stderr } = await bench.run(clean, ["-m", "unittest", "discover", "--start-directory", "tests"], { fromSource: false, cwd: copy });
  expect(stderr).toMatch(/\nOK \(skipped=1\)\n$/);
});
