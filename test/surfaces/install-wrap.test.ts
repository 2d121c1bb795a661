import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse as parseJsonc } from "jsonc-parser";
import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import type { Client } from "../../src/install/clients.ts";
import { clientNames, clients } from "../../src/install/clients.ts";
import { openMachine } from "../support/client-machine.ts";

const everyPlace = clientNames.flatMap((client) => Object.keys(clients[client].files).map((scope) => ({ client, scope }) as const));
const launch = ["/opt/node", "/srv/holdfast/dist/main.js"];

/** A file in which a person, or the client, has written the server "mail", in the client's format and not in ours. */
function fileWith(client: (typeof clientNames)[number], path: string, server: Readonly<Record<string, unknown>>): string {
  if (path.endsWith(".toml"))
    return `# theirs\nmodel = "x"\n\n[mcp_servers.mail]   # mail\n${Object.entries(server)
      .map(([name, value]) => `${name} =  ${Array.isArray(value) ? `[\n  ${value.map((word) => `'${word}'`).join(",  # one\n  ")}\n]` : JSON.stringify(value)}`)
      .join("\n")}\nstartup_timeout_sec = 20\n\n[mcp_servers.mail.env]\nKEY = "k"\n\n[other]\na = 1\n`;
  const keys: Partial<Record<string, string>> = {
    vscode: "servers",
    opencode: "mcp",
    crush: "mcp",
    zed: "context_servers",
    amp: "amp.mcpServers",
    goose: "extensions",
    hermes: "mcp_servers",
  };
  const key = keys[client] ?? "mcpServers";
  if (path.endsWith(".yaml")) {
    const members = Object.entries(server).map(([name, value]) => `${name}: ${JSON.stringify(value)}  # theirs`);
    if (client === "continue")
      return `name: Mine # theirs\r\n${key}:\r\n  -   name: mail\r\n      ${[...members, "env: {KEY: k}"].join("\r\n      ")}\r\n  - name: zwei\r\n    command: x\r\n`;
    return `# theirs\n${key}:\n    mail:   # mail\n        ${[...members, "env: {KEY: k}"].join("\n        ")}\n    other: {command: x}\ntail: 1\n`;
  }
  const members = Object.entries(server).map(([name, value]) => `      "${name}" :   ${JSON.stringify(value)}`);
  return `\uFEFF{ // theirs\n   "${key}": {\n     "mail": {\n${[...members, '      "env": { "KEY":"k" }'].join(",\n")} // end\n     },\n     "other": {"command":"x"}\n   },\n   "tail": [1,2]\n}`;
}

function wordsIn(path: string, text: string): readonly string[] {
  if (path.endsWith(".toml")) return [...(/\[mcp_servers\.mail\][\s\S]*?command = (".*")\nargs = (\[.*\])/.exec(text) ?? [])].slice(1).flatMap((json) => JSON.parse(json));
  const data = path.endsWith(".yaml") ? parseYaml(text) : parseJsonc(text.replace("\uFEFF", ""));
  const lists = Object.values(data).filter((value) => typeof value === "object" && value !== null) as Record<string, unknown>[];
  const entry = lists.map((list) => (Array.isArray(list) ? list.find(({ name }) => name === "mail") : list.mail)).find((found) => found !== undefined) as Record<
    string,
    string & string[]
  >;
  expect(entry.env).toEqual({ KEY: "k" });
  return [entry.command ?? entry.cmd ?? "", entry.args ?? []].flat();
}

const commandOf = (client: (typeof clientNames)[number]): Readonly<Record<string, unknown>> => {
  if (client === "opencode") return { type: "local", command: ["npx", "-y", "mail"], enabled: false };
  return client === "goose" ? { type: "stdio", cmd: "npx", args: ["-y", "mail"], timeout: 7 } : { command: "npx", args: ["-y", "mail"] };
};

describe("install --wrap", () => {
  test.each(everyPlace)("$client, $scope: puts the proxy in front of a command, changes nothing more, and gives every byte back", async ({ client, scope }) => {
    const { places, put, tree, wrap } = await openMachine();
    const path = (clients[client] as Client).files[scope as "user"]?.(places)[0] as string;
    await put(path, fileWith(client, path, commandOf(client)));
    const before = await tree();
    const { changes } = await wrap({ server: "mail", client, scope, serverArgs: ["--store", "memory:"] });
    expect(changes.map(({ action }) => action)).toEqual(["change"]);
    const wrapped = await readFile(path, "utf8");
    expect(wordsIn(path, wrapped)).toEqual([...launch, "proxy", "--name", "mail", "--store", "memory:", "--", "npx", "-y", "mail"]);
    expect(wrapped).toContain("theirs");
    expect((await wrap({ server: "mail", client, scope })).changes).toEqual([]);
    await wrap({ action: "uninstall", server: "mail", client, scope });
    expect(await tree()).toEqual(before);
    expect((await wrap({ action: "uninstall", server: "mail", client, scope })).changes).toEqual([]);
  });

  test.each(everyPlace.filter(({ client }) => clients[client].takesHttp))(
    "$client, $scope: puts it in front of an address, and gives every byte back",
    async ({ client, scope }) => {
      const { places, put, tree, wrap } = await openMachine();
      const path = (clients[client] as Client).files[scope as "user"]?.(places)[0] as string;
      await put(path, fileWith(client, path, (clients[client] as Client).entry({ kind: "http", url: "https://mail.example.com/mcp" }) as Readonly<Record<string, unknown>>));
      const before = await tree();
      await wrap({ server: "mail", client, scope });
      expect(wordsIn(path, await readFile(path, "utf8"))).toEqual([...launch, "proxy", "--name", "mail", "--url", "https://mail.example.com/mcp"]);
      await wrap({ action: "uninstall", server: "mail", client, scope });
      expect(await tree()).toEqual(before);
    },
  );

  test("finds the clients that have the server by itself", async () => {
    const { places, put, tree, wrap } = await openMachine();
    for (const path of [join(places.home, ".cursor", "mcp.json"), join(places.home, ".claude.json")]) await put(path, '{"mcpServers":{"mail":{"command":"mail"}}}');
    const before = await tree();
    expect((await wrap({ server: "mail" })).changes).toHaveLength(2);
    expect((await wrap({ action: "uninstall", server: "mail" })).changes).toHaveLength(2);
    expect(await tree()).toEqual(before);
  });

  test("an entry that was edited meanwhile, or whose record is gone, keeps the edit and gets its command back", async () => {
    const { places, put, wrap } = await openMachine();
    const path = await put(join(places.home, ".cursor", "mcp.json"), '{"mcpServers":{"mail":{"command":"npx","args":["mail"]}}}');
    const entry = async () => parseJsonc(await readFile(path, "utf8")).mcpServers.mail;
    await wrap({ server: "mail" });
    await writeFile(path, (await readFile(path, "utf8")).replace('"mail":{', '"mail":{"env":{"A":"1"},'));
    await wrap({ action: "uninstall", server: "mail" });
    expect(await entry()).toEqual({ env: { A: "1" }, command: "npx", args: ["mail"] });
    await wrap({ server: "mail" });
    await rm(places.dataFolder, { recursive: true });
    await wrap({ action: "uninstall", server: "mail" });
    expect(await entry()).toEqual({ env: { A: "1" }, command: "npx", args: ["mail"] });
  });

  test("the rest of the file may change between", async () => {
    const { places, put, wrap } = await openMachine();
    const text = '{"mcpServers":{"mail":{ "command":"npx" ,"args":["mail"]}}}';
    const path = await put(join(places.home, ".cursor", "mcp.json"), text);
    await wrap({ server: "mail" });
    await writeFile(path, (await readFile(path, "utf8")).replace("{", '{"later":1,'));
    await wrap({ action: "uninstall", server: "mail" });
    expect(await readFile(path, "utf8")).toBe(text.replace("{", '{"later":1,'));
  });

  test("installing and removing Holdfast itself meanwhile loses neither", async () => {
    const { places, put, tree, wrap, change } = await openMachine();
    await put(join(places.home, ".cursor", "mcp.json"), '{ "mcpServers":{"mail":{ "command":"npx" ,"args":["mail"]}} }');
    const before = await tree();
    await wrap({ server: "mail" });
    await change({ client: "cursor" });
    await change({ action: "uninstall", client: "cursor" });
    await wrap({ action: "uninstall", server: "mail" });
    expect(await tree()).toEqual(before);
  });

  test.each([
    ["holdfast", '{"mcpServers":{"holdfast":{"command":"holdfast"}}}', {}, '--wrap: "holdfast" is Holdfast itself'],
    ["mail", "{}", {}, '--wrap: no server "mail" in the user files of any client'],
    ["mail", '{"mcpServers":{"mail":{"disabled":true}}}', {}, "the entry of mail names neither a command nor an address"],
    ["mail", '{"mcpServers":{"mail":{"url":"https://x/mcp","headers":{"X-Key":"k"}}}}', {}, "the entry of mail sends headers, which the proxy does not pass on"],
    ["mail", '{"mcpServers":{,}}', {}, "not valid JSON"],
    ["mail", "{}", { client: "cursr" }, "did you mean cursor?"],
  ])("%s in %s is refused, and nothing is changed", async (server, text, request, problem) => {
    const { places, put, tree, wrap } = await openMachine();
    await put(join(places.home, ".cursor", "mcp.json"), text);
    const before = await tree();
    await expect(wrap({ server, ...request })).rejects.toThrow(problem);
    expect(await tree()).toEqual(before);
  });

  test("a token in a file goes with an address whose entry sends headers", async () => {
    const { places, put, wrap } = await openMachine();
    const path = await put(join(places.home, ".cursor", "mcp.json"), '{"mcpServers":{"mail":{"url":"https://x/mcp","headers":{"Authorization":"Bearer k"}}}}');
    await wrap({ server: "mail", tokenFile: "/home/user/token" });
    expect(parseJsonc(await readFile(path, "utf8")).mcpServers.mail).toEqual({
      command: launch[0],
      args: [launch[1], "proxy", "--name", "mail", "--token-file", "/home/user/token", "--url", "https://x/mcp"],
    });
  });
});
