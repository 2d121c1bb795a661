import { expect, test } from "vitest";
import { runProxy } from "../../../src/compose-proxy.ts";
import { readConfig } from "../../../src/config.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import { parseArgv } from "../../../src/surfaces/cli/argv.ts";
import { proxyFlags } from "../../../src/surfaces/cli/proxy-command.ts";
import { startHttpServer } from "../../support/http-server.ts";
import { eras, openLines, paramsFor, shakeHands } from "../../support/mcp-connection.ts";

/** `holdfast proxy` in this process, on a store that ends with it. */
function start(args: readonly string[], settings: Readonly<Record<string, string | boolean>> = {}) {
  const { flags, rest = [] } = parseArgv(args, proxyFlags);
  const lines = openLines();
  const ended = runProxy(readConfig({ store: "memory:", ...settings }, {}), flags, rest, { stdin: lines.stdin, stdout: lines.stdout, log: silentLog });
  return { ...lines, ended };
}

test.each([
  [[], "<command>: is missing; write it after --, or pass --url URL"],
  [["--url", "ftp://x"], "--url: must be the http:// or https:// address of an MCP server"],
  [["--url", "http://u:p@127.0.0.1:1/mcp"], "--url: must not contain a user, password or query"],
  [["--url", "http://127.0.0.1:1/mcp", "--", "x"], '--url: cannot be combined with a command (got "x")'],
  [["--run", "r1", "--", "x"], "--run-token: is required with --run"],
  [["--run", "r1", "--run-token", "x", "--", "x"], "--run-token: must be the token of the run's claim"],
  [["--step", "1", "--", "x"], "--step: requires --run ID"],
  [["--repeat-window", "soon", "--", "x"], "--repeat-window: must be a duration"],
  [["--live", "10ms", "--", "x"], "--live: must be a duration"],
  [["--name", "", "--", "x"], "--name: must be a non-empty string"],
  [["--rules", "/nonexistent.json", "--", "x"], "--rules: must name a readable JSON file"],
])("%j is refused before anything is started", async (args, problem) => {
  await expect(start(args).ended).rejects.toThrow(problem);
});

test("a store that is read-only cannot record", async () => {
  await expect(start(["--", "x"], { "read-only": true }).ended).rejects.toThrow("started read-only");
});

test.each(eras)("stands before a server on the network, in the %s era", async (era) => {
  await using server = await startHttpServer();
  const proxy = start(["--url", `${server.url}/mcp`]);
  const call = async (name: string, args: Readonly<Record<string, unknown>>) => {
    const { result } = await proxy.request("tools/call", paramsFor(era, { name, arguments: args }));
    return result.content.map(({ text }: { text: string }) => text).join("\n");
  };
  await shakeHands(proxy, era);
  expect((await proxy.request("tools/list", paramsFor(era))).result.tools.map(({ name }: { name: string }) => name)).toContain("workflow_create");
  expect(await call("workflow_create", { name: "nightly" })).toContain('"run_id"');
  expect(await call("workflow_create", { name: "nightly" })).toMatch(/^.*"run_id".*\nThis call was made before/);
  expect((await call("workflow_list", {})).split("nightly")).toHaveLength(2);
  proxy.stdin.end();
  expect(await proxy.ended).toBe(true);
});
