import { existsSync, lstatSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parse as parseJsonc } from "jsonc-parser";
import { describe, expect, test } from "vitest";
import type { ClientFolders } from "../../src/install/client-folders.ts";
import { clientNames, clients } from "../../src/install/clients.ts";
import { serverLaunch, shellLine } from "../../src/install/server-launch.ts";
import { installCommand } from "../../src/surfaces/cli/install-command.ts";
import { selectTools } from "../../src/tools/profiles.ts";
import { openMachine } from "../support/client-machine.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const page = readFileSync(new URL("../../docs/clients.md", import.meta.url), "utf8");
const everyPlace = clientNames.flatMap((client) => Object.keys(clients[client].files).map((scope) => ({ client, scope })));

describe("every client", () => {
  test("the table has those that were promised", () => {
    const first = ["claude-code", "claude-desktop", "cline", "codex", "continue", "cursor", "gemini", "hermes", "opencode", "vscode", "windsurf", "zed"];
    expect([...clientNames].sort()).toEqual([...first, "amp", "copilot", "crush", "goose", "kiro", "qwen"].sort());
    expect(installCommand.operandMeanings?.[0]?.meaning).toBe(`One of ${clientNames.join(", ")}.`);
  });

  test.each(everyPlace)("$client, $scope: a dry run changes nothing, a second run changes nothing more, and uninstalling leaves nothing", async ({ client, scope }) => {
    const { tree, plan, change } = await openMachine();
    const before = await tree();
    const planned = await plan({ client, scope });
    expect(planned.changes.map(({ action }) => action)).toEqual(planned.changes.map(() => "create"));
    expect(planned.changes.map(({ diff }) => diff).join("\n")).toContain("/srv/holdfast/dist/main.js");
    expect(await tree()).toEqual(before);
    await change({ client, scope });
    const installed = await tree();
    expect((await plan({ client, scope })).changes).toEqual([]);
    expect(await tree()).toEqual(installed);
    await change({ action: "uninstall", client, scope });
    expect(await tree()).toEqual(before);
  });

  test.each(everyPlace)("$client, $scope: files that were there come back to the byte, with their mode", async ({ client, scope }) => {
    const { tree, plan, change, put } = await openMachine();
    const texts: Record<string, string> = {
      json: '{ // theirs\n      "theirs": [1,2],\n}',
      jsonc: "{ }",
      toml: 'theirs = "x"  # theirs\n\n\n',
      yaml: "theirs:   [1, 2] # theirs\n",
      md: "# Theirs\n\n\ntext",
    };
    for (const { path, diff } of (await plan({ client, scope })).changes) {
      // Files that are ours as a whole have no earlier content.
      if (!diff.includes("Written by `holdfast install`")) await put(path, texts[path.slice(path.lastIndexOf(".") + 1)] as string);
    }
    const before = await tree();
    expect(Object.keys(before).length).toBeGreaterThan(2);
    const { backups } = await change({ client, scope });
    const installed = await tree();
    for (const path of backups) expect(path).toMatch(/\.holdfast-backup-19700101T000000Z$/);
    for (const [path, content] of Object.entries(before)) if (/theirs/i.test(content)) expect(installed[path]).toMatch(/^660 [\s\S]*theirs/i);
    await change({ action: "uninstall", client, scope });
    expect(await tree()).toEqual(before);
  });

  test.each(everyPlace)("$client, $scope: a file that the client changed meanwhile loses our part and nothing else", async ({ client, scope }) => {
    const { plan, change } = await openMachine();
    const [server] = (await plan({ client, scope })).changes;
    const path = server?.path as string;
    await change({ client, scope });
    const text = await readFile(path, "utf8");
    const added = path.endsWith(".toml") ? `${text}\n[later]\na = 1\n` : path.endsWith(".yaml") ? `${text}later: 1\n` : text.replace("{", '{\n  "later": 1,');
    await writeFile(path, added);
    await change({ action: "uninstall", client, scope });
    const left = await readFile(path, "utf8");
    expect(left).toContain("later");
    expect(left).not.toMatch(/holdfast\/dist/);
  });

  test.each([
    ["claude-code", ["mcpServers"], { type: "http", url: "http://127.0.0.1:7420/mcp" }],
    ["cursor", ["mcpServers"], { url: "http://127.0.0.1:7420/mcp" }],
    ["vscode", ["servers"], { type: "http", url: "http://127.0.0.1:7420/mcp" }],
    ["windsurf", ["mcpServers"], { serverUrl: "http://127.0.0.1:7420/mcp" }],
    ["gemini", ["mcpServers"], { httpUrl: "http://127.0.0.1:7420/mcp" }],
    ["opencode", ["mcp"], { type: "remote", url: "http://127.0.0.1:7420/mcp", enabled: true }],
    ["zed", ["context_servers"], { url: "http://127.0.0.1:7420/mcp" }],
    ["cline", ["mcpServers"], { type: "streamableHttp", url: "http://127.0.0.1:7420/mcp", disabled: false }],
  ] as const)("%s is given a running server's address in its own way", async (client, [key], entry) => {
    const { change } = await openMachine();
    await change({ client });
    const { changes } = await change({ client, http: "http://127.0.0.1:7420/mcp" });
    expect(parseJsonc(await readFile(changes[0]?.path as string, "utf8"))[key].holdfast).toEqual(entry);
  });

  test("platforms keep their own places", async () => {
    const paths = async (over: Partial<ClientFolders>, client: string) => (await (await openMachine(over)).plan({ client })).changes[0]?.path;
    expect(await paths({ platform: "darwin" }, "claude-desktop")).toMatch(/home\/Library\/Application Support\/Claude\/claude_desktop_config\.json$/);
    expect(await paths({ platform: "win32" }, "vscode")).toMatch(/home\/AppData\/Roaming\/Code\/User\/mcp\.json$/);
    expect(await paths({}, "claude-desktop")).toMatch(/home\/\.config\/Claude\/claude_desktop_config\.json$/);
    const moved = await temporaryFolder();
    expect(await paths({ codexFolder: moved }, "codex")).toBe(join(moved, "config.toml"));
    expect(await paths({ claudeFolder: moved }, "claude-code")).toBe(join(moved, ".claude.json"));
    expect(await paths({ xdgConfigFolder: moved }, "opencode")).toBe(join(moved, "opencode", "opencode.json"));
  });

  test("the file a client already reads is taken", async () => {
    const { plan, put, places } = await openMachine();
    const jsonc = await put(join(places.home, ".config", "opencode", "opencode.jsonc"), "{}");
    expect((await plan({ client: "opencode" })).changes[0]?.path).toBe(jsonc);
    await mkdir(join(places.home, ".cline", "data", "settings"), { recursive: true });
    expect((await plan({ client: "cline" })).changes[0]?.path).toContain(".cline");
  });
});

describe("what can go wrong", () => {
  test("a file that is not valid is named with its line, and no file at all is touched", async () => {
    const { change, put, tree, places } = await openMachine();
    const path = await put(join(places.home, ".claude", "settings.json"), '{\n  "hooks": {,}\n}\n');
    const before = await tree();
    await expect(change({ client: "claude-code" })).rejects.toThrow(`${path}:2:13: not valid JSON`);
    await expect(change({ action: "uninstall", client: "claude-code" })).rejects.toThrow("not valid JSON");
    expect(await tree()).toEqual(before);
  });

  test.each([
    ["cursor", join(".cursor", "mcp.json"), `{"a":${"[".repeat(50_000)}${"]".repeat(50_000)}}`],
    ["continue", join(".continue", "config.yaml"), `a: ${"[".repeat(50_000)}${"]".repeat(50_000)}\n`],
  ])("a file of %s that is nested beyond all use is refused in words of its own", async (client, file, text) => {
    const { plan, put, places } = await openMachine();
    const path = await put(join(places.home, file), text);
    for (const action of ["install", "uninstall"] as const)
      await expect(plan({ action, client })).rejects.toMatchObject({ code: "invalid_input", message: expect.stringContaining(path) });
  });

  test("a missing program is reported during set-up", async () => {
    const { plan, put, places } = await openMachine();
    expect((await plan({ client: "zed" })).notes).toContainEqual(expect.stringMatching(/^Zed does not seem to be installed: there was no .*zed\./));
    expect((await plan({ client: "claude-code" })).notes).toContainEqual(expect.stringMatching(/^Claude Code does not seem to be installed/));
    await put(join(places.home, ".claude", "settings.json"), "{}");
    expect((await plan({ client: "claude-code" })).notes).not.toContainEqual(expect.stringContaining("does not seem to be installed"));
  });

  test("text that is not UTF-8, a folder in place of the file and a file that is too large are refused", async () => {
    const { plan, places } = await openMachine();
    const path = join(places.home, ".cursor", "mcp.json");
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, Buffer.from([0x7b, 0xff, 0x7d]));
    await expect(plan({ client: "cursor" })).rejects.toThrow("is not UTF-8 text");
    await rm(path);
    await mkdir(path);
    await expect(plan({ client: "cursor" })).rejects.toThrow("is not a file");
    await rm(path, { recursive: true });
    await writeFile(path, Buffer.alloc(17 * 1024 * 1024, " "));
    await expect(plan({ client: "cursor" })).rejects.toThrow("is larger than");
  });

  test("a link inside the home folder is followed and stays a link", async () => {
    const { change, put, places, tree } = await openMachine();
    const real = await put(join(places.home, "dotfiles", "mcp.json"), "{}\n");
    await mkdir(join(places.home, ".cursor"));
    const link = join(places.home, ".cursor", "mcp.json");
    await symlink(real, link);
    const before = await tree();
    await change({ client: "cursor" });
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(await readFile(real, "utf8")).toContain("holdfast");
    await change({ action: "uninstall", client: "cursor" });
    expect(await tree()).toEqual(before);
  });

  test.each([
    ["a file", async (link: string, outside: string) => symlink(outside, link)],
    [
      "a folder on the way",
      async (link: string, outside: string) => {
        await rm(dirname(link), { recursive: true });
        await symlink(dirname(outside), dirname(link));
      },
    ],
    ["nothing", async (link: string, outside: string) => symlink(`${outside}-gone`, link)],
  ])("a link that leads out of the project to %s is refused and nothing outside is touched", async (_what, makeLink) => {
    const { change, put, places, tree } = await openMachine();
    const outside = await put(join(places.home, "secret", "mcp.json"), "{}");
    const link = join(places.project, ".cursor", "mcp.json");
    await mkdir(dirname(link), { recursive: true });
    await makeLink(link, outside);
    const before = await tree();
    await expect(change({ client: "cursor", scope: "project" })).rejects.toThrow(/points outside its folder|broken symbolic link/);
    await expect(change({ action: "uninstall", client: "cursor", scope: "project" })).rejects.toThrow(/points outside its folder|broken symbolic link/);
    expect(await tree()).toEqual(before);
  });

  test("a file that changes between the question and the answer is not overwritten", async () => {
    const { plan, put, places, tree } = await openMachine();
    const path = await put(join(places.home, ".claude.json"), "{}\n");
    const planned = await plan({ client: "claude-code" });
    await writeFile(path, '{"new": 1}\n');
    const before = await tree();
    await expect(planned.apply()).rejects.toMatchObject({ code: "conflict" });
    expect(await tree()).toEqual(before);
  });

  test.skipIf(process.platform === "win32")("when one file cannot be written, those before it are put back", async () => {
    const { plan, put, places, tree } = await openMachine();
    await put(join(places.home, ".claude.json"), "{}\n");
    const planned = await plan({ client: "claude-code" });
    // A file stands where a folder has to be made.
    await put(join(places.home, ".claude", "skills"), "");
    const before = await tree();
    await expect(planned.apply()).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("could not be written") });
    expect(await tree()).toEqual(before);
  });

  test("a file that its owner made read-only is named and left alone, and so is a link to itself", async () => {
    const { change, put, places, tree } = await openMachine();
    await put(join(places.home, ".cursor", "mcp.json"), "{}", 0o444);
    await symlink(".codeium", join(places.home, ".codeium"));
    const before = await tree();
    await expect(change({ client: "cursor" })).rejects.toMatchObject({ code: "invalid_input", message: expect.stringContaining("is read-only") });
    await expect(change({ client: "windsurf" })).rejects.toMatchObject({ code: "invalid_input", message: expect.stringContaining("broken symbolic link") });
    expect(await tree()).toEqual(before);
  });

  test("what the user wrote into a skill of ours is kept in a backup, which goes with the skill", async () => {
    const { change, places, tree } = await openMachine();
    const before = await tree();
    await change({ client: "claude-code" });
    const path = join(places.home, ".claude", "skills", "holdfast-handoff", "SKILL.md");
    const edited = `${await readFile(path, "utf8")}\nMine.\n`;
    await writeFile(path, edited);
    const { backups } = await change({ client: "claude-code" });
    expect(await Promise.all(backups.map((backup) => readFile(backup, "utf8")))).toEqual([edited]);
    await change({ action: "uninstall", client: "claude-code" });
    expect(await tree()).toEqual(before);
  });

  test("instructions that another client reads too stay until that one goes", async () => {
    const { change, places, tree } = await openMachine();
    const before = await tree();
    const path = join(places.project, "AGENTS.md");
    await symlink("AGENTS.md", join(places.project, "GEMINI.md")).catch(() => {});
    await writeFile(path, "# Mine\n");
    const file = await readFile(path, "utf8");
    for (const client of ["codex", "gemini", "opencode"]) await change({ client, scope: "project" });
    const { notes } = await change({ action: "uninstall", client: "codex", scope: "project" });
    expect(notes).toEqual([`${path} is kept: Gemini CLI uses it too.`, `${path} is kept: opencode uses it too.`]);
    expect(await readFile(path, "utf8")).toContain("holdfast:begin");
    await change({ action: "uninstall", client: "opencode", scope: "project" });
    expect(await readFile(path, "utf8")).toContain("holdfast:begin");
    await change({ action: "uninstall", client: "gemini", scope: "project" });
    expect(await readFile(path, "utf8")).toBe(file);
    for (const name of ["AGENTS.md", "GEMINI.md"]) await rm(join(places.project, name));
    expect(await tree()).toEqual(before);
  });

  test("new files are the user's alone; in a project they are like any other", async () => {
    const { change, places } = await openMachine();
    await change({ client: "cursor" });
    expect((await stat(join(places.home, ".cursor", "mcp.json"))).mode & 0o777).toBe(0o600);
    await change({ client: "cursor", scope: "project" });
    expect((await stat(join(places.project, ".cursor", "mcp.json"))).mode & 0o777).toBe(0o644);
  });

  test("a skill of the user's under our name is not overwritten, and a second backup does not overwrite the first", async () => {
    const { change, put, places } = await openMachine();
    await put(join(places.home, ".claude", "skills", "holdfast-checkpoint", "SKILL.md"), "mine");
    await expect(change({ client: "claude-code" })).rejects.toThrow("was not written by Holdfast");
    const path = await put(join(places.home, ".claude.json"), '{"a":1}');
    await change({ client: "claude-code", serverOnly: true });
    await writeFile(path, '{"b":2}');
    const { backups } = await change({ client: "claude-code", serverOnly: true });
    expect(backups).toEqual([`${path}.holdfast-backup-19700101T000000Z-2`]);
    expect(await readFile(`${path}.holdfast-backup-19700101T000000Z`, "utf8")).toBe('{"a":1}');
    await change({ action: "uninstall", client: "claude-code" });
    expect((await readdir(places.home)).filter((name) => name.includes("backup"))).toEqual([]);
    expect(existsSync(join(places.home, ".claude", "skills", "holdfast-checkpoint", "SKILL.md"))).toBe(true);
  });

  test("an entry that the user wrote by hand is kept in a backup, and a changed installation still leaves nothing", async () => {
    const { change, put, places, tree } = await openMachine();
    const before = await tree();
    const text = '{"mcpServers": {"holdfast": {"command": "my-own-way"}}}';
    const path = await put(join(places.home, ".cursor", "mcp.json"), text);
    const { backups } = await change({ client: "cursor" });
    expect(await readFile(backups[0] as string, "utf8")).toBe(text);
    await change({ action: "uninstall", client: "cursor" });
    expect(existsSync(path)).toBe(false);
    await rm(dirname(path), { recursive: true });
    await change({ client: "cursor" });
    await change({ client: "cursor", http: "http://127.0.0.1:1/mcp" });
    await change({ action: "uninstall", client: "cursor" });
    expect(await tree()).toEqual(before);
  });

  test.each([
    [{ client: "emacs" }, /^<client>: must be one of claude-code, /],
    [{ client: "__proto__" }, /^<client>: must be one of/],
    [{ client: "cursor", scope: "machine" }, /^--scope: must be one of user, project/],
    [{ client: "windsurf", scope: "project" }, /^--scope: Windsurf keeps its servers only in files of the user/],
    [{ client: "cursor", http: "ftp://x" }, /^--http: must be an http: or https: URL/],
    [{ client: "cursor", http: "not a url" }, /^--http: must be/],
    [{ client: "cursor", http: "http://me:secret@host/mcp" }, /^--http: must not contain a user/],
    [{ client: "cursor", http: "http://127.0.0.1:1/mcp", serverArgs: ["--store", "sqlite:/s", "--read-only"] }, /^--http: cannot go with --store, --read-only/],
    [{ client: "claude-desktop", http: "http://127.0.0.1:1/mcp?token=x" }, /^--http: must not contain a query/],
    [{ client: "cursor", tokenEnv: "TEAM_TOKEN" }, /^--token-env: requires --http URL/],
    [{ client: "cursor", tokenFile: "/t" }, /^--token-file: requires --http URL/],
    [{ client: "cursor", http: "http://127.0.0.1:1/mcp", tokenEnv: "no name" }, /^--token-env: must be the name of an environment variable/],
    [{ client: "cursor", http: "http://127.0.0.1:1/mcp", tokenEnv: "TEAM_TOKEN", tokenFile: "/t" }, /^--token-env: cannot be combined with --token-file/],
    [{ client: "zed", http: "http://127.0.0.1:1/mcp", tokenEnv: "TEAM_TOKEN" }, /^--token-env: Zed cannot refer .*--token-file FILE/],
    [{ client: "claude-desktop", http: "http://127.0.0.1:1/mcp", tokenEnv: "TEAM_TOKEN" }, /^--token-env: Claude Desktop cannot refer/],
  ])("%j is refused in words", async (request, message) => {
    await expect((await openMachine()).plan(request)).rejects.toThrow(message);
  });
});

describe("the document about clients", () => {
  test("the guide for a new client names the fields that a client has", () => {
    const guide = readFileSync(new URL("../../docs/add-a-client.md", import.meta.url), "utf8");
    const fields = new Set(Object.values<object>(clients).flatMap((client) => Object.keys(client)));
    const named = [...guide.matchAll(/^ {3}- `(\w+)/gm)].map(([, name = ""]) => name);
    expect(named.length).toBeGreaterThan(4);
    expect(named.filter((name) => !fields.has(name))).toEqual([]);
  });

  test.each(everyPlace)("says where $client, $scope, is set up", async ({ client, scope }) => {
    const { plan, places } = await openMachine();
    const row = page.split("\n").find((line) => line.startsWith(`| \`${client}\` | ${scope} |`)) ?? "";
    const { changes } = await plan({ client, scope });
    expect(row).toContain(clients[client].title);
    for (const { path } of changes) {
      const shown = path
        .replace(places.home, "~")
        .replace(`${places.project}/`, "")
        .replace(/holdfast-(checkpoint|knowledge|handoff)/, "holdfast-*")
        .replace("~/.config/Code", "CODE")
        .replace("~/.config/Claude", "CLAUDE");
      expect(row).toContain(`\`${shown}\``);
    }
  });
});

describe("how the server is started", () => {
  const from = (script: string, platform: NodeJS.Platform = "linux") => ({ execPath: "/n/node", script, platform });

  test("a checkout and a global installation by their path, anything else by the name of the installed command", () => {
    expect(serverLaunch(from("/src/holdfast/dist/main.js"), "project")).toEqual({ command: "/n/node", args: ["/src/holdfast/dist/main.js"] });
    const global = "/usr/lib/node_modules/holdfast/dist/main.js";
    expect(serverLaunch(from(global), "user")).toEqual({ command: "/n/node", args: [global] });
    expect(serverLaunch(from(global), "project")).toEqual({ command: "holdfast", args: [] });
    expect(serverLaunch(from("/x/_npx/1a/node_modules/holdfast/dist/main.js"), "user").command).toBe("holdfast");
    expect(serverLaunch(from("/p/node_modules/holdfast/dist/main.js"), "user").command).toBe("holdfast");
    expect(serverLaunch(from("C:\\p\\node_modules\\holdfast\\dist\\main.js", "win32"), "user")).toEqual({ command: "cmd", args: ["/c", "holdfast"] });
  });

  test("a launch by name says what each machine needs", async () => {
    const { plan } = await openMachine({ script: "/usr/lib/node_modules/holdfast/dist/main.js" });
    const { notes, changes } = await plan({ client: "claude-code", scope: "project" });
    expect(notes.join(" ")).toMatch(/must be on the PATH of every machine .* not published in the registry/);
    expect(changes.map(({ diff }) => diff).join("\n")).toContain('"command": "holdfast"');
    expect((await plan({ client: "claude-code", scope: "user" })).notes.join(" ")).not.toContain("PATH");
  });

  test("a narrower profile takes away the skills, habits and hooks that an earlier installation wrote", async () => {
    const { tree, change } = await openMachine();
    const before = await tree();
    const current = async () => JSON.stringify(Object.entries(await tree()).filter(([path]) => !path.includes(".holdfast-backup-")));
    const names = (profile: string) => selectTools({ profile }).map(({ name }) => name);
    const skillsIn = async () => Object.keys(await tree()).filter((path) => path.endsWith("SKILL.md"));
    await change({ client: "claude-code", tools: names("all") });
    expect(await skillsIn()).toHaveLength(3);
    await change({ client: "claude-code", tools: names("coordination") });
    expect((await skillsIn()).map((path) => /holdfast-\w+/.exec(path)?.[0])).toEqual(["holdfast-handoff"]);
    expect(await current()).not.toContain("hook session-start");
    await change({ client: "codex", tools: names("all") });
    await change({ client: "codex", tools: names("agentcheckpoint") });
    expect(await current()).not.toContain("memory and coordination");
    for (const client of ["claude-code", "codex"]) await change({ action: "uninstall", client });
    expect(await tree()).toEqual(before);
  });

  test.each([
    ["vscode", "cline"],
    ["cline", "vscode"],
  ])("folders that two clients share are gone after both are, %s before %s", async (first, second) => {
    for (const [install, serverOnly] of [
      [[first, second], false],
      [[second, first], true],
    ] as const) {
      const { tree, change } = await openMachine();
      const before = await tree();
      for (const client of install) await change({ client, serverOnly });
      await change({ action: "uninstall", client: first });
      await change({ action: "uninstall", client: second });
      expect(await tree()).toEqual(before);
    }
  });

  test("a shell gets every word as it is", () => {
    expect(shellLine({ command: "/n/node", args: ["/a b/main.js"] }, ["hook", "session-start", "--namespace", "$(x) 'y'"])).toBe(
      `/n/node "/a b/main.js" hook session-start --namespace '$(x) '\\''y'\\'''`,
    );
    expect(shellLine({ command: "cmd", args: ["/c", "holdfast"] }, ["hook", "pre-compact"])).toBe("holdfast hook pre-compact");
  });

  test("the store's flags reach the hooks, all flags reach the server", async () => {
    const { change, places } = await openMachine();
    await change({ client: "claude-code", serverArgs: ["--store", "sqlite:/s", "--profile", "coding"], hookArgs: ["--store", "sqlite:/s"] });
    expect(parseJsonc(await readFile(join(places.home, ".claude.json"), "utf8")).mcpServers.holdfast).toEqual({
      type: "stdio",
      command: "/opt/node",
      args: ["/srv/holdfast/dist/main.js", "--store", "sqlite:/s", "--profile", "coding"],
    });
    const { hooks } = parseJsonc(await readFile(join(places.home, ".claude", "settings.json"), "utf8"));
    expect(hooks.SessionStart[0].hooks[0].command).toBe("/opt/node /srv/holdfast/dist/main.js hook session-start --store sqlite:/s");
  });

  test("with a server elsewhere there are skills but no hooks, and the answer says so", async () => {
    const { change } = await openMachine();
    const { changes, notes } = await change({ client: "claude-code", http: "https://memory.example/mcp" });
    expect(changes.map(({ what }) => what)).toEqual(["MCP server", "skill checkpoint", "skill knowledge", "skill handoff"]);
    expect(notes.join(" ")).toContain("Hooks were left out");
  });

  test("moving to a server elsewhere removes hooks that would save in the wrong place, and no others", async () => {
    const { change, places, put, tree } = await openMachine();
    const before = await tree();
    await change({ client: "claude-code" });
    await change({ client: "claude-code", http: "https://memory.example/mcp" });
    expect(existsSync(join(places.home, ".claude", "settings.json"))).toBe(false);
    await change({ action: "uninstall", client: "claude-code" });
    const path = await put(join(places.home, ".claude", "settings.json"), '{"hooks": {"PreCompact": [{"hooks": [{"type": "command", "command": "mine"}]}]}}');
    await change({ client: "claude-code" });
    await change({ client: "claude-code", http: "https://memory.example/mcp" });
    expect(parseJsonc(await readFile(path, "utf8"))).toEqual({ hooks: { PreCompact: [{ hooks: [{ type: "command", command: "mine" }] }] } });
    await change({ action: "uninstall", client: "claude-code" });
    await rm(join(places.home, ".claude"), { recursive: true });
    expect(await tree()).toEqual(before);
  });
});
