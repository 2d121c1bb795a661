import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildExecutable, startExecutable } from "../../support/cli-process.ts";
import type { Era } from "../../support/mcp-connection.ts";
import { eras } from "../../support/mcp-connection.ts";
import { workersDir } from "../../support/worker-build.ts";

let built: Awaited<ReturnType<typeof buildExecutable>>;
beforeAll(async () => {
  built = await buildExecutable();
});
afterAll(() => built?.remove());

const env = { PATH: process.env.PATH ?? "", HOME: "/nonexistent" };
const inFolder = (name: string): string => join(built.folder, name);
const storeOf = (name: string): string[] => ["--store", `sqlite:${inFolder(`${name}.db`)}`];
const upstream = (name: string): string[] => ["--", process.execPath, join(workersDir, "counting-upstream.mjs"), inFolder(`${name}.log`)];
const effectsOf = (name: string): number => (existsSync(inFolder(`${name}.log`)) ? readFileSync(inFolder(`${name}.log`), "utf8").split("\n").length - 1 : 0);

/** The official client, with the proxy, or the bare upstream, as the program it starts. */
async function connect(era: Era, args: readonly string[]) {
  const transport = new StdioClientTransport({ command: process.execPath, args: [...args], env, stderr: "inherit" });
  const client = new Client({ name: "proxied", version: "1" }, { versionNegotiation: { mode: era === "handshake" ? "legacy" : { pin: "2026-07-28" } } });
  await client.connect(transport);
  return { client, [Symbol.asyncDispose]: () => client.close() };
}
const call = async (client: Client, name: string, args: Record<string, unknown> = {}) => {
  const { content, isError } = await client.callTool({ name, arguments: args });
  return { isError, text: (content as { text: string }[]).map(({ text }) => text).join("\n") };
};

describe.each(eras)("holdfast proxy, started by the official client, in the %s era", (era) => {
  test("offers what the upstream offers, records its calls and answers repeats, also after a restart", async () => {
    const name = `command-${era}`;
    const args = [built.main, "proxy", ...storeOf(name), ...upstream(name)];
    await using bare = await connect(era, upstream(name).slice(2));
    {
      await using proxied = await connect(era, args);
      expect(await proxied.client.listTools()).toEqual(await bare.client.listTools());
      expect(proxied.client.getServerVersion()).toEqual(bare.client.getServerVersion());
      expect((await call(proxied.client, "send", { to: "ann" })).text).toBe('did {"to":"ann"}');
      expect((await call(proxied.client, "look", { n: 1 })).text).toBe('did {"n":1}');
    }
    await using again = await connect(era, args);
    expect((await call(again.client, "send", { to: "ann" })).text).toMatch(/^did {"to":"ann"}\nThis call was made before/);
    expect(effectsOf(name)).toBe(1);
    const lost = await call(again.client, "die", {});
    expect(lost).toMatchObject({ isError: true, text: expect.stringContaining("the upstream was ended by SIGKILL") });
    await using third = await connect(era, args);
    expect((await call(third.client, "die", {})).text).toContain("It is unknown whether this call took effect");
    expect(effectsOf(name)).toBe(2);
  });
});

test("holdfast proxy takes rules from a file, and ends well when its input ends", async () => {
  await writeFile(inFolder("rules.json"), '{"tools": {"look": "effect"}}');
  const request = (id: number) => `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"look","arguments":{}}}\n`;
  const hello =
    '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n';
  const { child, finished } = startExecutable(built.main, ["proxy", "--rules", inFolder("rules.json"), ...storeOf("rules"), ...upstream("rules")], {
    env,
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin?.end(hello + request(1) + request(2));
  const { code, stdout } = await finished;
  expect(code).toBe(0);
  expect(stdout.match(/This call was made before/g)).toHaveLength(1);
});

test("holdfast proxy ends with 6 when there is no such server", async () => {
  const { finished } = startExecutable(built.main, ["proxy", "--store", "memory:", "--", "/nonexistent/server"], { env, stdio: ["pipe", "pipe", "pipe"] });
  expect(await finished).toMatchObject({ code: 6, stdout: "", stderr: expect.stringContaining("was not found") });
});
