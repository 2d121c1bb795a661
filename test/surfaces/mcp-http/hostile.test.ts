import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { messageLimits } from "../../../src/surfaces/mcp/read-message.ts";
import { catalog } from "../../../src/tools/catalog.ts";
import { eras } from "../../support/mcp-connection.ts";
import type { Endpoint } from "../../support/mcp-endpoint.ts";
import { handshake, headersFor, openEndpoint, openSession, requestOf } from "../../support/mcp-endpoint.ts";

let endpoint: Endpoint;
beforeAll(async () => {
  endpoint = await openEndpoint();
});
afterAll(() => endpoint[Symbol.asyncDispose]());

const plain = headersFor("handshake", {});
const ping = JSON.stringify(requestOf("handshake", 1, "ping"));
const members = (count: number): string => Array.from({ length: count }, (_, i) => `"k${i}":0`).join();
const call = (args: string): string => `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"state_get","arguments":${args}},"id":1}`;
const nested = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;

describe("what is no message is refused with 400, the reason, and the id where there is one", () => {
  test.each<[string, string | Buffer, number, string | number | null]>([
    ["nothing", "", -32700, null],
    ["half a message", '{"jsonrpc":"2.0","id":1,', -32700, null],
    ["bytes that are not UTF-8", Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]), -32700, null],
    ["a number", "5", -32600, null],
    ["another version", '{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, 7],
    ["an id that is an object", '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, null],
    ["an id that is no whole number", '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, null],
    ["a method that is no text", '{"jsonrpc":"2.0","id":"x","method":5}', -32600, "x"],
    ["members of nobody", '{"jsonrpc":"2.0","id":"x","method":"ping","extra":1}', -32600, "x"],
    ["parameters that are a list", '{"jsonrpc":"2.0","id":"x","method":"ping","params":[]}', -32600, "x"],
    ["a message nested without end", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${nested(messageLimits.depthMax)}}}`, -32600, 1],
    ["a message of more members than anything has", call(`{${members(300_000)}}`), -32600, 1],
    ["a message that calls no tool and has members like data", call(`{${members(20_000)}}`).replace("tools/call", "prompts/get"), -32600, 1],
    ["a message nested a hundred thousand deep", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${nested(100_000)}}}`, -32600, 1],
    ["more than a message may have", JSON.stringify(requestOf("handshake", "big", "ping", { a: "x".repeat(messageLimits.bytesMax) })), -32600, "big"],
  ])("%s", async (_, body, code, id) => {
    const { status, message, headers } = await endpoint.send({ headers: plain, body });
    expect({ status, id: message.id, code: message.error.code }).toEqual({ status: 400, id, code });
    expect(headers["content-type"]).toBe("application/json");
    expect(message.error.message.length).toBeLessThan(300);
  });
});

test.each(["text/plain", "text/plain; a=application/json", "application/jsonx", "multipart/form-data", "", undefined])("a body of type %s is refused with 415", async (type) => {
  const headers = { ...plain, "content-type": type };
  if (type === undefined) delete headers["content-type"];
  expect((await endpoint.send({ headers, body: ping })).status).toBe(415);
});

test.each(["application/json; charset=utf-8", "Application/JSON", "application/json;"])("a body of type %s is taken", async (type) => {
  expect((await endpoint.send({ headers: { ...plain, "content-type": type }, body: ping })).status).toBe(200);
});

test("a client that takes neither JSON nor events is refused with 406", async () => {
  expect((await endpoint.send({ headers: { ...plain, accept: "text/html" }, body: ping })).status).toBe(406);
  expect((await endpoint.send({ method: "GET", headers: { ...(await openSession(endpoint)), accept: "application/json" } })).status).toBe(406);
});

describe("methods of HTTP", () => {
  test.each([
    ["GET", {}],
    ["GET", { "mcp-protocol-version": "2026-07-28" }],
    ["DELETE", {}],
    ["DELETE", { "mcp-protocol-version": "2026-07-28" }],
    ["PUT", {}],
    ["HEAD", {}],
  ])("%s with %j is refused with 405", async (method, headers) => {
    const answer = await endpoint.send({ method, headers: { accept: "text/event-stream", ...headers } });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe("POST");
  });

  test("a user who opens the address in a browser sees what it is for", async () => {
    const answer = await endpoint.send({ method: "GET", headers: { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" } });
    expect(answer).toMatchObject({ status: 405, message: { error: { message: "Send MCP messages by POST; the dashboard is at /." } } });
  });

  test("an unknown revision is refused on all of them", async () => {
    const headers = { ...plain, ...(await openSession(endpoint)), "mcp-protocol-version": "1999-01-01" };
    expect((await endpoint.send({ headers, body: ping })).status).toBe(400);
    expect((await endpoint.send({ method: "GET", headers: { ...headers, accept: "text/event-stream" } })).status).toBe(400);
  });
});

describe("batches", () => {
  const batch = (count: number) => JSON.stringify(Array.from({ length: count }, (_, i) => requestOf("handshake", i, "ping")));

  test.each(["2025-06-18", "2025-11-25", "2026-07-28"])("are no part of %s", async (version) => {
    const { status, message } = await endpoint.send({ headers: { ...plain, "mcp-protocol-version": version }, body: batch(1) });
    expect({ status, code: message.error.code }).toEqual({ status: 400, code: -32600 });
  });

  test("have a limit, and at least one message", async () => {
    expect((await endpoint.send({ headers: plain, body: batch(messageLimits.batchMessagesMax) })).message).toHaveLength(messageLimits.batchMessagesMax);
    expect((await endpoint.send({ headers: plain, body: batch(messageLimits.batchMessagesMax + 1) })).status).toBe(400);
    expect((await endpoint.send({ headers: plain, body: "[]" })).status).toBe(400);
  });

  test("of notifications alone have no answer", async () => {
    const { status, text } = await endpoint.send({ headers: plain, body: JSON.stringify([{ jsonrpc: "2.0", method: "notifications/initialized" }]) });
    expect({ status, text }).toEqual({ status: 202, text: "" });
  });

  test("may not carry requests of the stateless era", async () => {
    const { message } = await endpoint.send({ headers: plain, body: JSON.stringify([requestOf("stateless", 1, "tools/list")]) });
    expect(message).toMatchObject([{ id: 1, error: { code: -32600 } }]);
  });
});

test.each(eras)("callers with equal ids get their own answers, in the %s era", async (era) => {
  const ask = async (caller: string, i: number) => {
    const key = `${era}/${caller}/${i}`;
    const call = (name: string, args: object) => endpoint.post(era, requestOf(era, 1, "tools/call", { name, arguments: args }), { caller });
    await call("state_set", { key, value: { caller, i } });
    const { message } = await call("state_get", { key });
    return message.id === 1 && message.result.structuredContent.value.caller === caller && message.result.structuredContent.value.i === i;
  };
  const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => ["one", "two"].map((caller) => ask(caller, i))).flat());
  expect(answers.filter((right) => !right)).toHaveLength(0);
});

test.each(eras)("a tool that the caller may not use answers like one that never was, in the %s era", async (era) => {
  for (const fastPath of [true, false]) {
    await using limited = await openEndpoint({ fastPath, tools: catalog.filter(({ effect }) => effect === "read") });
    const call = async (name: string) => {
      const { status, message } = await limited.post(era, requestOf(era, 1, "tools/call", { name, arguments: { key: "k", value: 1 } }));
      return JSON.stringify({ status, message }).replaceAll(name, "NAME");
    };
    expect(await call("state_set")).toBe(await call("no_such_tool"));
    const { message } = await limited.post(era, requestOf(era, 1, "tools/list"));
    expect(message.result.tools.map(({ name }: { name: string }) => name)).not.toContain("state_set");
  }
});

test("nothing that was refused is logged with what it carried", async () => {
  await using fresh = await openEndpoint();
  const secret = "hf_not-to-be-seen";
  await fresh.send({ headers: plain, body: `{"jsonrpc":"2.0","id":1,"method":"${secret}"` });
  await fresh.post("stateless", requestOf("stateless", 1, "tools/list"), { headers: { "mcp-method": "tools/call" } });
  await fresh.post("handshake", { ...handshake(), params: { secret } });
  expect(JSON.stringify(fresh.logged)).not.toContain(secret);
});

test("a completion of megabytes has no candidates, and is no defect", async () => {
  const params = { ref: { type: "ref/resource", uri: "holdfast://state/{key}" }, argument: { name: "key", value: "x".repeat(1_000_000) } };
  const { message } = await endpoint.send({ headers: plain, body: JSON.stringify(requestOf("handshake", 1, "completion/complete", params)) });
  expect(message.result).toEqual({ completion: { values: [], hasMore: false } });
});

describe.each([true, false])("a wrong request is refused shortly, as the caller's fault, with the fast path %s", (fastPath) => {
  const wrong = Object.fromEntries(Array.from({ length: 4_900 }, (_, i) => [`k${i}`, 0]));
  const long = "x".repeat(1_000_000);
  const completion = { ref: { type: "ref/prompt", name: "resume" }, argument: { name: "query", value: "" } };
  test.each<[string, string, Record<string, unknown>, RegExp]>([
    ["a URI of a megabyte", "resources/read", { uri: `x://${long}` }, /^uri: must be at most 4096 characters$/],
    ["a URI of ours of a megabyte", "resources/read", { uri: `holdfast://state/${long}` }, /^uri: must be at most 4096 characters$/],
    ["a subscription to one", "resources/subscribe", { uri: `holdfast://state/${long}` }, /^uri: must be at most 4096 characters$/],
    ["a URI that is none", "resources/read", { uri: 5 }, /^params\.uri: /],
    ["thousands of arguments that are no texts", "prompts/get", { name: "resume", arguments: wrong }, /^params\.arguments\.k0: .+\n[\s\S]*and 4895 more$/],
    ["an argument with a name of a megabyte", "prompts/get", { name: "resume", arguments: { [long]: "" } }, /^x{64}…: unknown argument/],
    ["thousands of wrong values beside a completion", "completion/complete", { ...completion, context: { arguments: wrong } }, /^params\.context\.arguments\.k0: /],
  ])("%s", async (_, method, params, says) => {
    await using own = await openEndpoint({ fastPath });
    for (const era of eras) {
      // What this era does not have, or its headers cannot carry.
      if (era === "stateless" && (method === "resources/subscribe" || JSON.stringify(params.uri ?? "").length > 10_000)) continue;
      const { message, text } = await own.post(era, requestOf(era, 1, method, params), { headers: era === "handshake" ? await openSession(own) : {} });
      expect([era, message.error.code, message.error.message]).toEqual([era, -32602, expect.stringMatching(says)]);
      expect(text.length).toBeLessThan(1_500);
    }
  });

  test("a handshake with thousands of wrong capabilities", async () => {
    await using own = await openEndpoint({ fastPath });
    const { params } = handshake();
    const { message, text } = await own.post("handshake", { ...handshake(), params: { ...params, capabilities: { experimental: wrong } } });
    expect([message.error.code, text.length < 1_500]).toEqual([-32602, true]);
  });
});

test("the longest name that something may have can still be read by its URI", async () => {
  const key = "ü".repeat(256);
  await endpoint.post("handshake", requestOf("handshake", 1, "tools/call", { name: "state_set", arguments: { key, value: "found" } }));
  const { message } = await endpoint.post("handshake", requestOf("handshake", 2, "resources/read", { uri: `holdfast://state/${encodeURIComponent(key)}` }));
  expect(message.result.contents[0].text).toContain("found");
});

test("a batch of the most messages makes Node warn of nothing", async () => {
  const warned: Error[] = [];
  const onWarning = (warning: Error): void => void warned.push(warning);
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  const batch = Array.from({ length: messageLimits.batchMessagesMax }, (_, i) => requestOf("handshake", i, "prompts/list"));
  const { status } = await endpoint.send({ headers: { ...plain, "mcp-protocol-version": "2025-03-26" }, body: JSON.stringify(batch) });
  await new Promise((resolve) => setImmediate(resolve));
  expect([status, warned]).toEqual([200, []]);
});
