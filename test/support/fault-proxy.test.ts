import { once } from "node:events";
import type { AddressInfo, Server, Socket } from "node:net";
import { connect, createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { FaultProxy } from "./fault-proxy.ts";

/** Answers every piece with the same piece, and keeps what it heard. */
async function startEcho(): Promise<{ readonly port: number; readonly heard: () => string; readonly server: Server }> {
  let heard = "";
  const server = createServer((socket) => {
    socket
      .on("error", () => {})
      .on("data", (bytes) => {
        heard += bytes.toString();
        socket.write(bytes);
      });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, heard: () => heard, server };
}

interface Client {
  readonly socket: Socket;
  say(text: string): void;
  /** What it has received, once it is this much or the connection is over. */
  received(length: number): Promise<string>;
  /** How the connection ended: the error's code, or "end". */
  readonly over: Promise<string>;
}

async function openClient(port: number): Promise<Client> {
  const socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  socket.on("data", (bytes) => {
    text += bytes.toString();
  });
  const over = new Promise<string>((resolve) => {
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error")).once("close", () => resolve("end"));
  });
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  const received = async (length: number): Promise<string> => {
    while (text.length < length && !socket.destroyed) await delay(5);
    return text;
  };
  return { socket, say: (words) => void socket.write(words), received, over };
}

/** How an attempt to connect fails. */
async function failureOf(port: number): Promise<string | undefined> {
  const [error] = (await once(connect({ port, host: "127.0.0.1" }), "error")) as [NodeJS.ErrnoException];
  return error.code;
}

/** An echo server, the proxy before it, and a client that has said "a" and heard it. */
async function openPath(): Promise<{ readonly echo: Awaited<ReturnType<typeof startEcho>>; readonly proxy: FaultProxy; readonly client: Client }> {
  const echo = await startEcho();
  const proxy = await FaultProxy.open(echo.port);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const client = await openClient(proxy.port);
  client.say("a");
  expect(await client.received(1)).toBe("a");
  return { echo, proxy, client };
}

test("without a fault everything passes in both directions, is counted, and a polite end stays polite", async () => {
  const { proxy, client } = await openPath();
  const long = "x".repeat(3_000_000);
  client.say(long);
  expect((await client.received(3_000_001)).length).toBe(3_000_001);
  expect(proxy.counters).toEqual({ connections: 1, requestBytes: 3_000_001, answerBytes: 3_000_001, lostBytes: 0, resets: 0, cuts: 0 });
  client.socket.end();
  expect(await client.over).toBe("end");
  await expect.poll(() => proxy.openConnections).toBe(0);
});

test("a black hole accepts new connections and answers none; connections that lost bytes are reset when it heals, others continue", async () => {
  const { echo, proxy, client } = await openPath();
  const silent = await openClient(proxy.port);
  await proxy.set({ kind: "black-hole" });
  const late = await openClient(proxy.port);
  client.say("lost");
  late.say("lost too");
  await expect.poll(() => proxy.counters.lostBytes).toBe(12);
  expect(echo.heard()).toBe("a");
  await proxy.heal();
  expect(await client.over).toBe("ECONNRESET");
  expect(await late.over).toBe("ECONNRESET");
  silent.say("b");
  expect(await silent.received(1)).toBe("b");
});

test("a black hole for answers lets the request arrive and loses only what comes back", async () => {
  const { echo, proxy, client } = await openPath();
  await proxy.set({ kind: "black-hole", only: "answers" });
  client.say("done");
  await expect.poll(() => proxy.counters.lostBytes).toBe(4);
  expect(echo.heard()).toBe("adone");
  expect(await client.received(1)).toBe("a");
});

test("in a black hole the server does not learn that the client hung up", async () => {
  const { echo, proxy, client } = await openPath();
  const connections = (): Promise<number> => new Promise((resolve) => echo.server.getConnections((_error, count) => resolve(count)));
  await proxy.set({ kind: "black-hole" });
  client.say("lost");
  client.socket.end();
  await expect.poll(() => proxy.counters.lostBytes).toBe(4);
  // The end came right behind those bytes, and this takes longer.
  const next = await openClient(echo.port);
  next.say("heard");
  expect(await next.received(5)).toBe("heard");
  expect(await connections()).toBe(2);
  next.socket.destroy();
  await proxy.heal();
  await expect.poll(connections).toBe(0);
});

test("a reset ends open connections at once and new ones on arrival", async () => {
  const { proxy, client } = await openPath();
  await proxy.set({ kind: "reset" });
  expect(await client.over).toBe("ECONNRESET");
  expect(await failureOf(proxy.port)).toBe("ECONNRESET");
  expect(proxy.counters.resets).toBe(2);
});

test("a cut answer arrives up to its byte, the request whole; after so many cuts everything passes again", async () => {
  const { echo, proxy, client } = await openPath();
  await proxy.set({ kind: "cut-answers", afterBytes: 3, times: 1 });
  client.say("abcdef");
  // Behind data that was still unread, some systems show a reset as a plain end.
  expect(["ECONNRESET", "end"]).toContain(await client.over);
  expect(await client.received(4)).toBe("aabc");
  expect(echo.heard()).toBe("aabcdef");
  expect(proxy.counters.cuts).toBe(1);
  const next = await openClient(proxy.port);
  next.say("abcdef");
  expect(await next.received(6)).toBe("abcdef");
});

test("a delay holds every piece back and keeps their order", async () => {
  const { proxy, client } = await openPath();
  await proxy.set({ kind: "delay", ms: 60 });
  const startedMs = performance.now();
  client.say("b");
  await delay(10);
  client.say("c");
  expect(await client.received(3)).toBe("abc");
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(119);
});

test("the port is closed while it refuses; afterwards it listens on the same port", async () => {
  const { proxy, client } = await openPath();
  await proxy.set({ kind: "refuse" });
  expect(await client.over).toBe("ECONNRESET");
  expect(await failureOf(proxy.port)).toBe("ECONNREFUSED");
  await proxy.heal();
  const next = await openClient(proxy.port);
  next.say("b");
  expect(await next.received(1)).toBe("b");
});

test("a server that is not there shows itself as a reset, and the URL of a server becomes the proxy's", async () => {
  const { echo, proxy } = await openPath();
  expect(proxy.urlFor(`redis://:secret@127.0.0.1:${echo.port}/0?prefix=p`)).toBe(`redis://:secret@127.0.0.1:${proxy.port}/0?prefix=p`);
  const target = await startEcho();
  target.server.close();
  await once(target.server, "close");
  await using before = await FaultProxy.open(target.port);
  const client = await openClient(before.port);
  expect(await client.over).toBe("ECONNRESET");
});
