import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { catalog } from "../../src/tools/catalog.ts";
import { eras } from "../support/mcp-connection.ts";
import type { Program } from "../support/mcp-process.ts";
import { buildProgram, connectProgram, startProgram } from "../support/mcp-process.ts";
import { until } from "../support/soon.ts";

let program: Program;
beforeAll(async () => {
  program = await buildProgram();
});
afterAll(() => program[Symbol.asyncDispose]());

const initialize = { jsonrpc: "2.0", id: 0, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } } };

describe.each(eras)("two processes on one store, %s era", (era) => {
  test("what one writes the other reads, and hears of when subscribed", async () => {
    const args = ["--store", program.storeUrl(`${era}.db`)];
    await using one = await connectProgram(program, era, args);
    await using two = await connectProgram(program, era, args);
    expect((await one.client.listTools()).tools).toHaveLength(catalog.length);
    const told: string[] = [];
    two.client.setNotificationHandler("notifications/resources/updated", ({ params }) => void told.push(params.uri));
    const uri = "holdfast://state/shared";
    if (era === "stateless") await two.client.listen({ resourceSubscriptions: [uri] });
    else await two.client.subscribeResource({ uri });
    await one.client.callTool({ name: "state_set", arguments: { key: "shared", value: "from one" } });
    await until(() => told.length > 0);
    expect(told).toEqual([uri]);
    const { contents } = await two.client.readResource({ uri });
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ value: "from one" });
  });

  test("a kill loses nothing that was answered", async () => {
    const args = ["--store", program.storeUrl(`kill-${era}.db`)];
    {
      await using victim = await connectProgram(program, era, args);
      await victim.client.callTool({ name: "state_set", arguments: { key: "k", value: 1 } });
      process.kill(victim.pid, "SIGKILL");
    }
    await using next = await connectProgram(program, era, args);
    expect((await next.client.callTool({ name: "state_get", arguments: { key: "k" } })).structuredContent).toMatchObject({ value: 1 });
  });
});

describe("the process", () => {
  test("ends with code 0 when its input ends, with every answer written and nothing else on standard output", async () => {
    const { child, finished } = startProgram(program, ["--store", "memory:", "--log-level", "debug"]);
    const lines = [
      initialize,
      ...Array.from({ length: 100 }, (_, i) => ({ jsonrpc: "2.0", id: i + 1, method: "tools/call", params: { name: "state_set", arguments: { key: `k${i}`, value: i } } })),
    ];
    child.stdin?.end(`${lines.map((line) => JSON.stringify(line)).join("\n")}\nnot json\n`);
    const { code, stdout } = await finished;
    expect(code).toBe(0);
    const answers = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(answers).toHaveLength(102);
    for (const answer of answers) expect(answer.jsonrpc).toBe("2.0");
  });

  test("ends quietly when its reader is gone", async () => {
    const { child, finished } = startProgram(program, ["--store", "memory:"]);
    child.stdout?.destroy();
    for (let i = 0; i < 50; i += 1) child.stdin?.write(`${JSON.stringify({ ...initialize, id: i })}\n`);
    const { code, stderr } = await finished;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test("names the operating system's user as writer, whatever the client calls itself", async () => {
    await using session = await connectProgram(program, "handshake", ["--store", "memory:"]);
    await session.client.callTool({ name: "state_set", arguments: { key: "k", value: 1 } });
    const { structuredContent } = await session.client.callTool({ name: "state_get", arguments: { key: "k" } });
    const { username } = await import("node:os").then((os) => os.userInfo());
    expect(structuredContent).toMatchObject({ updated_by: username });
  });

  test("offers no mutating tool with --read-only, by list or by name", async () => {
    await using session = await connectProgram(program, "handshake", ["--store", "memory:", "--read-only"]);
    const { tools } = await session.client.listTools();
    expect(tools.length).toBeGreaterThan(0);
    for (const tool of tools) expect(tool.annotations?.readOnlyHint).toBe(true);
    for (const tool of catalog.filter(({ effect }) => effect !== "read"))
      await expect(session.client.callTool({ name: tool.name, arguments: {} }), tool.name).rejects.toMatchObject({ code: -32602 });
  });
});
