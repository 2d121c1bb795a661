import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse as parseJsonc } from "jsonc-parser";
import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { clientNames, clients } from "../../src/install/clients.ts";
import { openMachine } from "../support/client-machine.ts";

const page = readFileSync(new URL("../../docs/clients.md", import.meta.url), "utf8");

describe("a server elsewhere, which wants a token", () => {
  const http = "https://memory.example/mcp";
  const inBraces = (name: string): string => `\${${name}}`;
  const bearer = (reference: string) => ({ Authorization: `Bearer ${reference}` });
  /** What is read back of a client's entry, whatever its file is written in. */
  const entryIn = (path: string, text: string): Record<string, unknown> => {
    if (path.endsWith(".toml")) return Object.fromEntries([...text.matchAll(/^(\w+) = (.*)$/gm)].map(([, name, value]) => [name, JSON.parse(value as string)]));
    const data = path.endsWith(".yaml") ? parseYaml(text) : parseJsonc(text);
    const servers = data.mcpServers ?? data.servers ?? data.mcp ?? data.context_servers ?? data.mcp_servers ?? data["amp.mcpServers"] ?? data.extensions;
    return Array.isArray(servers) ? servers[0] : servers.holdfast;
  };
  const install = async (machine: Awaited<ReturnType<typeof openMachine>>, request: Parameters<typeof machine.change>[0]) => {
    const { changes, notes } = await machine.change({ serverOnly: true, ...request });
    const path = changes[0]?.path as string;
    return { path, notes: notes.join(" "), entry: entryIn(path, await readFile(path, "utf8")) };
  };
  const references = [
    ["claude-code", { headers: bearer(inBraces("HOLDFAST_TOKEN")) }],
    ["cursor", { headers: bearer(inBraces("env:HOLDFAST_TOKEN")) }],
    ["vscode", { headers: bearer(inBraces("env:HOLDFAST_TOKEN")) }],
    ["windsurf", { headers: bearer(inBraces("env:HOLDFAST_TOKEN")) }],
    ["codex", { bearer_token_env_var: "HOLDFAST_TOKEN" }],
    ["gemini", { headers: bearer(inBraces("HOLDFAST_TOKEN")) }],
    ["opencode", { headers: bearer("{env:HOLDFAST_TOKEN}") }],
    ["continue", { requestOptions: { headers: bearer(inBraces("{ secrets.HOLDFAST_TOKEN }")) } }],
    ["cline", { headers: bearer(inBraces("env:HOLDFAST_TOKEN")) }],
    ["hermes", { headers: bearer(inBraces("HOLDFAST_TOKEN")) }],
    ["copilot", { headers: bearer(inBraces("HOLDFAST_TOKEN")) }],
    ["qwen", { headers: bearer(inBraces("HOLDFAST_TOKEN")) }],
    ["amp", { headers: bearer(inBraces("HOLDFAST_TOKEN")) }],
    ["crush", { headers: bearer("$HOLDFAST_TOKEN") }],
    ["kiro", { headers: bearer(inBraces("HOLDFAST_TOKEN")) }],
  ] as const;
  test("every client that reads references is tested here", () => {
    expect(references.map(([client]) => client)).toEqual(clientNames.filter((client) => "bearer" in clients[client]));
  });

  const memberOf = (reference: object): string => Object.keys(reference)[0] as string;

  test.each(references)("%s is given a reference to the variable in its own way, the page shows it, and it goes with the address", async (client, reference) => {
    const machine = await openMachine();
    const before = await machine.tree();
    const { entry, notes } = await install(machine, { client, http });
    expect(entry).toMatchObject(reference);
    expect(notes).toContain("Set HOLDFAST_TOKEN to a token of that server");
    const shown = page.split("\n").find((line) => line.startsWith(`| ${clients[client].title} | `)) ?? "";
    expect(shown.replaceAll(/[\s"{}$:=`]/g, "")).toContain(JSON.stringify(reference).replaceAll(/[\s"{}$:]/g, ""));
    expect((await machine.plan({ client, http, serverOnly: true })).changes).toEqual([]);
    expect((await install(machine, { client })).entry).not.toHaveProperty(memberOf(reference));
    await machine.change({ action: "uninstall", client });
    expect(await machine.tree()).toEqual(before);
  });

  test.each(references)("%s: a variable that is named takes the place of the reference, and stays if none is named", async (client, reference) => {
    const machine = await openMachine();
    const named = JSON.parse(JSON.stringify(reference).replace("HOLDFAST_TOKEN", "TEAM_TOKEN"));
    await install(machine, { client, http });
    expect((await install(machine, { client, http, tokenEnv: "TEAM_TOKEN" })).entry).toMatchObject(named);
    expect((await install(machine, { client, http: "https://other.example/mcp" })).entry).toMatchObject(named);
    // Also on this machine, whose server may want one.
    expect((await install(await openMachine(), { client, http: "http://localhost:8000/mcp", tokenEnv: "TEAM_TOKEN" })).entry).toMatchObject(named);
  });

  test.each(references)("%s is given none for a server on this machine, nor where the client signs in by itself", async (client, reference) => {
    for (const request of [{ http: "http://localhost:8000/mcp" }, { http: "http://[::1]:8000/mcp" }, { http, tokenEnv: "none" }]) {
      const { entry, notes } = await install(await openMachine(), { client, ...request });
      expect(entry).not.toHaveProperty(memberOf(reference));
      expect(notes).not.toContain("token");
    }
  });

  test.each(references)("%s loses the reference if none is requested, and no header of the user's", async (client, reference) => {
    const machine = await openMachine();
    const { path, entry } = await install(machine, { client, http });
    expect(entry).toMatchObject(reference);
    const taken = (await install(machine, { client, http, tokenEnv: "none" })).entry;
    expect(taken).not.toHaveProperty(memberOf(reference));
    expect((await machine.plan({ client, http, tokenEnv: "none", serverOnly: true })).changes).toEqual([]);
    if (!path.endsWith("mcp.json")) return;
    const text = (await readFile(path, "utf8")).replace(`"url"`, `"headers": { "Authorization": "Basic mine", "X-Team": "core" }, "url"`);
    await machine.put(path, text);
    expect((await machine.plan({ client, http, tokenEnv: "none", serverOnly: true })).changes).toEqual([]);
  });

  test("what the user sends already stays: other headers beside ours, and a credential of their own in its place", async () => {
    const machine = await openMachine();
    const path = join(machine.places.home, ".cursor", "mcp.json");
    const put = (headers: object) => machine.put(path, JSON.stringify({ mcpServers: { holdfast: { url: "https://old.example/mcp", headers } } }));
    await put({ "X-Team": "core" });
    expect((await install(machine, { client: "cursor", http })).entry.headers).toEqual({ "X-Team": "core", ...bearer(inBraces("env:HOLDFAST_TOKEN")) });
    await put({ authorization: `Bearer ${inBraces("env:MINE")}` });
    expect((await install(machine, { client: "cursor", http })).entry.headers).toEqual({ authorization: `Bearer ${inBraces("env:MINE")}` });
    expect((await install(machine, { client: "cursor", http, tokenEnv: "TEAM_TOKEN" })).entry.headers).toEqual({ authorization: `Bearer ${inBraces("env:TEAM_TOKEN")}` });
  });

  test.each([
    ['bearer_token_env_var = "MINE"', 0],
    ['http_headers = { "X-Team" = "core" }', 1],
    ['env_http_headers = { "authorization" = "MINE" }', 0],
    ['[mcp_servers.holdfast.http_headers]\nAuthorization = "MINE"', 0],
    ['[mcp_servers.holdfast.env]\nDEBUG = "1"', 1],
  ])("Codex, with %j in its table, is given a reference %i times", async (line, times) => {
    const machine = await openMachine();
    const path = await machine.put(join(machine.places.home, ".codex", "config.toml"), `[mcp_servers.holdfast]\nurl = "https://old.example/mcp"\n${line}\n`);
    await machine.change({ client: "codex", http });
    const text = await readFile(path, "utf8");
    expect(text.match(/"HOLDFAST_TOKEN"/g)?.length ?? 0).toBe(times);
    expect(text).toContain(line);
  });

  test.each(clientNames)("%s starts the bridge where the token is in a file, without hooks", async (client) => {
    const machine = await openMachine();
    const { entry, notes } = await install(machine, { client, http, tokenFile: "/run/secrets/token", serverOnly: false });
    const words = [entry.command ?? entry.cmd, ...((entry.args as string[] | undefined) ?? [])].flat();
    expect(words).toEqual(["/opt/node", "/srv/holdfast/dist/main.js", "connect", http, "--token-file", "/run/secrets/token"]);
    expect(entry).not.toHaveProperty("url");
    expect(notes).not.toMatch(/token/i);
    expect(existsSync(join(machine.places.home, ".claude", "settings.json"))).toBe(false);
  });

  test("Claude Desktop starts the bridge, and the user learns where a token can be if it needs one", async () => {
    const args = ["/srv/holdfast/dist/main.js", "connect"];
    const local = await install(await openMachine(), { client: "claude-desktop", http: "http://127.0.0.1:8000/mcp" });
    expect(local.entry).toEqual({ command: "/opt/node", args: [...args, "http://127.0.0.1:8000/mcp"] });
    expect(local.notes).not.toContain("token");
    const { entry, notes } = await install(await openMachine(), { client: "claude-desktop", http });
    expect(entry).toEqual({ command: "/opt/node", args: [...args, http] });
    expect(notes).toContain("run the command again with --token-file FILE");
  });

  test("Zed, which reads no references, gets the address, and the user learns what to do", async () => {
    const { entry, notes } = await install(await openMachine(), { client: "zed", http });
    expect(entry).toEqual({ url: http });
    expect(notes).toContain("run the command again with --token-file FILE");
  });

  test("a token in the place of a variable's name is refused without being repeated", async () => {
    const token = `hf_${"x".repeat(43)}`;
    const refused = (await openMachine()).plan({ client: "cursor", http, tokenEnv: token });
    await expect(refused).rejects.toMatchObject({ code: "invalid_input", message: expect.not.stringContaining("xxx") });
  });
});
