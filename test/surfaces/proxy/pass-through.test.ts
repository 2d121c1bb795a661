import { describe, expect, test } from "vitest";
import { listEffects } from "../../../src/domain/effects/find-effects.ts";
import { envelope } from "../../support/mcp-connection.ts";
import { answerAll, openProxy } from "../../support/proxy/proxy-connection.ts";
import { until } from "../../support/soon.ts";

describe("messages that are no call of a tool with an effect", () => {
  const messages = [
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}',
    '{ "method" : "notifications/initialized", "jsonrpc" : "2.0" }',
    '{"jsonrpc":"2.0","id":"a","method":"some/unknown","params":{"big":12345678901234567890,"e":1.0e3,"u":"\\u00e9\\/"},"more":true}',
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":0.5}}',
    '{"jsonrpc":"2.0","id":9,"result":{"action":"accept","content":{"name":"Zoë"}}}',
    '{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}',
    '[{"jsonrpc":"2.0","id":3,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"}]',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never seen"}}',
    '{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"messages":[]}}\r',
  ];

  test("reach the upstream byte for byte, in order", async () => {
    await using proxy = openProxy();
    for (const line of messages) proxy.sendText(`${line}\n`);
    await until(() => proxy.upstream.lines.length === messages.length);
    expect(proxy.upstream.lines).toEqual(messages);
  });

  test("reach the client byte for byte, in order, also while calls are awaited", async () => {
    await using proxy = openProxy();
    proxy.call("send");
    await proxy.upstream.next(({ method }) => method === "tools/list");
    for (const line of messages) proxy.upstream.sendText(`${line}\n`);
    await until(() => proxy.lines.length === messages.length);
    expect(proxy.lines).toEqual(messages);
  });

  test("leave no trace in the store, and neither does a read-only call", async () => {
    await using proxy = openProxy();
    const { calls } = answerAll(proxy.upstream);
    const list = await proxy.request("tools/list");
    expect(list.result.tools.map(({ name }: { name: string }) => name)).toEqual(["send", "read"]);
    expect((await proxy.call("read", { a: 1 }).answer).result.content[0].text).toBe("call 1");
    expect((await proxy.call("read", { a: 1 }).answer).result.content[0].text).toBe("call 2");
    expect(calls).toHaveLength(2);
    expect((await proxy.scope.store.position()).revision).toBe(0);
  });

  test("are refused where they cannot be read: what an upstream would make of them is unknown", async () => {
    await using proxy = openProxy();
    proxy.sendText("{not json\n");
    expect((await proxy.answer(null)).error?.code).toBe(-32_700);
    proxy.sendText(Buffer.from([0x7b, 0xff, 0x7d, 0x0a]));
    expect((await proxy.answer(null)).error?.message).toContain("UTF-8");
    proxy.sendText(`${"[".repeat(70_000)}\n`);
    expect((await proxy.answer(null)).error?.message).toContain("nested too deep");
    expect(proxy.upstream.lines).toEqual([]);
  });
});

describe("which tools have an effect", () => {
  test("is asked of the upstream, page by page, when a client calls without having listed", async () => {
    await using proxy = openProxy();
    const read = proxy.call("read");
    const first = await proxy.upstream.next(({ method }) => method === "tools/list");
    expect(first.params).toEqual({});
    proxy.upstream.send({ jsonrpc: "2.0", id: first.id, result: { tools: [{ name: "send" }], nextCursor: "2" } });
    const second = await proxy.upstream.next(({ method }) => method === "tools/list");
    expect(second.params).toEqual({ cursor: "2" });
    proxy.upstream.send({ jsonrpc: "2.0", id: second.id, result: { tools: [{ name: "read", annotations: { readOnlyHint: true } }] } });
    const call = await proxy.upstream.next(({ method }) => method === "tools/call");
    expect(call.id).toBe(read.id);
    expect((await proxy.scope.store.position()).revision).toBe(0);
    expect(proxy.lines).toEqual([]);
  });

  test("is asked in the era of the call", async () => {
    await using proxy = openProxy();
    proxy.call("read", {}, { ...envelope, progressToken: 3 });
    expect((await proxy.upstream.next(({ method }) => method === "tools/list")).params).toEqual({ _meta: envelope });
  });

  test("is asked again after the upstream has said that its list changed, and what it said before counts no more", async () => {
    await using proxy = openProxy();
    answerAll(proxy.upstream);
    await proxy.request("tools/list");
    await proxy.call("read").answer;
    proxy.upstream.send({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
    await proxy.next(({ method }) => method === "notifications/tools/list_changed");
    const lists = (): number => proxy.upstream.lines.filter((line) => line.includes("tools/list")).length;
    expect(lists()).toBe(1);
    await proxy.call("read").answer;
    expect(lists()).toBe(2);
  });

  test.each([
    ["not listed", [], {}, 1],
    ["listed without annotations", [{ name: "read" }], {}, 1],
    ["only probably read-only", [{ name: "read", annotations: { readOnlyHint: "true" } }], {}, 1],
    ["read-only by rule", [{ name: "read" }], { read: "read-only" }, 0],
    ["an effect by rule", [{ name: "read", annotations: { readOnlyHint: true } }], { read: "effect" }, 1],
  ])("a tool that is %s", async (_what, listed, rules, effects) => {
    await using proxy = openProxy({ tools: rules });
    answerAll(proxy.upstream, listed);
    await proxy.call("read").answer;
    expect((await listEffects(proxy.scope, { limit: 10 })).effects).toHaveLength(effects);
  });

  test("a list that does not come means an effect, and is requested again with the next call", async () => {
    await using proxy = openProxy();
    const { answer } = proxy.call("read");
    const list = await proxy.upstream.next(({ method }) => method === "tools/list");
    proxy.upstream.send({ jsonrpc: "2.0", id: list.id, error: { code: -32_603, message: "no" } });
    const call = await proxy.upstream.next(({ method }) => method === "tools/call");
    proxy.upstream.send({ jsonrpc: "2.0", id: call.id, result: { content: [] } });
    await answer;
    expect((await listEffects(proxy.scope, { limit: 10 })).effects).toMatchObject([{ tool: "read", state: "done" }]);
    proxy.call("read", { n: 2 });
    await proxy.upstream.next(({ method }) => method === "tools/list");
  });
});

test("a list that is not answered means an effect, after a time", async () => {
  await using proxy = openProxy();
  proxy.call("read");
  const list = await proxy.upstream.next(({ method }) => method === "tools/list");
  await proxy.clock.advanceBy(30_001);
  expect((await listEffects(proxy.scope, { limit: 10 })).effects).toMatchObject([{ tool: "read", state: "intended" }]);
  proxy.upstream.send({ jsonrpc: "2.0", id: list.id, result: { tools: [] } });
  await proxy.clock.settle();
  expect(proxy.lines).toEqual([]);
});

describe("calls that are not what they should be", () => {
  test.each([['["a"]'], ['"x"'], ["1"]])("with arguments %s are refused", async (args) => {
    await using proxy = openProxy({ tools: { send: "effect" } });
    proxy.sendText(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"send","arguments":${args}}}\n`);
    expect((await proxy.answer("x")).result.content[0].text).toContain("arguments: must be an object");
    expect(proxy.upstream.lines).toEqual([]);
  });

  test.each([
    ["without an id", '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"send"}}', null],
    ["with an id that is no whole number", '{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"send"}}', null],
    ["with an escaped method, which is one all the same", '{"jsonrpc":"2.0","method":"tools\\u002fcall","params":{"name":"send"}}', null],
    ["without the protocol's version", '{"method":"tools/call","params":{"name":"send"}}', null],
  ])("%s do not slip past the record", async (_what, line, id) => {
    await using proxy = openProxy({ tools: { send: "effect" } });
    proxy.sendText(`${line}\n`);
    expect((await proxy.answer(id)).error?.message).toContain("id: must be a string or a whole number");
    expect(proxy.upstream.lines).toEqual([]);
  });

  test("with an id that is in flight are refused", async () => {
    await using proxy = openProxy({ tools: { send: "effect" } });
    const line = '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"send","arguments":{}}}\n';
    proxy.sendText(line + line);
    expect((await proxy.answer(5)).error?.message).toContain("another call that is in flight");
  });

  test("in a batch are each recorded", async () => {
    await using proxy = openProxy({ tools: { send: "effect" } });
    const { calls } = answerAll(proxy.upstream);
    const call = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "send", arguments: { id } } });
    proxy.send([call(1), { jsonrpc: "2.0", method: "notifications/x" }, call(2)]);
    await proxy.answer(1);
    await proxy.answer(2);
    expect(calls.map(({ args }) => args)).toEqual([{ id: 1 }, { id: 2 }]);
    expect(proxy.upstream.lines).toContain('{"jsonrpc":"2.0","method":"notifications/x"}');
    expect((await listEffects(proxy.scope, { limit: 10 })).effects).toHaveLength(2);
  });
});
