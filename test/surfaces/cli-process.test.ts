import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { setState } from "../../src/domain/state/state.ts";
import { openEngine } from "../../src/engines/open-store.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { Finished } from "../support/cli-process.ts";
import { buildExecutable, startExecutable } from "../support/cli-process.ts";
import { manualClock } from "../support/manual-clock.ts";

let built: Awaited<ReturnType<typeof buildExecutable>>;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  built = await buildExecutable();
  env = { PATH: process.env.PATH, HOME: built.folder, HOLDFAST_STORE: `sqlite:${join(built.folder, "data", "holdfast.db")}` };
});
afterAll(() => built?.remove());

const start = (...args: string[]) => startExecutable(built.main, args, { env });
const run = (...args: string[]): Promise<Finished> => start(...args).finished;

describe("the executable", () => {
  test("keeps what one process wrote for the next, in a file that only its user may read", async () => {
    expect(await run("set", "k", '{"a":1}')).toMatchObject({ code: 0, stderr: "" });
    expect(await run("get", "k", "--json")).toMatchObject({ code: 0, stdout: expect.stringContaining('"value":{"a":1}') });
    if (process.platform !== "win32") expect(statSync(join(built.folder, "data", "holdfast.db")).mode & 0o777).toBe(0o600);
  });

  test("says its version, and answers a failure with one line and the exit code of the table", async () => {
    expect(await run("--version")).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
    expect(await run("workflow", "status", "wf-none")).toMatchObject({ code: 3, stdout: "", stderr: expect.stringMatching(/^holdfast: [^\n]+\n$/) });
    expect(await run("--json", "get", "none")).toMatchObject({ code: 1, stdout: expect.stringMatching(/^\{"key":"none",.*"found":false.*\}\n$/) });
    expect(await run("--profile", "codeing", "ls")).toMatchObject({ code: 2, stderr: expect.stringMatching(/^holdfast: --profile: must be one of default, all, /) });
    expect(await run("--store", "mysql://x", "ls")).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^holdfast: --store: must be sqlite:PATH, postgres:[^\n]* or memory:/),
    });
  });

  test.each(["postgres://agent:s3cret@127.0.0.1:1/work", "redis://agent:s3cret@127.0.0.1:1"])("a server that cannot be reached is named without its password: %s", async (url) => {
    const failed = await run("--store", url, "ls");
    expect(failed).toMatchObject({ code: 6, stderr: expect.stringMatching(/\bholdfast: [^\n]*store: (postgres|redis):\/\/agent@127\.0\.0\.1:1/) });
    expect(failed.stdout + failed.stderr).not.toContain("s3cret");
    // One line for people, which gives the system's reason once; no line of the log beside it.
    expect(failed.stderr).toMatch(/^holdfast: [^\n]+\n$/);
    expect(failed.stderr.split("ECONNREFUSED").length).toBe(2);
  });

  test.skipIf(process.platform === "win32" || process.getuid?.() === 0)("a store that cannot be opened is named, with where its name came from and the system's code", async () => {
    const locked = join(built.folder, "locked");
    mkdirSync(locked, { mode: 0o500 });
    expect(await run("--store", `sqlite:${locked}/x.db`, "ls")).toMatchObject({ code: 7, stderr: expect.stringContaining(`store: sqlite:${locked}/x.db (from --store, EACCES)`) });
  });

  test("a store that is a folder is named, with where its name came from", async () => {
    expect(await run("--store", `sqlite:${built.folder}`, "ls")).toMatchObject({ code: 7, stderr: expect.stringContaining(`store: sqlite:${built.folder} (from --store)`) });
  });

  test("looking makes no store: doctor warns, a read-only command ends with 3", async () => {
    const path = join(built.folder, "not-there", "x.db");
    expect(await run("doctor", "--store", `sqlite:${path}`)).toMatchObject({ code: 0, stdout: expect.stringMatching(/warn {2}store +There is no store there yet/) });
    expect(await run("ls", "--read-only", "--store", `sqlite:${path}`)).toMatchObject({ code: 3, stderr: expect.stringContaining("no store there yet") });
    expect(existsSync(join(built.folder, "not-there"))).toBe(false);
  });

  test.skipIf(process.platform === "win32")("doctor gives one warning for one cause: the clock, the file's mode", async () => {
    const path = join(built.folder, "ahead.db");
    const clock = manualClock(Date.now() + 3_600_000);
    const engine = await openEngine(`sqlite:${path}`, { clock });
    await setState({ store: openNamespaceStore(engine, "default", clock), clock, writer: "tester" }, { key: "k", value: 1 });
    await engine[Symbol.asyncDispose]();
    chmodSync(path, 0o644);
    const { findings } = JSON.parse((await run("doctor", "--json", "--store", `sqlite:${path}`)).stdout) as { findings: { check: string; status: string; says: string }[] };
    const warned = findings.filter(({ check, status }) => status === "warn" && check !== "node");
    expect(warned.map(({ check }) => check).sort()).toEqual(["clock", "file modes"]);
    expect(warned.find(({ check }) => check === "clock")?.says).toMatch(/clock is \d+ s ahead of this machine's/);
  });

  test("the commands of one terminal are one holder, whatever stands between: a shell, npx, timeout", async () => {
    const renew = `"${process.execPath}" "${built.main}" lease renew session --json`;
    const through = (script: string) => spawnSync("sh", ["-c", script], { env, encoding: "utf8" }).stdout;
    expect((await run("lease", "acquire", "session")).code).toBe(0);
    expect(JSON.parse(through(`true; ${renew}; true`))).toMatchObject({ renewed: process.platform === "linux" });
  });

  test("without a command and without a pipe it shows what it can do", async () => {
    expect(await run()).toMatchObject({ code: 0, stdout: expect.stringContaining("get <key>") });
  });

  test.each([[[]], [["mcp"]], [["--profile", "coding"]]])("with a pipe on standard input, %j serves MCP and ends when the client is gone", async (args) => {
    const { child, saw, finished } = startExecutable(built.main, args, { env, stdio: ["pipe", "pipe", "pipe"] });
    const hello = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } } };
    child.stdin?.write(`${JSON.stringify(hello)}\n`);
    expect(JSON.parse(await saw(/\n/))).toMatchObject({ id: 1, result: { serverInfo: { name: "holdfast" } } });
    child.stdin?.end();
    expect(await finished).toMatchObject({ code: 0, stderr: "" });
  });

  test("a server that gets a signal ends cleanly", async () => {
    const { child, saw, finished } = startExecutable(built.main, ["mcp"], { env, stdio: ["pipe", "pipe", "pipe"] });
    child.stdin?.write(
      `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } } })}\n`,
    );
    await saw(/\n/);
    child.kill("SIGTERM");
    expect(await finished).toMatchObject({ code: 0, signal: null, stderr: "" });
  });

  test("a value is read from a real pipe", async () => {
    const { child, finished } = startExecutable(built.main, ["set", "piped", "-"], { env, stdio: ["pipe", "pipe", "pipe"] });
    child.stdin?.end("from a pipe\n");
    expect((await finished).code).toBe(0);
    expect((await run("get", "piped")).stdout).toBe("from a pipe\n");
  });

  test.skipIf(!existsSync("/dev/full"))("output that could not be written is a failure, whatever the command did", async () => {
    await run("set", "k", "1");
    const intoFull = (args: string) => {
      const { status, stderr } = spawnSync("sh", ["-c", `"${process.execPath}" "${built.main}" ${args} > /dev/full`], { env, encoding: "utf8" });
      return { status, stderr };
    };
    for (const args of ["ls", "get k --json", "--version"]) expect(intoFull(args), args).toEqual({ status: 6, stderr: "holdfast: the output could not be written (ENOSPC)\n" });
    // Nothing was to be written there, and hooks never fail.
    expect(intoFull("nonsense")).toMatchObject({ status: 2, stderr: expect.stringMatching(/^[^\n]*unknown command[^\n]*\n$/) });
    expect(intoFull("hook session-start < /dev/null")).toEqual({ status: 0, stderr: "" });
  });

  test("a reader that goes away early is no failure", () => {
    const { status, stderr } = spawnSync("sh", ["-c", `"${process.execPath}" "${built.main}" completion fish | head -n 1 > /dev/null`], { env, encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  test("watch tells that an entry has expired within about a second, without another process to sweep it", async () => {
    // From the beginning, so that it does not matter which of the two is up first.
    const watching = start("watch", "e/*", "--after", "0", "--json", "--count", "2");
    await run("set", "e/1", "1", "--ttl", "1s");
    expect(await watching.saw(/"op":"expire"/)).toContain('"key":"e/1"');
    expect((await watching.finished).code).toBe(0);
  });

  test("watch sees what another process writes, and Ctrl-C ends it with 130", async () => {
    const watching = start("watch", "w/*", "--after", "0", "--json");
    await run("set", "w/1", "1");
    expect(await watching.saw(/w\/1/)).toContain('"op":"set"');
    watching.child.kill("SIGINT");
    expect((await watching.finished).code).toBe(130);
  });
});

describe("lease exec", () => {
  test("runs the command with the lease's token in its environment and gives back its exit code", async () => {
    const script = 'echo "$HOLDFAST_LEASE/$HOLDFAST_LEASE_TOKEN/$HOLDFAST_NAMESPACE"; exit 7';
    const { code, stdout } = await run("lease", "exec", "job", "--", "sh", "-c", script);
    expect(code).toBe(7);
    expect(stdout).toMatch(/^job\/\d+\/default\n$/);
    // Released at the end: the next one gets it without waiting.
    expect((await run("lease", "acquire", "job", "--agent", "next")).code).toBe(0);
  });

  test("the command can write under the lease's guard with what it was given", async () => {
    const script = `"${process.execPath}" "${built.main}" set guarded 1 --lease "$HOLDFAST_LEASE:$HOLDFAST_LEASE_TOKEN"`;
    expect((await run("lease", "exec", "guard", "--", "sh", "-c", script)).code).toBe(0);
  });

  test("does not run the command while another holder has the lease, and names the holder", async () => {
    await run("lease", "acquire", "busy", "--ttl", "1m", "--agent", "somebody");
    expect(await run("lease", "exec", "busy", "--", "echo", "ran")).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("somebody holds it") });
  });

  test("passes a signal on to the command and reports how it ended", async () => {
    const { child, saw, finished } = start("lease", "exec", "signalled", "--", "sh", "-c", "trap 'exit 9' TERM; echo up; for i in $(seq 200); do sleep 0.05; done");
    await saw(/up/);
    child.kill("SIGTERM");
    expect((await finished).code).toBe(9);
    const killed = start("lease", "exec", "killed", "--", "sh", "-c", "kill -KILL $$");
    expect((await killed.finished).code).toBe(137);
  });

  test("a command that cannot be started is refused by name and the lease is free again", async () => {
    expect(await run("lease", "exec", "none", "--", "no-such-command-here")).toMatchObject({ code: 127, stderr: expect.stringContaining("no-such-command-here") });
    expect((await run("lease", "acquire", "none", "--agent", "next")).code).toBe(0);
  });

  test("the lease belongs to the workspace of the folder", async () => {
    const folders = ["here", "elsewhere"].map((name) => join(built.folder, name));
    for (const folder of folders) mkdirSync(folder);
    const look = (folder: string): string => `cd '${folder}' && '${process.execPath}' '${built.main}' checkpoint --json`;
    const open = async (folder: string): Promise<unknown> => {
      const { finished } = startExecutable(built.main, ["lease", "exec", "placed", "--", "sh", "-c", look(folder)], { env, cwd: folders[0] });
      const { leases } = JSON.parse((await finished).stdout).data.open as { leases: { resource_id: string }[] };
      return leases.map(({ resource_id }) => resource_id).filter((name) => name === "placed");
    };
    expect(await open(folders[0] as string)).toEqual(["placed"]);
    expect(await open(folders[1] as string)).toEqual([]);
  });

  test("the command gets standard input as it is", async () => {
    const child = spawn(process.execPath, [built.main, "lease", "exec", "input", "--", "cat"], { env, stdio: ["pipe", "pipe", "inherit"] });
    child.stdin.end("passed through");
    let output = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    await once(child, "close");
    expect(output).toBe("passed through");
  });
});

test("readable copies are written where the settings say, also when the store is no file of this machine", async () => {
  const folder = join(built.folder, "copies");
  expect(await run("knowledge", "save", "carrier", "Parcels go with the post", "--store", "memory:", "--knowledge-dir", folder)).toMatchObject({ code: 0 });
  expect(existsSync(folder)).toBe(true);
  expect(await run("knowledge", "save", "carrier", "Parcels go with the post", "--store", "memory:")).toMatchObject({ code: 0 });
});
