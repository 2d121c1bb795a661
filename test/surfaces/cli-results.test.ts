import { existsSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeFailure } from "../../src/surfaces/cli/failure.ts";
import { renderResult } from "../../src/surfaces/cli/render-result.ts";
import { openCommandLine } from "../support/cli-host.ts";
import { buildExecutable, startExecutable } from "../support/cli-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const quiet = { NO_COLOR: "1" };
const onTerminal = (columns: number) => openCommandLine({ terminal: true, columns, environment: quiet });
const tooWide = (text: string, width: number) => text.split("\n").filter((line) => line.length > width);

describe("lists are tables at any width", () => {
  async function fill(run: ReturnType<typeof openCommandLine>["run"]): Promise<void> {
    await run(["set", "build/status", JSON.stringify({ green: true, commit: "c04be71", log: "x".repeat(200) })]);
    await run(["set", "a-key-that-has-quite-a-long-name/and-another-part-of-it", "1", "--ttl", "10m"]);
    await run(["workflow", "create", "nightly index of every shard", "--tag", "queue=nightly", "--tag", "team=search"]);
    await run(["workflow", "claim", "--agent", "worker-with-a-name"]);
    await run([
      "research",
      "save",
      "Postings of very common terms should be cut by impact, because scoring them is the whole cost",
      "--core-question",
      "Why?",
      "--confidence",
      "0.7",
    ]);
  }

  test.each([
    [80, ["ls", "--values"], "key version changed"],
    [120, ["ls", "--values"], "key version changed expires value"],
    [80, ["workflow", "list"], "name run id"],
    [120, ["workflow", "list"], "name run id status agent step changed"],
    [80, ["history", "log"], "rev when who what name"],
    [120, ["history", "log"], "rev when who what name value"],
    [80, ["research", "list"], "id"],
    [120, ["research", "list"], "saved sure id"],
  ] as const)("at %i columns %j shows %s and more where there is room", async (columns, args, beginning) => {
    const { run } = onTerminal(columns);
    await fill(run);
    const { stdout } = await run(args);
    const [header = "", ...rows] = stdout.trimEnd().split("\n");
    expect(header.split(/\s{2,}/).join(" ")).toMatch(new RegExp(`^${beginning}`));
    expect(rows.length).toBeGreaterThan(0);
    // Only an id that leaves no room may stick out, and nothing stands behind it then.
    expect(tooWide(stdout, columns).filter((line) => !/\S{40}$/.test(line))).toEqual([]);
  });

  test.each([40, 80, 120])("at %i columns ids and keys are never cut", async (columns) => {
    const { run, json } = onTerminal(columns);
    await fill(run);
    const { runs } = (await json("workflow", "list")) as { runs: { run_id: string }[] };
    const { checkpoints } = (await json("research", "list")) as { checkpoints: { id: string }[] };
    expect((await run(["workflow", "list"])).stdout).toContain(runs[0]?.run_id ?? "no run");
    expect((await run(["research", "list"])).stdout).toContain(checkpoints[0]?.id ?? "no checkpoint");
    expect((await run(["history", "log"])).stdout).toContain(checkpoints[0]?.id ?? "no checkpoint");
    expect((await run(["ls"])).stdout).toContain("a-key-that-has-quite-a-long-name/and-another-part-of-it");
  });

  test("--long shows every field of each record, uncut", async () => {
    const { run } = onTerminal(80);
    await fill(run);
    const { stdout } = await run(["workflow", "list", "--long"]);
    for (const field of ["run id", "name", "status", "tags", "priority", "created at", "updated at", "attempts"]) expect(stdout).toMatch(new RegExp(`^${field} +\\S`, "m"));
    expect((await run(["ls", "build/", "--values", "--long"])).stdout.replaceAll(/\s/g, "")).toContain("x".repeat(200));
  });

  test("a page that is not the last says how to read the next", async () => {
    const { run } = onTerminal(80);
    for (const key of ["a", "b", "c"]) await run(["set", key, "1"]);
    const { stdout } = await run(["ls", "--limit", "2"]);
    const cursor = /^2 shown\. Next page: --cursor (\S+)$/m.exec(stdout)?.[1] ?? "";
    expect((await run(["ls", "--limit", "2", "--cursor", cursor])).stdout).toMatch(/^key .*\nc /);
  });

  test.each([
    [["ls"], "No keys yet. Set one: holdfast set KEY VALUE\n"],
    [["ls", "zzz"], "No keys begin with this text.\n"],
    [["workflow", "list"], "No runs yet. Create one: holdfast workflow create NAME\n"],
    [["workflow", "discover", "--tag", "a=b"], "No runs match.\n"],
    [["history", "log"], "No history yet. Every change is listed here: holdfast set KEY VALUE makes the first.\n"],
    [["research", "list", "anything"], "No research checkpoints match.\n"],
  ])("%j with nothing to list says what would fill it", async (args, text) => {
    expect(await openCommandLine().run(args)).toMatchObject({ code: 0, stdout: text });
  });
});

describe("results are sentences", () => {
  test("what was written is said on standard output", async () => {
    const { run } = openCommandLine();
    const said = async (...args: string[]) => (await run(args)).stdout;
    expect(await said("set", "build/status", "1")).toBe('"build/status" is now version 1.\n');
    expect(await said("set", "build/status", "2", "--ttl", "10m")).toMatch(/^"build\/status" is now version 2, expires .* \(in 10m\)\.\n$/);
    expect(await said("rm", "build/status")).toBe('"build/status" was deleted.\n');
    expect(await said("lease", "acquire", "deploy", "--agent", "me")).toMatch(/^me holds "deploy" with token \d+ until .* \(in 1m\)\.\n$/);
    expect(await said("lease", "renew", "deploy", "--agent", "me")).toMatch(/^"deploy" is held with token \d+ until /);
    expect(await said("lease", "release", "deploy", "--agent", "me")).toBe('"deploy" was released.\n');
    expect(await said("workflow", "create", "nightly", "--run-id", "n1")).toBe('Run n1 was created as "nightly".\n');
    expect(await said("workflow", "claim", "n1", "--agent", "me")).toMatch(/^me has run n1 with token \d+ until /);
    expect(await said("workflow", "checkpoint", "n1", "1", "x", "--agent", "me")).toBe("Step 1 of run n1 is stored; its last step is 1.\n");
    expect(await said("workflow", "finish", "n1", "done", "--agent", "me")).toBe("Run n1 ended as done.\n");
    expect(await said("session", "save", "chat", '{"a":1}')).toBe('Session "chat" is now version 1.\n');
  });

  test("a refusal goes to standard error with exit code 1, says what is there and that nothing was written", async () => {
    const { run } = openCommandLine();
    const refused = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(args);
      expect([code, stdout]).toEqual([1, ""]);
      return stderr;
    };
    await run(["set", "k", '{"seen_at": 1700000000}']);
    expect(await refused("set", "k", "2", "--expected-version", "0")).toMatch(
      /^holdfast: conflict: "k" is at version 1, expected 0 \(create only\); nothing was written\. The current value is \{"seen_at":1700000000\}, written by \S+ now\.\n$/,
    );
    expect(await refused("set", "new", "2", "--expected-version", "3")).toBe('holdfast: conflict: "new" does not exist, expected 3; nothing was written.\n');
    expect(await refused("rm", "nothing")).toBe('holdfast: "nothing" is not set; nothing was deleted.\n');
    expect(await refused("state", "get", "nothing")).toBe('holdfast: "nothing" is not set\n');
    await run(["lease", "acquire", "deploy", "--agent", "other"]);
    expect(await refused("lease", "acquire", "deploy", "--agent", "me")).toMatch(/^holdfast: "deploy" was not acquired: other holds it until .*\.\n$/);
    expect(await refused("workflow", "claim")).toBe("holdfast: No run can be claimed now.\n");
  });

  test("health is printed in sentences that fit the terminal; figures for programs are left to --json", async () => {
    const { run } = onTerminal(60);
    await run(["set", "k", "1"]);
    const { stdout } = await run(["health"]);
    expect(stdout).toMatch(/^The store works: memory\.\nNamespace "default", revision 1: 1 key, 0 runs, 0 leases\s+held\.\nDurability: /);
    expect(stdout).not.toMatch(/uptime|tombstones|gaps|_/);
    expect(tooWide(stdout, 60)).toEqual([]);
    expect(JSON.parse((await run(["health", "--json"])).stdout)).toMatchObject({ status: "ok", uptime_s: expect.any(Number), engine: { durability: expect.any(String) } });
  });

  test("records name their fields in words", async () => {
    const { run } = openCommandLine();
    await run(["workflow", "create", "nightly", "--run-id", "n1"]);
    const { stdout } = await run(["workflow", "status", "n1"]);
    expect(stdout).toMatch(/^run id +n1\n/);
    expect(stdout).toMatch(/^last step +0$/m);
  });

  test("a process that may open no more files says so, and does not call it a bug", () => {
    const failure = describeFailure(Object.assign(new Error("EMFILE: too many open files, open 'x'"), { code: "EMFILE" }));
    expect(failure).toEqual({ exitCode: 6, line: expect.stringMatching(/^holdfast: the system allows no more open files \(EMFILE\); nothing was changed \(.*ulimit -n/) });
  });

  test("long lines of a text are broken at blanks, and quotations stay quotations", async () => {
    const { run } = onTerminal(60);
    const words = "Deploy needs the VPN and the token of the release account, which only the release manager can hand out";
    await run(["knowledge", "save", "deploy", words]);
    const { stdout } = await run(["knowledge", "recall", "how to deploy"]);
    expect(tooWide(stdout, 60)).toEqual([]);
    const quotedLines = stdout.split("\n").filter((line) => line.startsWith("> "));
    expect(quotedLines.map((line) => line.slice(2)).join(" ")).toBe(words);
  });

  test("what stands inside a record keeps its margin when it is broken", () => {
    const durability = "an acknowledged write is on disk before it is answered";
    expect(renderResult({ status: "ok", engine: { name: "sqlite", durability } }, { colour: false, nowMs: 0, columns: 50 })).toBe(
      `status  ok
engine  name        sqlite
        durability  an acknowledged write is on
                    disk before it is answered
`,
    );
  });
});

describe("errors repeat what was typed", () => {
  test.each([
    [["ls", "--limit", "ten"], /--limit: must be a whole number \(got "ten"\)/],
    [["set", "k", "1", "--ttl", "soon"], /--ttl: must be .* \(got "soon"\)/],
    [["workflow", "discover", "--status", "runing"], /--status: must be one of .* \(got "runing"; did you mean running\?\)/],
    [["workflow", "discover", "--tag", "nightly"], /--tag: must be NAME=VALUE \(got "nightly"\)/],
    [["import", "x", "--from", "goldfsh"], /--from: must be one of .* \(got "goldfsh"; did you mean goldfish\?\)/],
    [["import", "/no/such/place"], /<path>: there is no file or folder "\/no\/such\/place"/],
    [["restore", "/no/such/file"], /<file>: there is no file "\/no\/such\/file"/],
    [["ls", "--config", "/no/such/config"], /--config: must name a readable JSON file; "\/no\/such\/config" cannot be read/],
  ])("%j", async (args, message) => {
    const { code, stderr } = await openCommandLine().run(args);
    expect(stderr).toMatch(message);
    expect(code).toBeGreaterThan(1);
  });
});

describe("as processes", () => {
  let executable: Awaited<ReturnType<typeof buildExecutable>>;
  beforeAll(async () => {
    executable = await buildExecutable();
  });
  afterAll(() => executable.remove());
  const runExecutable = (args: readonly string[]) => startExecutable(executable.main, args, { env: { PATH: process.env.PATH, HOME: executable.folder } }).finished;

  test.each([
    ["ls"],
    ["get", "k"],
    ["workflow", "list"],
    ["history", "log"],
    ["health"],
    ["resume"],
    ["watch", "k"],
    ["knowledge", "list"],
    ["knowledge", "show", "x"],
    ["knowledge", "deprecate", "x"],
    ["session", "list"],
    ["lease", "list"],
    ["namespace", "list"],
    ["workspace", "list"],
    ["journal", "today"],
    ["checkpoint"],
    ["checkpoint", "--query", "x"],
    ["checkpoint", "--range", "7d"],
  ])("%s %s leaves no store where there is none, and says so", async (...args) => {
    const folder = await temporaryFolder();
    const { code, stdout, stderr } = await runExecutable([...args, "--store", `sqlite:${join(folder, "typo", "x.db")}`]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toMatch(/store: sqlite:.*x\.db/);
    expect(existsSync(join(folder, "typo"))).toBe(false);
  });

  test("a missing command under lease exec is 127 and one that cannot be started 126, as in a shell, and the lease is released", async () => {
    const folder = await temporaryFolder();
    const store = ["--store", `sqlite:${join(folder, "x.db")}`];
    const missing = await runExecutable(["lease", "exec", "deploy", ...store, "--", "no-such-command-anywhere"]);
    expect(missing).toMatchObject({ code: 127, stderr: 'holdfast: <command>: "no-such-command-anywhere" was not found\n' });
    const plainFile = join(folder, "not-executable");
    await writeFile(plainFile, "echo");
    await chmod(plainFile, 0o644);
    expect(await runExecutable(["lease", "exec", "deploy", ...store, "--", plainFile])).toMatchObject({ code: 126, stderr: expect.stringContaining("EACCES") });
    expect(await runExecutable(["lease", "acquire", "deploy", ...store])).toMatchObject({ code: 0 });
  });

  test.each([
    [["mcp", "--profile", "codng"], /profile: must be one of .* \(got "codng"; did you mean coding\?\)/],
    [["mcp", "--tools", "stat"], /tools: "stat" is unknown; must be some of .*; did you mean state\?/],
    [["install", "cursr"], /<client>: must be one of .* \(got "cursr"; did you mean cursor\?\)/],
  ])("%j gets a suggestion", async (args, message) => {
    expect(await runExecutable(args)).toMatchObject({ code: 2, stderr: expect.stringMatching(message) });
  });
});
