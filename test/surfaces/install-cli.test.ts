import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ClientPlan, CliHost } from "../../src/surfaces/cli/command.ts";
import { describeFailure } from "../../src/surfaces/cli/failure.ts";
import { runCli } from "../../src/surfaces/cli/run-cli.ts";
import { buildExecutable, startExecutable } from "../support/cli-process.ts";

/** A person at a terminal who answers one question, and a plan that remembers whether it was carried out. */
async function answer(answers: readonly string[], args: readonly string[], { terminal = true, changes = 1 } = {}) {
  let stdout = "";
  let applied = false;
  const change = { path: "/home/user/.cursor/mcp.json", what: "MCP server", action: "change", diff: "  {\n+   \u001b[31mnew\n- old" } as const;
  const plan: ClientPlan = {
    client: "Cursor",
    scope: "user",
    colourAllowed: false,
    changes: Array.from({ length: changes }, () => change),
    notes: ["Restart it."],
    async apply() {
      applied = true;
      return { backups: ["/home/user/.cursor/mcp.json.holdfast-backup-1"] };
    },
  };
  const host = {
    version: "1.2.3",
    flags: [],
    async *stdin() {
      yield* answers;
    },
    stdinIsTerminal: terminal,
    stdout: { isTTY: terminal, write: (text: string) => (stdout += text) },
    stderr: { write: () => {} },
    planClientChange: async () => plan,
  } as unknown as CliHost;
  const code = await runCli(args, host).catch((error) => {
    const failure = describeFailure(error);
    stdout += failure.line;
    return failure.exitCode;
  });
  return { code, stdout, applied };
}

describe("install on a terminal", () => {
  test("shows the difference, asks, and does it after a yes", async () => {
    const { code, stdout, applied } = await answer(["y\n"], ["install", "cursor"]);
    expect({ code, applied }).toEqual({ code: 0, applied: true });
    expect(stdout).toMatch(
      /change \/home\/user\/\.cursor\/mcp\.json.*\(MCP server\)[\s\S]*\+ {3}\\u001b\[31mnew[\s\S]*Change these files\? \[y\/N\] Done\.\nOriginal kept as: .*\nRestart it\.\n$/,
    );
  });

  test.each([["n\n"], ["\n"], ["maybe\n"], ["yes please\n"]])("%j is no yes", async (text) => {
    expect(await answer([text], ["install", "cursor"])).toMatchObject({ code: 1, applied: false, stdout: expect.stringContaining("Nothing was changed.") });
  });

  test("an input that ends is no yes", async () => {
    expect(await answer([], ["uninstall", "cursor"])).toMatchObject({ code: 1, applied: false });
  });

  test("--dry-run and --yes do not ask for confirmation, and neither does a run without changes", async () => {
    expect(await answer(["y\n"], ["install", "cursor", "--dry-run"])).toMatchObject({ code: 0, applied: false, stdout: expect.stringContaining("dry run") });
    expect(await answer([], ["install", "cursor", "--yes"])).toMatchObject({ code: 0, applied: true });
    expect(await answer([], ["install", "cursor"], { changes: 0 })).toMatchObject({ code: 0, applied: false, stdout: "Cursor (user): everything is already set up.\n" });
  });

  test("if stdin is not a terminal, the difference is shown and --yes is required", async () => {
    const { code, stdout, applied } = await answer(["y\n"], ["install", "cursor"], { terminal: false });
    expect({ code, applied }).toEqual({ code: 2, applied: false });
    expect(stdout).toMatch(/- old[\s\S]*--yes: is required/);
    expect(await answer(["y\n"], ["install", "cursor", "--json"])).toMatchObject({ code: 2, applied: false });
  });
});

describe("the executable", () => {
  let built: Awaited<ReturnType<typeof buildExecutable>>;
  beforeAll(async () => {
    built = await buildExecutable();
  });
  afterAll(() => built?.remove());
  const run = (...args: string[]) => startExecutable(built.main, args, { env: { PATH: process.env.PATH, HOME: built.folder }, cwd: built.folder }).finished;
  const settings = () => JSON.parse(readFileSync(join(built.folder, ".cursor", "mcp.json"), "utf8"));

  test("writes itself into a client's file with the settings it was given, and takes itself out again", async () => {
    const { code, stdout } = await run("install", "cursor", "--yes", "--json", "--profile", "coding", "--store", "sqlite:./state.db", "--read-only");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ client: "cursor", scope: "user", applied: true, changes: [{ action: "create", what: "MCP server" }] });
    const args = [built.main, "--store", `sqlite:${join(built.folder, "state.db")}`, "--profile", "coding", "--read-only"];
    expect(settings().mcpServers.holdfast).toEqual({ command: process.execPath, args });
    expect(await run("uninstall", "cursor", "--yes")).toMatchObject({ code: 0, stderr: "" });
    expect(existsSync(join(built.folder, ".cursor"))).toBe(false);
    // Installing opens no store.
    expect(existsSync(join(built.folder, "state.db"))).toBe(false);
  });

  test("writes where the token is for a server elsewhere: a variable's name, or a file by its whole path", async () => {
    const url = "https://holdfast.example.com/mcp";
    const entryOf = async (...args: string[]) => {
      const { code, stdout } = await run("install", ...args, "--http", url, "--yes", "--json");
      expect(code).toBe(0);
      return JSON.parse(readFileSync(JSON.parse(stdout).changes[0].path, "utf8")).mcpServers.holdfast;
    };
    expect(await entryOf("cursor", "--token-env", "TEAM_TOKEN")).toEqual({ url, headers: { Authorization: `Bearer \${env:TEAM_TOKEN}` } });
    const args = [built.main, "connect", url, "--token-file", join(built.folder, "token")];
    expect(await entryOf("claude-desktop", "--token-file", "./token")).toEqual({ command: process.execPath, args });
    for (const client of ["cursor", "claude-desktop"]) expect((await run("uninstall", client, "--yes")).code).toBe(0);
  });

  test("hooks follow the server's settings for writing: where, how long, and whether at all", async () => {
    const { stdout } = await run("install", "claude-code", "--dry-run", "--json", "--profile", "coding", "--journal-age", "30d", "--read-only", "--namespace", "team");
    const hooks = JSON.parse(stdout).changes.find(({ what }: { what: string }) => what === "hooks").diff;
    expect(hooks).toContain(`${built.main} hook pre-compact --namespace team --journal-age 30d --read-only"`);
  });

  test("--print gives any other client what to enter, from the tools of the profile, and changes nothing", async () => {
    const printed = await run("install", "--print", "--profile", "goldfish", "--json");
    const { config, instructions } = JSON.parse(printed.stdout);
    expect(config.mcpServers.holdfast.args).toEqual([built.main, "--profile", "goldfish"]);
    expect(instructions).toContain("`checkpoint`");
    expect(instructions).not.toContain("recall_knowledge");
    const remote = await run("install", "--print", "--http", "https://memory.example/mcp");
    expect(remote).toMatchObject({ code: 0, stderr: expect.stringContaining("Set HOLDFAST_TOKEN") });
    expect(remote.stdout).toMatch(/^\{\n {2}"mcpServers": [\s\S]*"Authorization": "Bearer \$\{HOLDFAST_TOKEN\}"[\s\S]*\n## Holdfast/);
    expect(await run("install", "cursor", "--print")).toMatchObject({ code: 2, stderr: expect.stringContaining('leave out "cursor"') });
  });

  test("new files are shown by their length, and whole in a dry run", async () => {
    const short = await run("install", "claude-code", "--scope", "project", "--yes");
    expect(short.stdout).toMatch(/^new file .*holdfast-checkpoint\/SKILL\.md \(skill checkpoint, \d+ lines\)$/m);
    expect(short.stdout).not.toContain("What not to save");
    await run("uninstall", "claude-code", "--scope", "project", "--yes");
    const whole = await run("install", "claude-code", "--scope", "project", "--dry-run");
    expect(whole.stdout).toContain("What not to save");
  });

  test("refuses what would make every later start fail", async () => {
    expect(await run("install", "cursor", "--yes", "--profile", "codeing")).toMatchObject({ code: 2, stderr: expect.stringContaining("--profile: must be one of") });
    expect(await run("install", "emacs", "--yes")).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^holdfast: <client>: must be one of claude-code, .*kiro \(got "emacs"\)\n$/),
    });
    expect(await run("install")).toMatchObject({ code: 2, stderr: expect.stringContaining("must be one of") });
    expect(await run("install", "cursor", "--scope", "all")).toMatchObject({ code: 2, stderr: expect.stringContaining("--scope: must be one of user, project") });
    expect(existsSync(join(built.folder, ".cursor"))).toBe(false);
  });
});
