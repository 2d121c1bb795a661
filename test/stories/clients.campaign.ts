import type { ChildProcess } from "node:child_process";
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requireService, root } from "./installed-package.ts";

const run = promisify(execFile);
const executable = join(root, "dist", "main.js");

let home: string;
let project: string;
let env: Record<string, string>;
let programs: { readonly claude: string; readonly opencode: string; readonly gemini: string };
let node24: string;
beforeAll(async () => {
  const [folder, node] = await Promise.all([requireService("clients.mjs"), requireService("node24.mjs")]);
  programs = JSON.parse(readFileSync(join(folder, "programs.json"), "utf8"));
  node24 = node;
});

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "holdfast-clients-"));
  project = join(home, "project");
  await mkdir(project);
  // Nothing of this machine's user, and none of what the clients would like to fetch or report.
  const quiet = {
    DISABLE_TELEMETRY: "1",
    DISABLE_AUTOUPDATER: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
  };
  const author = { GIT_AUTHOR_NAME: "A", GIT_AUTHOR_EMAIL: "a@example.org", GIT_COMMITTER_NAME: "A", GIT_COMMITTER_EMAIL: "a@example.org", GIT_CONFIG_NOSYSTEM: "1" };
  env = { PATH: process.env.PATH ?? "", HOME: home, TMPDIR: tmpdir(), NO_COLOR: "1", GEMINI_CLI_TRUST_WORKSPACE: "true", ...quiet, ...author };
});
afterAll(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));

const holdfast = (...args: string[]) => run(process.execPath, [executable, ...args], { cwd: project, env });

/** Both outputs of a client's program, and how it ended. */
async function ask(program: string, args: readonly string[]): Promise<{ readonly code: number | null; readonly text: string }> {
  const child = spawn(program, args, { cwd: project, env, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, text };
}

const listers = {
  "claude-code": () => ask(programs.claude, ["mcp", "list"]),
  opencode: () => ask(programs.opencode, ["mcp", "list"]),
  gemini: () => ask(node24, [programs.gemini, "mcp", "list"]),
} as const;

describe.each(Object.keys(listers) as (keyof typeof listers)[])("%s, the real program", (client) => {
  test.each(["user", "project"])("sees the server and connects to it after install for the %s, and no more after uninstall", async (scope) => {
    expect((await listers[client]()).text).not.toMatch(/holdfast.*(main\.js|connected)/i);
    await holdfast("install", client, "--scope", scope, "--yes");
    const { code, text } = await listers[client]();
    expect(code).toBe(0);
    expect(text).toContain("holdfast");
    // Claude Code asks a person before it starts a project's server.
    expect(text).toMatch(client === "claude-code" && scope === "project" ? /pending approval/i : /connected/i);
    await holdfast("uninstall", client, "--scope", scope, "--yes");
    expect((await listers[client]()).text).not.toMatch(/holdfast.*(main\.js|connected)/i);
  });
});

describe("a server that wants a token", () => {
  let server: ChildProcess;
  let url: string;
  const store = () => ["--store", `sqlite:${join(home, "served", "holdfast.db")}`];
  beforeAll(async () => {
    await holdfast("token", "create", "--name", "first", "--role", "read", ...store());
    const child = spawn(process.execPath, [executable, "serve", "--json", "--port", "0", "--auth", "token", ...store()], { env, stdio: ["ignore", "pipe", "inherit"] });
    server = child;
    const [line] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
    url = JSON.parse(line).mcp_url;
  });
  afterAll(async () => {
    const ended = once(server, "exit");
    server.kill("SIGTERM");
    await ended;
  });

  /** Whether the token of that name has opened the server, as the store tells. */
  async function wasUsed(name: string): Promise<boolean> {
    const { tokens } = JSON.parse((await holdfast("token", "list", "--json", ...store())).stdout) as {
      readonly tokens: readonly { readonly name: string; readonly last_used_at: number | null }[];
    };
    return tokens.some((token) => token.name === name && token.last_used_at !== null);
  }

  test.each(Object.keys(listers) as (keyof typeof listers)[])("lets %s in by the variable that its file refers to", async (client) => {
    const { stdout: secret } = await holdfast("token", "create", "--name", client, "--role", "write", ...store());
    await holdfast("install", client, "--yes", "--http", url, "--token-env", "STORY_TOKEN");
    env.STORY_TOKEN = secret.trim();
    try {
      expect((await listers[client]()).text).toMatch(/(?<!dis)connected/i);
    } finally {
      delete env.STORY_TOKEN;
    }
    // Use is noted a moment later.
    await expect.poll(() => wasUsed(client)).toBe(true);
    await holdfast("uninstall", client, "--yes");
  });

  test("lets a client in that starts the bridge, by the token in a file", async () => {
    const { stdout: secret } = await holdfast("token", "create", "--name", "bridged", "--role", "write", ...store());
    const file = join(home, "token");
    await writeFile(file, secret, { mode: 0o600 });
    await holdfast("install", "claude-code", "--yes", "--http", url, "--token-file", file);
    expect((await listers["claude-code"]()).text).toMatch(/connect .*--token-file.*(?<!dis)connected/i);
    await expect.poll(() => wasUsed("bridged")).toBe(true);
    await holdfast("uninstall", "claude-code", "--yes");
  });
});

describe("the Claude Code plugin", () => {
  const validate = (folder: string) => ask(programs.claude, ["plugin", "validate", "--strict", folder]);

  test("passes Claude Code's own validator, and so does the marketplace", async () => {
    for (const folder of [join(root, "plugin"), root]) expect(await validate(folder)).toMatchObject({ code: 0, text: expect.stringContaining("Validation passed") });
  });

  test.each([
    ["a manifest without a name", ".claude-plugin/plugin.json", "{}"],
    ["a hook of an unknown kind", "hooks/hooks.json", '{"hooks": {"SessionStart": [{"hooks": [{"type": "nonsense"}]}]}}'],
    ["a skill whose front matter is broken", "skills/checkpoint/SKILL.md", "---\nname: [\n---\n"],
  ])("the validator would find %s", async (_what, path, text) => {
    const copy = join(home, "plugin-copy");
    await cp(join(root, "plugin"), copy, { recursive: true });
    await writeFile(join(copy, path), text);
    expect((await validate(copy)).code).not.toBe(0);
    await rm(copy, { recursive: true });
  });
});

describe("work, checkpoint, compaction, new process", () => {
  /** The hook exactly as Claude Code would run it: the command of its settings, through a shell, with the event on standard input. */
  async function runHook(event: string, input: Record<string, unknown>): Promise<string> {
    const { hooks } = JSON.parse(await readFile(join(home, ".claude", "settings.json"), "utf8"));
    const { command } = hooks[event][0].hooks[0];
    const child = spawn("sh", ["-c", command], { cwd: project, env, stdio: ["pipe", "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
    child.stdin.end(JSON.stringify({ session_id: "one", transcript_path: join(home, "none.jsonl"), cwd: project, hook_event_name: event, ...input }));
    const [code] = await once(child, "close");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return stdout;
  }

  /** An official client on the server as Claude Code's own file names it. */
  async function connect() {
    const { command, args } = JSON.parse(await readFile(join(home, ".claude.json"), "utf8")).mcpServers.holdfast;
    const transport = new StdioClientTransport({ command, args, cwd: project, env, stderr: "inherit" });
    const client = new Client({ name: "story", version: "1.0.0" });
    await client.connect(transport);
    return {
      pid: transport.pid as number,
      async call(name: string, args: Record<string, unknown>) {
        const { structuredContent, isError, content } = await client.callTool({ name, arguments: args });
        if (isError) throw new Error(JSON.stringify(content));
        return structuredContent as Record<string, never>;
      },
      close: () => client.close(),
    };
  }

  test("the pack of the new session holds what the first one saved", async () => {
    const git = (...args: string[]) => execFileSync("git", args, { cwd: project, env });
    git("init", "--quiet", "--initial-branch", "retry-queue");
    await writeFile(join(project, "queue.ts"), "export const queue = [];\n");
    git("add", "queue.ts");
    git("commit", "--quiet", "--message", "Add the retry queue");
    await holdfast("install", "claude-code", "--yes", "--store", `sqlite:${join(home, "store", "holdfast.db")}`);
    expect(await runHook("SessionStart", { source: "startup" })).toBe("");

    const first = await connect();
    await first.call("checkpoint", { description: "Flush on shutdown loses the last item; next: await drain() in stop()", highlights: ["Queue is bounded at 512 items"] });
    await first.call("save_knowledge", {
      id: "flush-needs-drain",
      content: "The flush on shutdown loses the last item unless drain() is awaited: stop() returns before the worker has written it.",
      keywords: ["queue", "flush"],
    });
    const { run_id } = await first.call("workflow_create", { name: "release", input: { steps: 2 } });
    await first.call("workflow_claim", { run_id, agent_id: "agent-one" });
    await writeFile(join(project, "queue.ts"), "export const queue = [1];\n");
    expect(await runHook("PreCompact", { trigger: "auto", custom_instructions: "" })).toBe("");
    // No farewell: whatever the server still had in its head is gone.
    process.kill(first.pid, "SIGKILL");
    await first.close().catch(() => {});

    const pack = JSON.parse(await runHook("SessionStart", { source: "compact" })).hookSpecificOutput.additionalContext;
    for (const words of [
      "Flush on shutdown loses the last item; next: await drain() in stop()",
      "Queue is bounded at 512 items",
      "stop() returns before the worker has written it",
      "retry-queue @ ",
      "queue.ts +1 −1",
      "calling resume again is unnecessary",
      run_id,
      "agent-one",
    ])
      expect(pack).toContain(words);

    const second = await connect();
    const { text } = await second.call("resume", {});
    expect(text).toContain("await drain() in stop()");
    await second.close();

    await holdfast("uninstall", "claude-code", "--yes");
    // Whatever a client keeps there itself stays; without any the folder goes too.
    const left = existsSync(join(home, ".claude")) ? await readdir(join(home, ".claude"), { recursive: true }) : [];
    expect(left).not.toContainEqual(expect.stringMatching(/holdfast|settings\.json/));
    expect(existsSync(join(home, "store", "holdfast.db"))).toBe(true);
  });
});
