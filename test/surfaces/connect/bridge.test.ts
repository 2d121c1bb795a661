import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { catalog } from "../../../src/tools/catalog.ts";
import type { BridgeConnection } from "../../support/bridge-connection.ts";
import { openBridge } from "../../support/bridge-connection.ts";
import type { HttpServer } from "../../support/http-server.ts";
import { startHttpServer } from "../../support/http-server.ts";
import type { Era, RawLines } from "../../support/mcp-connection.ts";
import { clientOver, eras, paramsFor, shakeHands } from "../../support/mcp-connection.ts";
import { freePort } from "../../support/servers/free-port.ts";
import { until } from "../../support/soon.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { untilQuiet } from "../../support/until-quiet.ts";

let server: HttpServer;
let token: string;
beforeAll(async () => {
  server = await startHttpServer({ flags: { auth: "token" } });
  token = await server.token({ name: "bridged" });
});
afterAll(() => server.stop());

const call = (raw: RawLines, era: Era, name: string, args: Record<string, unknown>, meta: Record<string, unknown> = {}) =>
  raw.request("tools/call", paramsFor(era, { name, arguments: args, _meta: meta }));

const updated = (raw: RawLines, uri: string) => raw.next(({ method, params }) => method === "notifications/resources/updated" && params?.uri === uri);

async function subscribe(raw: RawLines, era: Era, uri: string): Promise<void> {
  if (era === "handshake") return void (await raw.request("resources/subscribe", { uri }));
  raw.send({ jsonrpc: "2.0", id: "sub", method: "subscriptions/listen", params: paramsFor(era, { notifications: { resourceSubscriptions: [uri] } }) });
  await raw.next(({ method }) => method === "notifications/subscriptions/acknowledged");
}

/** A server that can be stopped and started again at the same address, on the same store or, with `memory:`, on none. */
async function startPhoenix(store?: string) {
  const folder = await temporaryFolder();
  const port = String(await freePort());
  const start = () => startHttpServer({ flags: { port, store: store ?? `sqlite:${join(folder, "store.db")}` } });
  let running = await start();
  return {
    url: running.url,
    get server() {
      return running;
    },
    stop: () => running.stop(),
    async start() {
      running = await start();
    },
    [Symbol.asyncDispose]: () => running.stop(),
  };
}

describe.each(eras)("the SDK's own client through the bridge in the %s era", (era) => {
  test("meets the server, calls its tools under the token's name, and reads resources", async () => {
    await using raw = openBridge(server.url, { token });
    const client = await clientOver(era, raw);
    expect(client.getServerVersion()).toMatchObject({ name: "holdfast" });
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("state_set");
    await client.callTool({ name: "state_set", arguments: { key: `plan ä ${era}`, value: { step: 1 } } });
    const { structuredContent } = await client.callTool({ name: "state_get", arguments: { key: `plan ä ${era}` } });
    expect(structuredContent).toMatchObject({ found: true, value: { step: 1 }, updated_by: "bridged" });
    const { contents } = await client.readResource({ uri: `holdfast://state/${encodeURIComponent(`plan ä ${era}`)}` });
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ value: { step: 1 } });
    await expect(client.readResource({ uri: "holdfast://state/none" })).rejects.toMatchObject({ code: -32602 });
    expect((await client.listPrompts()).prompts.length).toBeGreaterThan(0);
  });

  test("gets many answers at once, each its own", async () => {
    await using raw = openBridge(server.url, { token });
    const client = await clientOver(era, raw);
    const answers = await Promise.all(Array.from({ length: 300 }, (_, i) => client.callTool({ name: "state_set", arguments: { key: `many-${era}-${i}`, value: i } })));
    expect(answers.map(({ structuredContent }) => (structuredContent as { key: string }).key)).toEqual(answers.map((_, i) => `many-${era}-${i}`));
  });

  test("is notified of others' changes to its subscriptions", async () => {
    await using raw = openBridge(server.url, { token });
    const client = await clientOver(era, raw);
    const uri = `holdfast://state/watched-${era}`;
    const told: string[] = [];
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => void told.push(params.uri));
    if (era === "stateless") await client.listen({ resourceSubscriptions: [uri] });
    else await client.subscribeResource({ uri });
    // In the earlier era the stream is opened beside the subscription; what changes before that is told when it is.
    await server.callTool("state_set", { key: `watched-${era}`, value: 1 }, { token });
    await until(() => told.length > 0);
    expect([...new Set(told)]).toEqual([uri]);
  });

  test("stops a long poll by cancelling it, and the server hears of it", async () => {
    await using raw = openBridge(server.url, { token });
    const client = await clientOver(era, raw);
    const stop = new AbortController();
    const poll = client.callTool({ name: "state_get", arguments: { key: `never-${era}`, wait_for_version_above: 0, wait_seconds: 50 } }, { signal: stop.signal });
    await until(() => server.serving.httpServer.usage.waits === 1);
    stop.abort();
    await expect(poll).rejects.toThrow();
    // Long before the call's own time is over; a stream does not count.
    await until(() => server.serving.httpServer.usage.waits === 0);
  });
});

describe.each(eras)("a server that restarts, in the %s era", (era) => {
  test("is waited for, and its client notices nothing but the time", async () => {
    await using phoenix = await startPhoenix();
    await using raw = openBridge(phoenix.url);
    await shakeHands(raw, era);
    const uri = "holdfast://state/k";
    await subscribe(raw, era, uri);
    expect((await call(raw, era, "state_set", { key: "k", value: 1 })).result.structuredContent).toMatchObject({ version: 1 });
    await updated(raw, uri);
    await phoenix.stop();
    const waiting = call(raw, era, "state_get", { key: "k" });
    await phoenix.start();
    expect((await waiting).result.structuredContent).toMatchObject({ value: 1, version: 1 });
    await phoenix.server.callTool("state_set", { key: "k", value: 2 });
    await updated(raw, uri);
    expect((await call(raw, era, "state_get", { key: "k" })).result.structuredContent).toMatchObject({ value: 2 });
    expect(raw.lines.filter((line) => line.includes("subscriptions/acknowledged")).length).toBe(era === "stateless" ? 1 : 0);
  });

  test("and remembers nothing of its sessions is greeted again, and its subscriptions are reported as changed", async () => {
    await using phoenix = await startPhoenix("memory:");
    await using raw = openBridge(phoenix.url);
    await shakeHands(raw, era);
    const uri = "holdfast://state/k";
    await subscribe(raw, era, uri);
    await call(raw, era, "state_set", { key: "k", value: 1 });
    await updated(raw, uri);
    await phoenix.stop();
    await phoenix.start();
    expect((await call(raw, era, "state_get", { key: "k" })).result.structuredContent).toMatchObject({ found: false });
    await updated(raw, uri);
    await phoenix.server.callTool("state_set", { key: "k", value: 2 });
    await updated(raw, uri);
  });
});

describe("an obstacle is reported as the answer to the request concerned", () => {
  const refusal = async (raw: BridgeConnection, era: Era) => {
    const { error } = await call(raw, era, "state_set", { key: "k", value: 1 });
    return { code: error?.code, message: error?.message, data: error?.data as { readonly code?: string; readonly hint?: string } | undefined };
  };

  test.each(eras)("no server there, in the %s era", async (era) => {
    await using raw = openBridge(`http://127.0.0.1:${await freePort()}`, { retryForMs: 300 });
    expect(await refusal(raw, era)).toMatchObject({
      code: -32_000,
      message: expect.stringContaining("ECONNREFUSED"),
      data: { code: "unavailable", hint: expect.stringContaining("holdfast serve") },
    });
  });

  test.each(eras)("no token, or a wrong one, in the %s era", async (era) => {
    await using without = openBridge(server.url);
    expect(await refusal(without, era)).toMatchObject({ data: { code: "unauthenticated", hint: expect.stringMatching(/^Set HOLDFAST_TOKEN .* --token-file/) } });
    await using wrong = openBridge(server.url, { token: `hf_${"x".repeat(43)}` });
    const told = await refusal(wrong, era);
    expect(told).toMatchObject({ data: { code: "unauthenticated" } });
    expect(JSON.stringify([told, wrong.lines, wrong.logged])).not.toContain("xxxxx");
  });

  test.each(eras)("another namespace than the token's, in the %s era", async (era) => {
    await using raw = openBridge(`${server.url}/ns/foreign/mcp`, { token });
    expect(await refusal(raw, era)).toMatchObject({ data: { code: "forbidden" } });
  });

  test.each(eras)("a path where no MCP is, in the %s era", async (era) => {
    await using raw = openBridge(`${server.url}/nowhere`, { token });
    expect(await refusal(raw, era)).toMatchObject({ code: -32_000, data: { code: "not_found" } });
  });

  test("a token file that is written again is read again", async () => {
    const file = join(await temporaryFolder(), "token");
    await writeFile(file, `hf_${"y".repeat(43)}\n`);
    await using raw = openBridge(server.url, { tokenFile: file });
    expect(await refusal(raw, "stateless")).toMatchObject({ data: { code: "unauthenticated" } });
    await writeFile(file, `${token}\n`);
    expect((await call(raw, "stateless", "state_set", { key: "rotated", value: 1 })).result.structuredContent).toMatchObject({ ok: true });
  });
});

describe("a client that", () => {
  test("writes something other than a message gets an error, and continues", async () => {
    await using raw = openBridge(server.url, { token });
    raw.sendText("no json\n[]\n{}\n");
    expect([await raw.answer(null), await raw.answer(null), await raw.answer(null)].map(({ error }) => error?.code)).toEqual([-32_700, -32_600, -32_600]);
    expect((await call(raw, "stateless", "state_list", {})).result.isError).toBeUndefined();
  });

  test("sends a batch, in the revision that has them, gets its answers", async () => {
    await using raw = openBridge(server.url, { token });
    await raw.request("initialize", { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "raw", version: "1" } });
    raw.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    raw.send([
      { jsonrpc: "2.0", id: "a", method: "ping" },
      { jsonrpc: "2.0", id: "b", method: "tools/list" },
    ]);
    await until(() => raw.lines.some((line) => line.startsWith("[")));
    const answers = JSON.parse(raw.lines.find((line) => line.startsWith("[")) as string) as { id: string }[];
    expect(answers.map(({ id }) => id).toSorted()).toEqual(["a", "b"]);
  });

  test("closes its end is still answered, and its session is ended", async () => {
    const raw = openBridge(server.url, { token });
    await shakeHands(raw, "handshake");
    raw.send({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "state_set", arguments: { key: "last", value: 1 } } });
    raw.stdin.end();
    expect((await raw.answer(7)).result.structuredContent).toMatchObject({ ok: true });
    expect(await raw.ended).toBe(true);
    expect(server.logged.some(({ event, facts }) => event === "request" && facts.method === "DELETE" && facts.status === 200)).toBe(true);
  });

  test("closes its end while a call waits is not held up for long", async () => {
    const raw = openBridge(server.url, { token, endMsMax: 100 });
    raw.send({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: paramsFor("stateless", { name: "state_get", arguments: { key: "never", wait_for_version_above: 0, wait_seconds: 50 } }),
    });
    await until(() => server.serving.httpServer.usage.waits > 0);
    raw.stdin.end();
    // Had it been held up until the call was answered, it would say true.
    expect(await raw.ended).toBe(false);
    expect((await raw.answer(1)).error).toMatchObject({ message: expect.stringMatching(/^Standard input ended before .* answered/), data: { code: "outcome_unknown" } });
  });

  test.each(eras)("closes its end at once, where no server is, gets an error before the bridge ends, in the %s era", async (era) => {
    const raw = openBridge(`http://127.0.0.1:${await freePort()}`, { endMsMax: 3_000 });
    raw.send({ jsonrpc: "2.0", id: "read", method: "tools/list", params: paramsFor(era, {}) });
    raw.send({ jsonrpc: "2.0", id: "write", method: "tools/call", params: paramsFor(era, { name: "state_set", arguments: { key: "k", value: 1 } }) });
    raw.stdin.end();
    expect(await raw.ended).toBe(false);
    for (const id of ["read", "write"])
      expect((await raw.answer(id)).error).toMatchObject({
        message: expect.stringContaining("ECONNREFUSED"),
        data: { code: "unavailable", hint: expect.stringContaining("holdfast serve") },
      });
  });

  test("closes its end while it listens is owed nothing", async () => {
    const raw = openBridge(server.url, { token, endMsMax: 100 });
    await subscribe(raw, "stateless", "holdfast://state/listened");
    raw.stdin.end();
    expect(await raw.ended).toBe(true);
  });

  test("goes away ends the bridge", async () => {
    const raw = openBridge(server.url, { token });
    await shakeHands(raw, "handshake");
    raw.stdout.destroy(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
    await raw.ended;
  });

  test("does not read makes the bridge wait, with little in memory, and gets everything in the end", async () => {
    await using raw = openBridge(server.url, { token });
    const value = "x".repeat(500_000);
    await call(raw, "stateless", "state_set", { key: "large", value });
    raw.stdout.pause();
    const calls = 40;
    for (let id = 0; id < calls; id += 1)
      raw.send({ jsonrpc: "2.0", id, method: "tools/call", params: paramsFor("stateless", { name: "state_get", arguments: { key: "large" } }) });
    await until(() => raw.stdout.writableLength > 1_000_000);
    const [held] = await untilQuiet(() => [raw.stdout.writableLength, server.logged.length, server.serving.httpServer.usage]);
    // 40 answers of a megabyte each; the client's own queue is what it gave itself.
    expect(held).toBeLessThan(16_000_000);
    raw.stdout.resume();
    for (let id = 0; id < calls; id += 1) expect((await raw.answer(id)).result.structuredContent.value).toBe(value);
  });
});

test("every tool is offered through the bridge as it is without", async () => {
  await using raw = openBridge(server.url, { token });
  const { tools } = (await raw.request("tools/list", paramsFor("stateless"))).result;
  expect(tools.map(({ name }: { name: string }) => name)).toEqual(catalog.filter(({ toolset, effect }) => toolset !== "admin" || effect !== "destructive").map(({ name }) => name));
});
