import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { settingFlags } from "../../src/settings.ts";
import { commands } from "../../src/surfaces/cli/commands.ts";
import { commandAreas, commonFlags } from "../../src/surfaces/cli/help.ts";
import { parametersOf } from "../../src/surfaces/cli/parameters.ts";
import { toolExamples } from "../../src/surfaces/cli/tool-examples.ts";
import { requireToolHelp } from "../../src/surfaces/cli/tool-help.ts";
import { catalog } from "../../src/tools/catalog.ts";
import { openCommandLine } from "../support/cli-host.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("commands from tools", () => {
  test("every tool has a command, found by its path and by its own name", async () => {
    const { run } = openCommandLine();
    expect(catalog.length).toBeGreaterThan(20);
    for (const tool of catalog) {
      const { code, stdout } = await run([tool.name, "--help"]);
      expect([tool.name, code]).toEqual([tool.name, 0]);
      expect(stdout).toContain(requireToolHelp(tool).summary);
    }
  });

  test("no two commands share a path, and no command is hidden behind a group", () => {
    const paths = commands.map(({ path }) => path.join(" "));
    expect(new Set(paths).size).toBe(paths.length);
    const groups = new Set(commands.filter(({ path }) => path.length > 1).map(({ path }) => path[0]));
    // It takes any name, so its own help has to name the commands of its group.
    expect(commands.filter(({ path }) => path.length === 1 && groups.has(path[0])).map(({ path }) => path)).toEqual([["effect"]]);
    for (const { path } of commands.filter((command) => command.path.length > 1 && command.path[0] === "effect"))
      expect(commands.find((command) => command.path.join() === "effect")?.details).toContain(`holdfast ${path.join(" ")}`);
  });

  test("no flag of a command takes the name of a flag that every command has", () => {
    const everywhere = new Set([...commonFlags, ...settingFlags].map(({ name }) => name));
    const clashes = commands.flatMap((command) =>
      command.flags.filter(({ name, aliases = [] }) => [name, ...aliases].some((each) => everywhere.has(each))).map(({ name }) => `${command.path.join(" ")} --${name}`),
    );
    // The same thing said several times over: the namespaces a token is for.
    expect(clashes).toEqual(["token create --namespace"]);
  });

  test("every parameter of every tool is explained", () => {
    const silent = catalog.flatMap((tool) => parametersOf(tool).flatMap(({ property, meaning }) => (meaning === "" ? [`${tool.name}.${property}`] : [])));
    expect(silent).toEqual([]);
  });

  test("the defaults that help gives are those of the tools", () => {
    const given = catalog.flatMap((tool) =>
      Array.from(tool.description.matchAll(/\b(limit|n|max_tokens|wait_seconds)(?:: | \()default (\d+)/g), ([, property, value]) => ({ tool, property, value })),
    );
    expect(given.length).toBeGreaterThan(9);
    const missing = given.flatMap(({ tool, property, value }) => {
      const meaning = parametersOf(tool).find((parameter) => parameter.property === property)?.meaning ?? "";
      return new RegExp(`Default: ${value}s?\\b`).test(meaning) ? [] : [`${tool.name}.${property}: ${meaning} Default: ${value}.`];
    });
    expect(missing).toEqual([]);
  });

  test("columns stand under one another also where characters are wide or have marks", async () => {
    const { run } = openCommandLine();
    for (const [key, value] of [
      ["plain", 1],
      ["\u6d4b\u8bd5", 2],
      ["e\u0301te\u0301", 3],
      ["\u{1f41f}", 4],
      ["\u6d4b".repeat(80), 5],
    ] as const)
      await run(["set", key, String(value)]);
    const columnsOf = (text: string) => [...text.replace(/\p{M}/gu, "").replace(/[\u6d4b\u8bd5\u{1f41f}]/gu, "xx")];
    const [header, ...rows] = (await run(["ls"])).stdout.trimEnd().split("\n");
    const at = (header as string).indexOf("version");
    expect(rows).toHaveLength(5);
    for (const row of rows)
      expect(
        columnsOf(row)
          .slice(at - 2, at + 1)
          .join(""),
        row,
      ).toBe("  1");
  });

  test("notes and research are shown as the text that was made for reading, once", async () => {
    const { run } = openCommandLine();
    expect((await run(["knowledge", "recall", "how to deploy"])).stdout).toBe(
      "No stored note clearly answers this.\nSearch again with also: technical terms, synonyms, English.\n",
    );
    await run(["knowledge", "save", "deploy", "Deploy needs the VPN."]);
    const recalled = (await run(["knowledge", "recall", "how to deploy"])).stdout;
    expect(recalled).toMatch(/^# Recalled notes \(1\)\n[\s\S]*\n> Deploy needs the VPN\.\n$/);
    expect(recalled.match(/VPN/g)).toHaveLength(1);
    const { checkpoint_id } = JSON.parse((await run(["research", "save", "The queue", "--core-question", "Which?", "--confidence", ".5", "--json"])).stdout);
    expect((await run(["research", "load", checkpoint_id])).stdout).toMatch(/^# Research Context \(Restored\)\n[\s\S]*Confidence: 50%[\s\S]*> The queue\n$/);
    expect((await run(["resume"])).stdout).toMatch(/[^\n]\n$/);
  });

  test("a tool's examples are accepted as they stand in help", async () => {
    const { run } = openCommandLine();
    const config = join(folder, "config.json");
    writeFileSync(config, '{"a": 1}');
    const order = [
      "state_set",
      "state_get",
      "state_list",
      "history_log",
      "state_delete",
      "workflow_create",
      "workflow_discover",
      "workflow_claim",
      "session_save",
      "session_restore",
    ];
    const names = Object.keys(toolExamples).sort((a, b) => rank(a) - rank(b));
    function rank(name: string): number {
      return order.includes(name) ? order.indexOf(name) : order.length;
    }
    for (const name of names) {
      for (const example of toolExamples[name] as readonly string[]) {
        const words = shellWords(example.replace("@config.json", `@${config}`));
        const { code, stderr } = await run([name, ...words]);
        // An expected no is fine, a refusal of the input is not.
        expect([name, example, code <= 1, stderr]).toEqual([name, example, true, ""]);
      }
    }
  });
});

describe("values", () => {
  test("a value is JSON when it reads as JSON, text otherwise, and text in any case with --string", async () => {
    const { run, json } = openCommandLine();
    await run(["set", "number", "8080"]);
    await run(["set", "word", "web"]);
    await run(["set", "digits", "8080", "--string"]);
    await run(["set", "object", '{"__proto__": 1, "b": [true, null]}']);
    expect((await json("get", "number")).value).toBe(8080);
    expect((await json("get", "word")).value).toBe("web");
    expect((await json("get", "digits")).value).toBe("8080");
    expect((await run(["get", "object", "--json"])).stdout).toContain('"value":{"__proto__":1,"b":[true,null]}');
  });

  test("a value may come from a file or from standard input, without its last line break", async () => {
    const { run, json } = openCommandLine();
    const file = join(folder, "value.json");
    writeFileSync(file, '{"from": "file"}\n');
    await run(["set", "file", `@${file}`]);
    await run(["set", "pipe", "-"], { stdin: ["two\nli", "nes\n"] });
    expect((await json("get", "file")).value).toEqual({ from: "file" });
    expect((await json("get", "pipe")).value).toBe("two\nlines");
    const missing = await run(["set", "x", "@/nowhere/at/all"]);
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot be read") });
  });

  test("what follows -- is a value, even when it looks like a flag", async () => {
    const { run, json } = openCommandLine();
    expect((await run(["set", "dashes", "--", "--json"])).stdout).toContain("dashes");
    expect((await json("get", "dashes")).value).toBe("--json");
  });

  test("durations, tags, leases and JSON lists are read", async () => {
    const { json, clock } = openCommandLine();
    const set = await json("set", "k", "1", "--ttl", "1h30m");
    expect(set.expires_at).toBe((clock.nowMs() + 5_400_000) / 1000);
    const { run_id } = await json("workflow", "create", "w", "--tag", "a=1", "--tag", "b=x=y");
    expect(await json("workflow", "discover", "--tag", "b=x=y")).toMatchObject({ runs: [{ run_id, tags: { a: "1", b: "x=y" } }] });
    const { token } = await json("lease", "acquire", "deploy");
    expect(await json("set", "guarded", "1", "--lease", `deploy:${token}`)).toMatchObject({ ok: true });
    expect(await json("set", "guarded", "1", "--lease", `deploy:${Number(token) + 1}`)).toMatchObject({ error: { code: "lease_lost" } });
    expect(await json("state", "commit", "--writes", '[{"key":"a","value":1},{"key":"k","delete":true}]', "--lease", `deploy:${token}`)).toMatchObject({ ok: true });
  });

  test.each([
    [["set", "k", "1", "--ttl", "soon"], /--ttl: must be a duration such as/],
    [["set", "k", "1", "--expected-version", "x"], /--expected-version: must be a whole number/],
    [["set", "k"], /<value>: is missing/],
    [["set", "k", "1", "2"], /set: takes <key> <value>; unexpected "2"\. Quote an argument that contains spaces/],
    [["workflow", "create", "w", "--tag", "x"], /--tag: must be NAME=VALUE/],
    [["workflow", "discover", "--status", "odd"], /--status: must be one of created, claimed/],
    [["state", "commit"], /--writes: is missing/],
    [["state", "commit", "--writes", "["], /--writes: must be JSON/],
    [["set", "k", "1", "--lease", "deploy"], /--lease: must be NAME:TOKEN/],
    [["set", "k", "1", "--ttl", "0"], /--ttl: must be above 0.*See holdfast set --help/],
    [["set", "", "1"], /<key>: /],
    [["session", "save", "s", "["], /<context>: must be JSON/],
  ])("%j is refused with exit code 2 and what is allowed", async (args, message) => {
    const { run } = openCommandLine();
    expect(await run(args)).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(message) });
  });
});

describe("exit codes", () => {
  test("an expected no is 1: not found, conflict, held, nothing to claim, nothing to remove", async () => {
    const { run } = openCommandLine();
    await run(["set", "k", "1"]);
    await run(["lease", "acquire", "deploy", "--agent", "other"]);
    const codes = [
      ["get", "none"],
      ["state", "get", "none"],
      ["rm", "none"],
      ["set", "k", "2", "--expected-version", "7"],
      ["lease", "acquire", "deploy"],
      ["lease", "release", "deploy"],
      ["lease", "renew", "deploy"],
      ["workflow", "claim"],
      ["session", "restore", "none"],
      ["agentcheckpoint", "get", "none"],
      ["agentcheckpoint", "set", "k", "1", "--expected-version", "9"],
    ];
    for (const args of codes) expect([args, (await run(args)).code]).toEqual([args, 1]);
  });

  test("a failure has the exit code of its error code, also as JSON on standard output", async () => {
    const { run, json } = openCommandLine();
    expect((await run(["workflow", "status", "wf-none"])).code).toBe(3);
    expect(await run(["workflow", "status", "wf-none", "--json"])).toMatchObject({ code: 3, stderr: "" });
    expect(await json("workflow", "status", "wf-none")).toMatchObject({ error: { code: "not_found", details: { run_id: "wf-none" } } });
    expect(await json("set", "k", "1", "--ttl", "soon")).toMatchObject({ error: { code: "invalid_input" } });
  });

  test("a finished run's status is an answer, not a failure", async () => {
    const { run, json } = openCommandLine();
    const { run_id } = await json("workflow", "create", "w");
    await run(["workflow", "finish", String(run_id), "failed", "--error", "broken"]);
    expect(await run(["workflow", "status", String(run_id)])).toMatchObject({ code: 0, stdout: expect.stringMatching(/status +failed/) });
  });

  test("--read-only refuses what would change the store and allows the rest", async () => {
    const { run } = openCommandLine({ environment: { HOLDFAST_READ_ONLY: "true" } });
    expect(await run(["set", "k", "1"])).toMatchObject({ code: 2, stderr: expect.stringContaining("read-only") });
    expect((await run(["ls"])).code).toBe(0);
    expect(await run(["lease", "exec", "x", "--", "true"])).toMatchObject({ code: 2, stderr: expect.stringContaining("read-only") });
  });

  test("a profile meant for MCP clients takes no command away", async () => {
    const { run } = openCommandLine({ environment: { HOLDFAST_PROFILE: "agentcheckpoint" } });
    expect((await run(["set", "k", "1"])).code).toBe(0);
  });
});

describe("who acts", () => {
  test("leases and claims get a default holder; state writes are labelled only when asked", async () => {
    const { json } = openCommandLine();
    expect(await json("lease", "acquire", "deploy")).toMatchObject({ acquired: true, holder: "tester@host:1" });
    await json("set", "k", "1");
    expect(await json("history", "log", "k")).toMatchObject({ entries: [{ agent_id: null, writer: "tester" }] });
    await json("set", "k", "2", "--agent", "worker-1");
    expect(await json("history", "log", "k", "--n", "1")).toMatchObject({ entries: [{ agent_id: "worker-1", writer: "tester" }] });
  });

  test("the same person may claim a run and checkpoint it without saying who", async () => {
    const { json } = openCommandLine();
    const { run_id } = await json("workflow", "create", "w");
    await json("workflow", "claim", String(run_id));
    expect(await json("workflow", "checkpoint", String(run_id), "1", '"done"')).toMatchObject({ ok: true, last_step: 1 });
    expect(await json("workflow", "checkpoint", String(run_id), "2", "x", "--agent", "other")).toMatchObject({ error: { code: "claim_held" } });
  });

  test("a caller that is refused as another holder gets its own name as holder", async () => {
    const { run, json } = openCommandLine();
    await run(["lease", "acquire", "deploy", "--agent", "other"]);
    expect(await run(["lease", "renew", "deploy"])).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("You are tester@host:1; pass --agent or --token"),
    });
    expect((await run(["lease", "release", "deploy"])).stderr).toContain("You are tester@host:1");
    const { run_id } = await json("workflow", "create", "w");
    await run(["workflow", "claim", String(run_id), "--agent", "other"]);
    expect((await run(["workflow", "checkpoint", String(run_id), "1", "x"])).stderr).toContain("You are tester@host:1; pass --agent or --token");
    expect((await run(["lease", "renew", "deploy", "--json"])).stderr).toBe("");
  });

  test("a request key makes a repeated command harmless", async () => {
    const { json } = openCommandLine();
    const first = await json("workflow", "create", "w", "--request-key", "r1");
    expect(await json("workflow", "create", "w", "--request-key", "r1")).toEqual(first);
    expect(await json("workflow", "create", "other", "--request-key", "r1")).toMatchObject({ error: { code: "request_key_reused" } });
  });
});

describe("what people see", () => {
  test("get prints the value alone", async () => {
    const { run } = openCommandLine();
    await run(["set", "text", "hello"]);
    await run(["set", "object", '{"a":1}']);
    expect((await run(["get", "text"])).stdout).toBe("hello\n");
    expect((await run(["get", "object"])).stdout).toBe('{\n  "a": 1\n}\n');
    expect(await run(["get", "none"])).toEqual({ code: 1, stdout: "", stderr: 'holdfast: "none" is not set\n' });
  });

  test("lists are tables with aligned columns and relative times", async () => {
    const { run, clock } = openCommandLine();
    await run(["set", "a", "1"]);
    await run(["set", "a-longer-key", "2", "--ttl", "10m"]);
    clock.advance(90_000);
    const [header, first, second] = (await run(["ls"])).stdout.split("\n");
    expect(header).toMatch(/^key +version +changed +expires$/);
    expect(first).toMatch(/^a {13}1 +1m 30s ago +never$/);
    expect(second).toMatch(/^a-longer-key {2}1 +1m 30s ago +in 8m 30s$/);
  });

  test("times inside an answer are shown like those outside; what users stored stays as it is", async () => {
    const { run } = openCommandLine();
    await run(["set", "k", '{"seen_at": 1700000000}']);
    const { stdout } = await run(["state", "get", "k"]);
    expect(stdout).toMatch(/^value +\{"seen_at":1700000000\}$/m);
    expect(stdout).toMatch(/^updated at +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(now\)$/m);
  });

  test("colour is used on a terminal only, and not when NO_COLOR is set", async () => {
    const esc = "\u001b[";
    expect((await openCommandLine({ terminal: true }).run(["doctor"])).stdout).toContain(esc);
    expect((await openCommandLine().run(["doctor"])).stdout).not.toContain(esc);
    expect((await openCommandLine({ terminal: true, environment: { NO_COLOR: "1" } }).run(["doctor"])).stdout).not.toContain(esc);
  });

  test("stored text cannot steer the terminal", async () => {
    const { run } = openCommandLine({ terminal: true, environment: { NO_COLOR: "1" } });
    await run(["set", "evil\u001b[2J", '"\\u001b]0;owned\\u0007\\u202e"']);
    for (const args of [
      ["ls", "--values"],
      ["get", "evil\u001b[2J"],
      ["state", "get", "evil\u001b[2J"],
      ["history", "log"],
      ["get", "\u001b[2J"],
    ]) {
      const { stdout, stderr } = await run(args);
      expect([args[0], /[\u001b\u0007\u202e]/.test(stdout + stderr)]).toEqual([args[0], false]);
    }
  });

  test("a value on a pipe is given exactly", async () => {
    const { run } = openCommandLine();
    await run(["set", "raw", '"\\u001b[1m"']);
    expect((await run(["get", "raw"])).stdout).toBe("\u001b[1m\n");
  });
});

describe("finding one's way", () => {
  test("without a command it shows what it can do", async () => {
    const { code, stdout } = await openCommandLine().run([]);
    expect(code).toBe(0);
    for (const word of ["get <key>", "doctor", "lease", "workflow", "1.2.3"]) expect(stdout).toContain(word);
  });

  test("its page of flags has those of every command, but not those that nothing uses", async () => {
    const { stdout } = await openCommandLine().run(["help", "flags"]);
    for (const flag of ["--store URL", "--namespace NAME", "--json", "--version"]) expect(stdout).toContain(flag);
    expect(stdout).not.toMatch(/--host|--port/);
  });

  test("help lists every command once, under what it is for, on one page; the flags have a page of their own", async () => {
    const { run } = openCommandLine();
    const { stdout } = await run(["--help"]);
    const listed = stdout.split("\n").flatMap((line) => /^ {2}([a-z]+)(?: |$)/.exec(line)?.[1] ?? []);
    // One word is a command and a group: it has a line as each.
    expect(listed.toSorted()).toEqual([...new Set(commands.map(({ path }) => path[0] as string)), "effect"].toSorted());
    expect(commandAreas.map(({ title }) => stdout.indexOf(`\n${title}:\n`)).every((place, i, places) => place > (places[i - 1] ?? 0))).toBe(true);
    expect(stdout.split("\n").length).toBeLessThan(80);
    expect(stdout.indexOf("  install ")).toBeLessThan(stdout.indexOf("  get "));
    expect(stdout).not.toContain("--claim-ttl");
    expect((await run(["help", "flags"])).stdout).toContain("--claim-ttl DURATION");
  });

  test("help and tables keep to the width of the terminal and break between words only", async () => {
    const narrow = openCommandLine({ terminal: true, columns: 60, environment: { NO_COLOR: "1" } });
    const tooWide = (text: string, width: number) => text.split("\n").filter((line) => line.length > width);
    // Usage lines and examples stand as they would be typed.
    const { stdout: help } = await narrow.run(["lease", "acquire", "--help"]);
    expect(tooWide(help, 60).filter((line) => !/holdfast /.test(line))).toEqual([]);
    expect(tooWide((await openCommandLine({ terminal: true, columns: 300 }).run(["doctor", "--help"])).stdout, 100)).toEqual([]);
    await narrow.run(["set", "key", "1", "--ttl", "10m"]);
    const { stdout: short } = await narrow.run(["ls"]);
    expect(short).toMatch(/^key +version +changed +expires\nkey +1 +now +in 10m\n$/);
    await narrow.run(["workflow", "create", "nightly"]);
    const { stdout: listed } = await narrow.run(["workflow", "discover"]);
    expect(listed).toMatch(/^name +run id/);
    expect(tooWide(listed, 60)).toEqual([]);
    const { stdout: stacked } = await narrow.run(["workflow", "discover", "--long"]);
    expect(stacked).toMatch(/^name +nightly$/m);
    expect(stacked).not.toContain("tags");
    expect(tooWide((await narrow.run(["doctor"])).stdout, 60)).toEqual([]);
  });

  test.each([["version"], ["help"]])("%s is a command too", async (word) => {
    expect(await openCommandLine().run([word])).toMatchObject({ code: 0, stdout: expect.stringContaining("1.2.3") });
  });

  test("a group without a command lists its commands; with --help that is a success", async () => {
    const { run } = openCommandLine();
    expect(await run(["lease"])).toMatchObject({ code: 2, stdout: expect.stringContaining("lease acquire") });
    expect((await run(["lease", "--help"])).code).toBe(0);
  });

  test.each([
    [["lese", "acquire"], /unknown command "lese"; did you mean holdfast lease\?/],
    [["lease", "aquire"], /unknown command "lease aquire"; did you mean holdfast lease acquire\?/],
    [["dcotor"], /did you mean holdfast doctor\?/],
    [["lease", "acquire", "x", "--tll", "5"], /--tll: unknown flag; did you mean --ttl\?/],
  ])("%j gets a suggestion", async (args, message) => {
    expect(await openCommandLine().run(args)).toMatchObject({ code: 2, stderr: expect.stringMatching(message) });
  });

  test("help names arguments, flags with what they take, and examples", async () => {
    const { stdout } = await openCommandLine().run(["help", "lease", "acquire"]);
    for (const text of [
      "Usage: holdfast lease acquire <resource_id>",
      "--ttl DURATION",
      "Default: 60s",
      "--request-key KEY",
      "holdfast lease acquire deploy --ttl 60s",
      "Flags of every command: holdfast help flags",
    ])
      expect(stdout).toContain(text);
    expect(stdout).not.toContain("--store URL");
  });

  test.each([
    [["effect"], "Usage: holdfast effect <name> [flags] -- <command>\n"],
    [["lease", "exec"], "Usage: holdfast lease exec <resource_id> [flags] -- <command> [arguments…]\n"],
    [["proxy"], "Usage: holdfast proxy [flags] [-- <command>]\n"],
    [["get"], "Usage: holdfast get <key> [flags]\n"],
  ])("help of %j shows flags before the words of another command", async (path, usage) => {
    expect((await openCommandLine().run(["help", ...path])).stdout).toContain(usage);
  });

  test.each(["bash", "zsh", "fish"])("a completion script for %s knows every command and its flags", async (shell) => {
    const { code, stdout } = await openCommandLine().run(["completion", shell]);
    expect(code).toBe(0);
    for (const word of ["lease", "acquire", "doctor", "request-key", "namespace", "claude-code", "agentcheckpoint sidecar", "created claimed"]) expect(stdout).toContain(word);
    const withPort = stdout.split("\n").filter((line) => /--port|-l port/.test(line));
    expect([withPort.length > 0, withPort.filter((line) => !line.includes("serve"))]).toEqual([true, []]);
    expect((await openCommandLine().run(["completion", "tcsh"])).code).toBe(2);
  });

  test.skipIf(process.platform === "win32").each([
    [
      ["lease", ""],
      ["exec", "acquire"],
    ],
    [
      ["workflow", "discover", "--status", ""],
      ["created", "claimed"],
    ],
    [["ls", "--profile", "sid"], ["sidecar"]],
    [["--profile", "sid"], ["sidecar"]],
    [
      ["completion", ""],
      ["bash", "zsh", "fish"],
    ],
    [["install", "cur"], ["cursor"]],
    [["lease", "exec", "deploy", "--", "/et"], ["/etc"]],
  ])("bash completes %j with %j", async (words, expected) => {
    const { stdout: script } = await openCommandLine().run(["completion", "bash"]);
    const given = ["holdfast", ...words].map((word) => `'${word}'`).join(" ");
    const ask = `COMP_WORDS=(${given}); COMP_CWORD=${words.length}; _holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = spawnSync("bash", ["-c", `${script}\n${ask}`], { encoding: "utf8" });
    expect(stdout.split("\n")).toEqual(expect.arrayContaining(expected));
  });
});

/** Words as a shell would give them, for single-quoted examples. */
function shellWords(text: string): string[] {
  return [...text.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? (bare as string));
}
