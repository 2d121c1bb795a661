import { describe, expect, test, vi } from "vitest";
import { systemNamespace } from "../../../src/domain/keyspace.ts";
import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { openReservedStore } from "../../../src/store/namespace-store.ts";
import { sessionKnownMs, sessionsPerPrincipalMax, sessionTtlMs, subscribedBytesPerPrincipalMax } from "../../../src/surfaces/mcp/http/mcp-sessions.ts";
import { subscribedBytesMax, subscribedUrisMax } from "../../../src/surfaces/mcp/subscriptions.ts";
import { manualClock } from "../../support/manual-clock.ts";
import type { Endpoint } from "../../support/mcp-endpoint.ts";
import { handshake, openEndpoint, openSession, requestOf } from "../../support/mcp-endpoint.ts";

const ping = requestOf("handshake", 1, "ping");
const set = (endpoint: Endpoint, key: string, value: unknown) =>
  endpoint.post("stateless", requestOf("stateless", 1, "tools/call", { name: "state_set", arguments: { key, value } }));
const subscribe = (endpoint: Endpoint, session: Record<string, string>, uri: string, method = "resources/subscribe") =>
  endpoint.post("handshake", requestOf("handshake", 1, method, { uri }), { headers: session });
const listen = (endpoint: Endpoint, headers: Record<string, string>) => endpoint.stream({ method: "GET", headers: { accept: "text/event-stream", ...headers } });
const updated = (key: string) => ({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: `holdfast://state/${key}` } });

/** Two servers on one store, as behind a balancer. */
async function openNodes(clock = systemClock) {
  const engine = new MemoryEngine(clock);
  const one = await openEndpoint({ engine, clock });
  const two = await openEndpoint({ engine, clock });
  return {
    one,
    two,
    engine,
    async [Symbol.asyncDispose]() {
      await one[Symbol.asyncDispose]();
      await two[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
    },
  };
}

describe("a session of the handshake era", () => {
  test("has an id that cannot be guessed, is known on every node, and is stored as a digest only", async () => {
    await using nodes = await openNodes();
    const first = await openSession(nodes.one);
    const second = await openSession(nodes.one);
    expect(first["mcp-session-id"]).toMatch(/^[\w-]{43}$/);
    expect(second["mcp-session-id"]).not.toBe(first["mcp-session-id"]);
    expect((await nodes.two.post("handshake", ping, { headers: first })).status).toBe(200);
    const { entries } = await openReservedStore(nodes.engine, systemNamespace, systemClock).read({ start: "" });
    expect(entries).toHaveLength(2);
    expect(JSON.stringify(entries)).not.toContain(first["mcp-session-id"]);
    expect(JSON.stringify(entries)).not.toContain("tester");
  });

  test("of a caller that opens them without end takes the place of its oldest ones; another caller's stay", async () => {
    const clock = manualClock();
    const engine = new MemoryEngine(clock);
    const reads = vi.spyOn(engine, "read");
    await using endpoint = await openEndpoint({ engine, clock });
    const kept = await openSession(endpoint, { caller: "quiet" });
    const oldest = await openSession(endpoint, { caller: "flood" });
    await clock.advanceBy(1_000);
    for (let i = 1; i < sessionsPerPrincipalMax; i += 1) await openSession(endpoint, { caller: "flood" });
    expect((await endpoint.post("handshake", ping, { headers: oldest, caller: "flood" })).status).toBe(200);
    await clock.advanceBy(sessionKnownMs + 1);
    reads.mockClear();
    const newest = await openSession(endpoint, { caller: "flood" });
    // What each of them has subscribed to may be long: to find the oldest nobody needs it.
    const wide = reads.mock.calls.filter(([, ranges]) => ranges.some(({ end }) => end !== undefined));
    expect(new Set(wide.map(([, , options]) => options?.values))).toEqual(new Set([false]));
    expect((await endpoint.post("handshake", ping, { headers: oldest, caller: "flood" })).status).toBe(404);
    for (const [headers, caller] of [
      [newest, "flood"],
      [kept, "quiet"],
    ] as const)
      expect((await endpoint.post("handshake", ping, { headers, caller })).status).toBe(200);
  });

  test("counts for its principal in every namespace together", async () => {
    const clock = manualClock();
    await using endpoint = await openEndpoint({ clock });
    const oldest = await openSession(endpoint, { caller: "flood|0" });
    await clock.advanceBy(1_000);
    for (let i = 1; i <= sessionsPerPrincipalMax; i += 1) await openSession(endpoint, { caller: `flood|${i}` });
    await clock.advanceBy(sessionKnownMs + 1);
    expect((await endpoint.post("handshake", ping, { headers: oldest, caller: "flood|0" })).status).toBe(404);
  });

  test("is not needed: a client that sends none is served", async () => {
    await using endpoint = await openEndpoint();
    expect((await endpoint.post("handshake", ping)).message).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
  });

  test("of another caller answers like one that never existed, for every request", async () => {
    await using nodes = await openNodes();
    const owned = await openSession(nodes.one, { caller: "owner" });
    const ways = (headers: Record<string, string>) => [
      nodes.one.post("handshake", ping, { headers, caller: "thief" }),
      nodes.two.post("handshake", requestOf("handshake", 1, "resources/list"), { headers, caller: "thief" }),
      subscribe(nodes.one, headers, "holdfast://state/k"),
      nodes.one.post("handshake", { jsonrpc: "2.0", method: "notifications/initialized" }, { headers, caller: "thief" }),
      nodes.one.send({ method: "GET", headers: { accept: "text/event-stream", ...headers }, caller: "thief" }),
      nodes.two.send({ method: "DELETE", headers, caller: "thief" }),
    ];
    const told = async (headers: Record<string, string>) => (await Promise.all(ways(headers))).map(({ status, text }) => ({ status, text }));
    const foreign = await told(owned);
    expect(foreign.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 404]);
    expect(foreign).toEqual(await told({ ...owned, "mcp-session-id": "A".repeat(43) }));
    expect(await told({ ...owned, "mcp-session-id": "short" })).toEqual(foreign);
    expect((await nodes.one.post("handshake", ping, { headers: owned, caller: "owner" })).status).toBe(200);
  });

  test("ends with DELETE, at once where that was asked and within seconds everywhere", async () => {
    const clock = manualClock();
    await using nodes = await openNodes(clock);
    const session = await openSession(nodes.one);
    expect((await nodes.two.post("handshake", ping, { headers: session })).status).toBe(200);
    expect((await nodes.one.send({ method: "DELETE", headers: session })).status).toBe(200);
    expect((await nodes.one.post("handshake", ping, { headers: session })).status).toBe(404);
    clock.advance(sessionKnownMs);
    expect((await nodes.two.post("handshake", ping, { headers: session })).status).toBe(404);
    expect((await nodes.two.send({ method: "DELETE", headers: session })).status).toBe(404);
  });

  test("lives while it is used and is forgotten when it is not", async () => {
    const clock = manualClock();
    await using endpoint = await openEndpoint({ clock });
    const session = await openSession(endpoint);
    const idle = await openSession(endpoint);
    for (let i = 0; i < 4; i += 1) {
      clock.advance(sessionTtlMs * 0.6);
      expect((await endpoint.post("handshake", ping, { headers: session })).status).toBe(200);
    }
    expect((await endpoint.post("handshake", ping, { headers: idle })).status).toBe(404);
    clock.advance(sessionTtlMs);
    expect((await endpoint.post("handshake", ping, { headers: session })).status).toBe(404);
  });

  test("names the connection in what is stored, without its id, and the principal beside it", async () => {
    await using endpoint = await openEndpoint();
    const session = await openSession(endpoint);
    const save = () =>
      endpoint.post("handshake", requestOf("handshake", 1, "tools/call", { name: "checkpoint", arguments: { description: "moved the queue", workspace: "w" } }), {
        headers: session,
      });
    const { checkpointId } = (await save()).message.result.structuredContent.data;
    const read = await endpoint.post("handshake", requestOf("handshake", 1, "resources/read", { uri: `holdfast://journal/${checkpointId}` }));
    const { sessionId, savedBy } = JSON.parse(read.message.result.contents[0].text);
    expect(sessionId).toMatch(/^session-[0-9a-f]{12}$/);
    expect(session["mcp-session-id"]).not.toContain(sessionId.slice(8));
    expect(savedBy).toBe("tester");
  });
});

describe("the stream of a session", () => {
  test("reports changes of what another node subscribed to, nothing else, and none after it unsubscribed", async () => {
    await using nodes = await openNodes();
    const session = await openSession(nodes.one);
    const stream = await listen(nodes.two, session);
    expect(stream.headers["content-type"]).toBe("text/event-stream");
    await subscribe(nodes.one, session, "holdfast://state/a");
    await set(nodes.one, "other", 1);
    await set(nodes.one, "a", 1);
    expect(await stream.message()).toEqual(updated("a"));
    await set(nodes.two, "a", 2);
    expect(await stream.message()).toEqual(updated("a"));
    await subscribe(nodes.one, session, "holdfast://state/b");
    await subscribe(nodes.one, session, "holdfast://state/a", "resources/unsubscribe");
    await set(nodes.one, "b", 1);
    expect(await stream.message()).toEqual(updated("b"));
    await set(nodes.one, "a", 3);
    await set(nodes.one, "b", 2);
    expect(await stream.message()).toEqual(updated("b"));
    stream.close();
  });

  test("loses nothing between the subscription and the stream, in whatever order and on whichever node they come", async () => {
    await using nodes = await openNodes();
    const session = await openSession(nodes.one);
    await subscribe(nodes.one, session, "holdfast://state/before");
    await set(nodes.one, "before", 1);
    const stream = await listen(nodes.two, session);
    expect(await stream.message()).toEqual(updated("before"));
    // The other node learns of the subscription when it is already confirmed here.
    for (let i = 0; i < 20; i += 1) {
      await subscribe(nodes.one, session, `holdfast://state/k${i}`);
      await set(nodes.one, `k${i}`, i);
    }
    const told = new Set<string>();
    while (told.size < 20) told.add((await stream.message()).params.uri);
    expect([...told].sort()).toEqual(Array.from({ length: 20 }, (_, i) => `holdfast://state/k${i}`).sort());
    stream.close();
  });

  test("continues after the last event that the client has seen, on another node", async () => {
    await using nodes = await openNodes();
    const session = await openSession(nodes.one);
    for (const key of ["a", "b", "c"]) await subscribe(nodes.one, session, `holdfast://state/${key}`);
    const first = await listen(nodes.one, session);
    const primed = await first.next();
    expect(primed).toMatchObject({ id: "0", data: "" });
    await set(nodes.one, "a", 1);
    const seen = await first.next();
    expect(seen?.id).toBe("1");
    first.close();
    await set(nodes.one, "b", 1);
    await set(nodes.one, "c", 1);
    await set(nodes.one, "b", 2);
    const second = await listen(nodes.two, { ...session, "last-event-id": seen?.id as string });
    expect([await second.message(), await second.message()]).toEqual([updated("c"), updated("b")]);
    expect(await second.next()).toMatchObject({ id: "4", data: "" });
    second.close();
  });

  test("gives several changes of one commit one id, and only with the last of them", async () => {
    await using endpoint = await openEndpoint();
    const session = await openSession(endpoint);
    for (const key of ["a", "b"]) await subscribe(endpoint, session, `holdfast://state/${key}`);
    const stream = await listen(endpoint, session);
    await stream.next();
    const writes = ["a", "b"].map((key) => ({ key, value: 1 }));
    const { message } = await endpoint.post("stateless", requestOf("stateless", 1, "tools/call", { name: "state_commit", arguments: { writes } }));
    expect(message.result.isError, JSON.stringify(message)).toBeUndefined();
    expect([(await stream.next())?.id, (await stream.next())?.id]).toEqual([undefined, "1"]);
    stream.close();
  });

  test("ends with its session, and with its successor", async () => {
    await using nodes = await openNodes();
    const session = await openSession(nodes.one);
    const first = await listen(nodes.one, session);
    const second = await listen(nodes.one, session);
    expect(await first.message()).toBeUndefined();
    await nodes.two.send({ method: "DELETE", headers: session });
    expect(await second.message()).toBeUndefined();
    expect(first.ended && second.ended).toBe(true);
  });

  test("is bounded in its number of subscriptions", async () => {
    await using endpoint = await openEndpoint();
    const session = await openSession(endpoint);
    for (let i = 0; i < subscribedUrisMax; i += 1) await subscribe(endpoint, session, `holdfast://state/${i}`);
    expect((await subscribe(endpoint, session, "holdfast://state/more")).message.error).toMatchObject({
      code: -32602,
      message: expect.stringContaining(String(subscribedUrisMax)),
    });
    expect((await subscribe(endpoint, session, "holdfast://state/5")).message.result).toEqual({});
  });

  test("is bounded in the bytes of what it subscribes to, and what is taken back counts no more", async () => {
    await using endpoint = await openEndpoint();
    const session = await openSession(endpoint);
    // The longest spelling of the longest id.
    const uri = (i: number) => `holdfast://state/${"%41".repeat(760)}${String(i).padStart(5, "0")}`;
    let taken = 0;
    while ((await subscribe(endpoint, session, uri(taken))).message.error === undefined) taken += 1;
    expect(taken).toBe(Math.floor(subscribedBytesMax / (uri(0).length + 64)));
    expect((await subscribe(endpoint, session, uri(taken))).message.error).toMatchObject({ code: -32602, message: expect.stringContaining(String(subscribedBytesMax)) });
    await subscribe(endpoint, session, uri(0), "resources/unsubscribe");
    expect((await subscribe(endpoint, session, uri(taken))).message.result).toEqual({});
    expect((await subscribe(endpoint, session, `holdfast://state/${"A".repeat(800)}`)).message.error).toMatchObject({ code: expect.any(Number) });
  });

  test("of one principal are bounded together, in whichever namespaces", async () => {
    await using endpoint = await openEndpoint();
    const system = openReservedStore(endpoint.engine, systemNamespace, systemClock);
    const first = await openSession(endpoint, { caller: "reader|one" });
    const [entry] = (await system.read({ start: "" })).entries;
    await system.commit({ writes: [{ op: "put", key: entry?.key as string, value: { count: 1, bytes: subscribedBytesPerPrincipalMax }, ttlMs: 60_000 }], writer: "tester" });
    const second = await openSession(endpoint, { caller: "reader|two" });
    const other = await openSession(endpoint, { caller: "other|two" });
    const ask = (headers: Record<string, string>, caller: string) =>
      endpoint.post("handshake", requestOf("handshake", 1, "resources/subscribe", { uri: "holdfast://state/k" }), { headers, caller });
    expect((await ask(second, "reader|two")).message.error).toMatchObject({ message: expect.stringContaining(String(subscribedBytesPerPrincipalMax)) });
    expect((await ask(other, "other|two")).message.result).toEqual({});
    await endpoint.send({ method: "DELETE", headers: first, caller: "reader|one" });
    expect((await ask(second, "reader|two")).message.result).toEqual({});
  });

  test("writes about as much as it is asked to, however much it subscribed to before; and leaves nothing behind when it ends", async () => {
    const engine = new MemoryEngine();
    await using endpoint = await openEndpoint({ engine });
    const session = await openSession(endpoint);
    for (let i = 0; i < 200; i += 1) await subscribe(endpoint, session, `holdfast://state/${i}`);
    const commits = vi.spyOn(engine, "commit");
    await subscribe(endpoint, session, "holdfast://state/more");
    await subscribe(endpoint, session, "holdfast://state/more", "resources/unsubscribe");
    expect(JSON.stringify(commits.mock.calls).length).toBeLessThan(2_000);
    await endpoint.send({ method: "DELETE", headers: session });
    const { entries } = await openReservedStore(engine, systemNamespace, systemClock).read({ start: "" });
    expect(entries).toEqual([]);
  });

  test("hears of everything it subscribed to for as long as it is used", async () => {
    const clock = manualClock();
    await using endpoint = await openEndpoint({ clock });
    const session = await openSession(endpoint);
    await subscribe(endpoint, session, "holdfast://state/old");
    for (let i = 0; i < 6; i += 1) {
      clock.advance(sessionTtlMs * 0.6);
      await subscribe(endpoint, session, `holdfast://state/new-${i}`);
    }
    const stream = await listen(endpoint, session);
    await set(endpoint, "old", 1);
    expect(await stream.message()).toEqual(updated("old"));
    stream.close();
  });

  test("is refused where too many are open, before it begins", async () => {
    let open = 0;
    await using endpoint = await openEndpoint({
      openStream: () => {
        open += 1;
        if (open > 1) throw new Error("too many");
      },
    });
    const session = await openSession(endpoint);
    const stream = await listen(endpoint, session);
    expect((await endpoint.send({ method: "GET", headers: { accept: "text/event-stream", ...session } })).text).toContain("too many");
    stream.close();
  });
});

test.each(["resources/subscribe", "resources/unsubscribe"])("%s without a session says what is missing", async (method) => {
  await using endpoint = await openEndpoint();
  const { message } = await subscribe(endpoint, {}, "holdfast://state/k", method);
  expect(message.error).toMatchObject({ code: -32602, message: expect.stringContaining("Mcp-Session-Id") });
});

test("a handshake that is refused gives no session", async () => {
  await using endpoint = await openEndpoint();
  const { headers, message } = await endpoint.post("handshake", { ...handshake(), params: {} });
  expect(message.error).toBeDefined();
  expect(headers["mcp-session-id"]).toBeUndefined();
});
