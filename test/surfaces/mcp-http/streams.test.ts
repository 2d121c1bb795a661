import { describe, expect, test } from "vitest";
import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import { subscribedUrisMax } from "../../../src/surfaces/mcp/subscriptions.ts";
import { catalog } from "../../../src/tools/catalog.ts";
import { eras } from "../../support/mcp-connection.ts";
import type { Endpoint } from "../../support/mcp-endpoint.ts";
import { headersFor, openEndpoint, openSession, requestOf } from "../../support/mcp-endpoint.ts";
import { until } from "../../support/soon.ts";
import { WatchedEngine } from "../../support/watched-engine.ts";

const set = (endpoint: Endpoint, key: string, value: unknown = 1) =>
  endpoint.post("stateless", requestOf("stateless", 1, "tools/call", { name: "state_set", arguments: { key, value } }));

const listening = (notifications: unknown, id: string | number = "sub") => requestOf("stateless", id, "subscriptions/listen", { notifications });
const listen = (endpoint: Endpoint, uris: readonly string[], id: string | number = "sub") => {
  const message = listening({ resourceSubscriptions: uris }, id);
  return endpoint.stream({ headers: headersFor("stateless", message), body: JSON.stringify(message) });
};
const subscriptionId = "io.modelcontextprotocol/subscriptionId";

describe.each([true, false])("subscriptions/listen (fast path: %s)", (fastPath) => {
  test("confirms, then reports the requested changes and nothing else, whichever node makes them", async () => {
    await using engine = new MemoryEngine();
    await using one = await openEndpoint({ engine, fastPath });
    await using two = await openEndpoint({ engine, fastPath });
    const stream = await listen(one, ["holdfast://state/a", "holdfast://state/deep/key"]);
    expect(stream.headers["content-type"]).toBe("text/event-stream");
    expect(await stream.message()).toMatchObject({
      method: "notifications/subscriptions/acknowledged",
      params: { notifications: { resourceSubscriptions: ["holdfast://state/a", "holdfast://state/deep/key"] }, _meta: { [subscriptionId]: "sub" } },
    });
    await set(two, "other");
    await set(two, "deep/key");
    expect(await stream.message()).toMatchObject({ method: "notifications/resources/updated", params: { uri: "holdfast://state/deep/key", _meta: { [subscriptionId]: "sub" } } });
    await set(one, "a");
    expect(await stream.message()).toMatchObject({ params: { uri: "holdfast://state/a" } });
    stream.close();
    await until(() => one.inFlight === 0);
  });

  test("keeps two callers with equal ids apart", async () => {
    await using endpoint = await openEndpoint({ fastPath });
    const streams = await Promise.all(["a", "b"].map((key) => listen(endpoint, [`holdfast://state/${key}`], 1)));
    for (const stream of streams) await stream.message();
    await set(endpoint, "a");
    await set(endpoint, "b");
    expect(await Promise.all(streams.map(async (stream) => (await stream.message()).params.uri))).toEqual(["holdfast://state/a", "holdfast://state/b"]);
    for (const stream of streams) stream.close();
  });

  test("ends in good order when the server stops", async () => {
    await using endpoint = await openEndpoint({ fastPath });
    const stream = await listen(endpoint, ["holdfast://state/a"]);
    await stream.message();
    await endpoint.mcp.stop(1_000);
    expect(await stream.message()).toMatchObject({ id: "sub", result: { resultType: "complete" } });
    expect(await stream.next()).toBeUndefined();
    expect(endpoint.inFlight).toBe(0);
  });

  test.each([{}, { notifications: 5 }, { notifications: { resourceSubscriptions: "x" } }, { notifications: { resourceSubscriptions: [5] } }])("refuses %j", async (params) => {
    await using endpoint = await openEndpoint({ fastPath });
    const message = requestOf("stateless", 7, "subscriptions/listen", params);
    expect((await endpoint.post("stateless", message)).message).toMatchObject({ id: 7, error: { code: -32602 } });
  });

  test("tells nothing of what the caller has no tool to read", async () => {
    await using endpoint = await openEndpoint({ fastPath, tools: catalog.filter(({ toolset }) => toolset === "lease" || toolset === "history") });
    const stream = await listen(endpoint, ["holdfast://state/a"]);
    await stream.message();
    await using writer = await openEndpoint({ engine: endpoint.engine });
    await set(writer, "a");
    await set(writer, "a", 2);
    await endpoint.mcp.stop(1_000);
    expect(await stream.message()).toMatchObject({ id: "sub", result: {} });
  });
});

describe("streams", () => {
  test("share one watch of their namespace, and leave none behind", async () => {
    await using engine = new WatchedEngine();
    await using endpoint = await openEndpoint({ engine });
    const session = await openSession(endpoint);
    await endpoint.post("handshake", requestOf("handshake", 1, "resources/subscribe", { uri: "holdfast://state/a" }), { headers: session });
    const streams = await Promise.all([
      ...Array.from({ length: 10 }, (_, i) => listen(endpoint, ["holdfast://state/a"], i)),
      endpoint.stream({ method: "GET", headers: { accept: "text/event-stream", ...session } }),
    ]);
    for (const stream of streams) await stream.next();
    // The namespace's own, and the one that follows sessions.
    expect(engine.watchers).toBe(2);
    await set(endpoint, "a");
    for (const stream of streams) expect((await stream.message()).params.uri).toBe("holdfast://state/a");
    for (const stream of streams) stream.close();
    await until(() => endpoint.inFlight === 0 && engine.watchers === 0);
  });

  test("are bounded in what they listen to", async () => {
    await using endpoint = await openEndpoint();
    const uris = Array.from({ length: subscribedUrisMax + 1 }, (_, i) => `holdfast://state/${i}`);
    const { message } = await endpoint.post("stateless", listening({ resourceSubscriptions: uris }));
    expect(message.error).toMatchObject({ code: -32602, message: expect.stringContaining(String(subscribedUrisMax)) });
  });

  test("of a client that does not read say once what changed many times, and hold no more", async () => {
    await using endpoint = await openEndpoint();
    // As a URI three times as long.
    const keys = Array.from({ length: 100 }, (_, i) => `${"ü".repeat(240)}${i}`);
    const last = "holdfast://state/last";
    const stream = await listen(endpoint, [...keys.map((key) => `holdfast://state/${encodeURIComponent(key)}`), last]);
    await stream.message();
    stream.pause();
    const store = openNamespaceStore(endpoint.engine, "test", systemClock);
    const rounds = 100;
    for (let round = 0; round < rounds; round += 1) {
      await store.commit({ writes: keys.map((key) => ({ op: "put", key: `state/${key}`, value: round })), writer: "tester" });
      await new Promise((resolve) => setImmediate(resolve));
    }
    await store.commit({ writes: [{ op: "put", key: "state/last", value: 1 }], writer: "tester" });
    stream.resume();
    // Every change by itself would be 15 MB; the buffers of a connection on this machine take a part of that before anybody notices that nobody reads.
    const told = new Set<string>();
    let lines = 0;
    for (let message = await stream.message(); message.params.uri !== last; message = await stream.message()) {
      told.add(message.params.uri);
      lines += 1;
    }
    expect(told.size).toBe(keys.length);
    expect(lines).toBeLessThan((keys.length * rounds) / 2);
    stream.close();
  });
});

describe.each(eras)("a call that waits, in the %s era", (era) => {
  const waiting = requestOf(era, "poll", "tools/call", { name: "state_get", arguments: { key: "k", wait_for_version_above: 0, wait_seconds: 50 } });

  test.each([true, false])("ends when its caller goes away, and nothing is left waiting (fast path: %s)", async (fastPath) => {
    await using engine = new WatchedEngine();
    await using endpoint = await openEndpoint({ engine, fastPath });
    const gone = new AbortController();
    const call = fetch(endpoint.url, { method: "POST", headers: headersFor(era, waiting) as Record<string, string>, body: JSON.stringify(waiting), signal: gone.signal });
    await until(() => engine.watchers === 1);
    gone.abort();
    await expect(call).rejects.toThrow();
    await until(() => engine.watchers === 0 && endpoint.inFlight === 0);
  });

  test.each([true, false])("is answered at once with what there is when the server stops (fast path: %s)", async (fastPath) => {
    await using engine = new WatchedEngine();
    await using endpoint = await openEndpoint({ engine, fastPath });
    const call = endpoint.post(era, waiting);
    await until(() => engine.watchers === 1);
    await endpoint.mcp.stop(1_000);
    expect((await call).message.result.structuredContent).toMatchObject({ found: false });
    expect(endpoint.inFlight).toBe(0);
  });
});

describe.each([true, false])("a call of a session (fast path: %s)", (fastPath) => {
  const waits = { key: "k", wait_for_version_above: 0, wait_seconds: 50 };
  const waiting = requestOf("handshake", "poll", "tools/call", { name: "state_get", arguments: waits });
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "poll" } };

  test("is cancelled by a notification of that session and by no other", async () => {
    await using engine = new WatchedEngine();
    await using endpoint = await openEndpoint({ engine, fastPath });
    const mine = await openSession(endpoint);
    const other = await openSession(endpoint);
    const call = endpoint.post("handshake", waiting, { headers: mine });
    await until(() => engine.watchers === 1);
    await endpoint.post("handshake", cancelled, { headers: other });
    await endpoint.post("handshake", cancelled);
    await endpoint.post("handshake", cancelled, { headers: mine, caller: "somebody" });
    // It still waits, and is answered with what comes.
    await set(endpoint, "k");
    expect((await call).message.result.structuredContent).toMatchObject({ value: 1 });
    const later = endpoint.post("handshake", requestOf("handshake", "poll", "tools/call", { ...waiting.params, arguments: { ...waits, wait_for_version_above: 1 } }), {
      headers: mine,
    });
    await until(() => engine.watchers === 1);
    expect((await endpoint.post("handshake", cancelled, { headers: mine })).status).toBe(202);
    expect(await later).toMatchObject({ status: 202, text: "" });
    await until(() => engine.watchers === 0);
  });
});
