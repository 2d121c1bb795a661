import { describe, expect, onTestFinished, test } from "vitest";
import type { HttpLimits } from "../../../src/surfaces/http/http-limits.ts";
import { openApiFixtures } from "../../support/api-fixtures.ts";
import { holdTime } from "../../support/held-time.ts";
import { startHttpServer } from "../../support/http-server.ts";
import { askRaw, connectRaw, head } from "../../support/raw-http.ts";
import { soon } from "../../support/soon.ts";
import { untilQuiet } from "../../support/until-quiet.ts";

async function open(limits: Partial<HttpLimits>, flags: Record<string, string> = {}) {
  const fixtures = openApiFixtures();
  const server = await startHttpServer({ flags: { store: "memory:", ...flags }, limits: { stopGraceMs: 200, ...limits }, apiRoutes: fixtures.routes });
  onTestFinished(() => server.stop());
  const { port } = server;
  const get = (path: string, headers: Record<string, string> = {}) => askRaw(port, head("GET", path, port, headers));
  /** Asks and does not read. */
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const connection = await connectRaw(port);
    onTestFinished(() => connection[Symbol.dispose]());
    connection.socket.pause();
    connection.write(head("GET", path, port, { connection: "keep-alive", ...headers }));
    return connection;
  };
  const usage = () => server.serving.httpServer.usage;
  return { server, port, get, ask, usage, ...fixtures };
}

const postHead = (port: number, headers: Record<string, string>) => head("POST", "/api/fixture/echo", port, { "content-type": "application/json", ...headers });

async function trickle(write: (byte: string) => void, closed: Promise<unknown>): Promise<void> {
  let open = true;
  void closed.then(() => (open = false));
  while (open) {
    write("x");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe("time", () => {
  test("a head that comes slowly is refused with 408, however steadily it comes", async () => {
    const { port } = await open({ headersMsMax: 300, requestMsMax: 10_000 });
    using connection = await connectRaw(port);
    connection.write("GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ");
    await trickle((byte) => connection.write(byte), connection.closed);
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("a connection that asks nothing is closed", async () => {
    const { port, usage } = await open({ headersMsMax: 300, requestMsMax: 10_000 });
    using connection = await connectRaw(port);
    expect(await connection.closed).toMatch(/^(HTTP\/1\.1 408 |$)/);
    await soon(() => expect(usage().sockets).toBe(0));
  });

  test("a body that comes slowly is refused with 408 and its memory given back", async () => {
    const { server, port, usage } = await open({ requestMsMax: 60_000, headersMsMax: 200 });
    const { server: node } = server.serving.httpServer;
    expect([node.headersTimeout, node.requestTimeout]).toEqual([200, 60_000]);
    node.headersTimeout = 60_000;
    using connection = await connectRaw(port);
    connection.write(postHead(port, { "content-length": "1000000" }) + "x".repeat(10_000));
    await soon(() => expect(usage().bodyBytes).toBeGreaterThanOrEqual(10_000));
    // Its time is over now that a part of it was seen, and not while a busy machine brings it.
    node.headersTimeout = 1;
    node.requestTimeout = 1;
    await trickle((byte) => connection.write(byte), connection.closed);
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 408 [\s\S]*did not arrive in time/);
    await soon(() => expect(usage()).toEqual({ inFlight: 0, streams: 0, waits: 0, sockets: 0, bodyBytes: 0, bodiesWaiting: 0 }));
  });

  test("a connection that was answered and asks nothing more is closed", async () => {
    const { port } = await open({ idleMsMax: 200 });
    using connection = await connectRaw(port);
    connection.write(head("GET", "/livez", port, { connection: "keep-alive" }));
    expect(await connection.closed).toMatch(/ok\n$/);
  });

  test("a caller that takes nothing of its answer is cut off, and what it used is free again", async () => {
    const { ask, usage, get, seen } = await open({ unreadMsMax: 300 });
    const connection = await ask("/api/fixture/large");
    await soon(() => expect(seen.large).toBe(1));
    expect((await get("/livez")).status).toBe(200);
    await soon(() => expect(usage()).toEqual({ inFlight: 0, streams: 0, waits: 0, sockets: 0, bodyBytes: 0, bodiesWaiting: 0 }));
    connection.socket.resume();
    expect((await connection.closed).length).toBeLessThan(8_000_000);
  });

  test("a caller that reads slowly but steadily is not cut off, and is when it stops", async () => {
    const time = holdTime("setInterval", "performance");
    const { ask, usage } = await open({ unreadMsMax: 1_000 });
    const { socket } = await ask("/api/fixture/flood");
    await time.until(() => usage().streams === 1);
    for (let round = 0; round < 5; round += 1) {
      // Some megabytes at a time: the system's buffers pass nothing on before a good part of them is free.
      let taken = 0;
      await time.until(() => {
        taken += (socket.read() as string | null)?.length ?? 0;
        return taken >= 4_000_000;
      });
      await untilQuiet(() => socket.readableLength);
      await time.pass(900);
      expect(usage().streams).toBe(1);
    }
    await time.pass(1_000);
    await time.until(() => usage().streams === 0);
  });

  test("a stream that is not read is cut off, and until then its source is requested little", async () => {
    const { ask, usage, seen } = await open({ unreadMsMax: 300 });
    await ask("/api/fixture/flood");
    await soon(() => expect([seen.streams, usage().streams, seen.endedStreams]).toEqual([1, 0, 1]));
    // 100 KB each: what the system's buffers take, and one more.
    expect(seen.asked).toBeLessThan(200);
  });
});

describe("size", () => {
  test("a body that says it is too large is refused with 413 before it is read", async () => {
    const { port, usage } = await open({ bodyBytesMax: 1_000 });
    const answer = await askRaw(port, postHead(port, { "content-length": "100000000", connection: "keep-alive" }));
    expect([answer.status, answer.head]).toEqual([413, expect.stringContaining("connection: close")]);
    expect(usage().bodyBytes).toBe(0);
  });

  test("a body that turns out too large is refused with 413, one byte less is not", async () => {
    const { port } = await open({ bodyBytesMax: 1_000 });
    const chunked = (length: number) => `${postHead(port, { "transfer-encoding": "chunked" })}${length.toString(16)}\r\n"${"x".repeat(length - 2)}"\r\n0\r\n\r\n`;
    expect((await askRaw(port, chunked(1_000))).status).toBe(200);
    expect((await askRaw(port, chunked(1_001))).status).toBe(413);
  });

  test("an ordinary client that sends 100 MB gets 413", async () => {
    const { server } = await open({});
    const answer = await server.fetch("/api/fixture/echo", { method: "POST", headers: { "content-type": "application/json" }, body: Buffer.alloc(100_000_000, 0x20) });
    expect([answer.status, await answer.json()]).toEqual([413, { error: { code: "limit_exceeded", message: expect.stringContaining("8388608") } }]);
  });

  test("a client that reads only after sending gets the answer too, if it does not send for ever", async () => {
    const { port, usage } = await open({ bodyBytesMax: 1_000 });
    const sendAndRead = async (pieces: number): Promise<string> => {
      using connection = await connectRaw(port);
      connection.socket.pause();
      connection.write(postHead(port, { "content-length": "300000" }));
      for (let i = 0; i < pieces; i += 1) {
        connection.write("x".repeat(100_000));
        await untilQuiet(() => [usage(), connection.socket.writableLength]);
      }
      if (pieces < 3) await time.pass(1_000);
      connection.socket.resume();
      return connection.closed;
    };
    // The server goes on taking for a second, none of which passes.
    const time = holdTime("setTimeout");
    expect(await sendAndRead(3)).toMatch(/^HTTP\/1\.1 413 /);
    expect(await sendAndRead(2)).toMatch(/^HTTP\/1\.1 413 /);
  });

  test("bodies that are together too much are received when there is room; more of a caller than may wait are refused with 503", async () => {
    const { port, usage } = await open({ bodiesBytesMax: 100_000, bodiesPerPrincipalBytesMax: 100_000, bodiesWaitingPerPrincipalMax: 2 });
    using slow = await connectRaw(port);
    slow.write(`${postHead(port, { "content-length": "90002" })}"${"x".repeat(80_000)}`);
    await soon(() => expect(usage().bodyBytes).toBeGreaterThan(80_000));
    const other = `${postHead(port, { "content-length": "50002" })}"${"y".repeat(50_000)}"`;
    const waiting = [askRaw(port, other)];
    await soon(() => expect(usage().bodiesWaiting).toBe(1));
    // One that goes away while it waits leaves its place to others in the end.
    const gone = await connectRaw(port);
    gone.write(other);
    await soon(() => expect(usage().bodiesWaiting).toBe(2));
    gone[Symbol.dispose]();
    const refused = await askRaw(port, other);
    expect([refused.status, refused.head]).toEqual([503, expect.stringContaining("retry-after: 1")]);
    expect(usage().bodyBytes).toBeLessThan(90_000);
    slow.write(`${"x".repeat(10_000)}"`);
    expect(await slow.closed).toMatch(/^HTTP\/1\.1 200 /);
    for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(200);
    expect((await askRaw(port, other)).status).toBe(200);
    await soon(() => expect(usage()).toMatchObject({ bodyBytes: 0, bodiesWaiting: 0 }));
  });

  test("a page's request whose body comes slowly holds no memory for its answer meanwhile", async () => {
    const { port, get, usage } = await open({ answersBytesMax: 4_194_304, answersPerPrincipalBytesMax: 4_194_304, answersReserveBytesMax: 0 });
    using slow = await connectRaw(port);
    slow.write(`${postHead(port, { "content-length": "20002" })}"${"x".repeat(10_000)}`);
    await soon(() => expect(usage().bodyBytes).toBeGreaterThan(10_000));
    let status = 0;
    void get("/api/me").then((answer) => (status = answer.status));
    await soon(() => expect(status).toBe(200));
    slow.write(`${"x".repeat(10_000)}"`);
    expect(await slow.closed).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("a body of unknown length counts for what has come of it", async () => {
    const { port, usage } = await open({ bodiesBytesMax: 100_000, bodiesPerPrincipalBytesMax: 100_000 });
    using slow = await connectRaw(port);
    const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
    slow.write(`${postHead(port, { "transfer-encoding": "chunked" })}${chunk(`"${"x".repeat(80_000)}`)}`);
    await soon(() => expect(usage().bodyBytes).toBeGreaterThan(80_000));
    const other = askRaw(port, `${postHead(port, { "content-length": "50002" })}"${"y".repeat(50_000)}"`);
    await soon(() => expect(usage().bodiesWaiting).toBe(1));
    // It goes on although nothing else has ended: otherwise each would wait for the other.
    slow.write(`${chunk(`${"x".repeat(50_000)}"`)}0\r\n\r\n`);
    expect(await slow.closed).toMatch(/^HTTP\/1\.1 200 /);
    expect((await other).status).toBe(200);
    await soon(() => expect(usage()).toMatchObject({ bodyBytes: 0, bodiesWaiting: 0 }));
  });

  test("an answer that is too much to hold for one caller cuts that caller off, long before it would be for not reading", async () => {
    const { ask, usage, seen } = await open({ unreadMsMax: 60_000, unsentBytesMax: 1_000_000 });
    const connection = await ask("/api/fixture/large");
    await soon(() => expect([seen.large, usage().inFlight]).toEqual([1, 0]));
    connection.socket.resume();
    expect((await connection.closed).length).toBeLessThan(8_000_000);
  });

  test("answers that are together too much to hold cut off the fullest", async () => {
    const { ask, usage, seen } = await open({ unreadMsMax: 60_000, unsentTotalBytesMax: 17_000_000 });
    for (let i = 0; i < 4; i += 1) await ask("/api/fixture/large");
    await soon(() => expect([seen.large, usage().inFlight]).toEqual([4, 2]));
  });
});

describe("number", () => {
  test("of one principal's requests in flight: over it 429, for others there is room", async () => {
    const { server, ask, get, usage, release, seen } = await open({ inFlightPerPrincipalMax: 3 });
    const token = await server.token();
    for (let i = 0; i < 3; i += 1) await ask("/api/fixture/hang");
    await soon(() => expect(seen.hanging).toBe(3));
    const refused = await get("/api/me");
    expect([refused.status, refused.head, JSON.parse(refused.body)]).toEqual([
      429,
      expect.stringContaining("retry-after: 1"),
      { error: expect.objectContaining({ code: "rate_limited" }) },
    ]);
    expect((await get("/api/me", { authorization: `Bearer ${token}` })).status).toBe(200);
    release();
    await soon(() => expect(usage().inFlight).toBe(0));
    expect((await get("/api/me")).status).toBe(200);
  });

  test("of all requests in flight: over it 503, before any credential is looked at; liveness is still answered", async () => {
    const { ask, get, seen, release } = await open({ inFlightMax: 3 });
    for (let i = 0; i < 3; i += 1) await ask("/api/fixture/hang");
    await soon(() => expect(seen.hanging).toBe(3));
    const refused = await get("/api/me", { authorization: "Bearer wrong" });
    expect([refused.status, refused.head]).toEqual([503, expect.stringContaining("retry-after: 1")]);
    expect((await get("/livez")).status).toBe(200);
    release();
    await soon(async () => expect((await get("/api/me")).status).toBe(200));
  });

  test("of requests a second: over it 429 with when to come again, each principal for itself", async () => {
    const time = holdTime("setInterval", "performance");
    const { server, get } = await open({}, { "rate-limit": "5" });
    const token = await server.token();
    const statuses = await Promise.all(Array.from({ length: 12 }, async () => (await get("/api/me")).status));
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
    const refused = await get("/mcp");
    expect(refused.status).toBe(429);
    expect([refused.head, JSON.parse(refused.body)]).toEqual([
      expect.stringContaining("retry-after: 1"),
      { jsonrpc: "2.0", id: null, error: { code: -32_000, message: expect.stringContaining("5 requests a second"), data: { code: "rate_limited", hint: expect.any(String) } } },
    ]);
    expect((await get("/api/me", { authorization: `Bearer ${token}` })).status).toBe(200);
    await time.pass(1_000);
    expect((await get("/api/me")).status).toBe(200);
  });

  test("of one principal's open streams: over it 429; they take no room from calls", async () => {
    const { server, ask, get, usage } = await open({ streamsPerPrincipalMax: 2, inFlightPerPrincipalMax: 2 });
    const token = await server.token();
    const [first] = [await ask("/api/fixture/quiet"), await ask("/api/fixture/quiet")];
    await soon(() => expect(usage()).toMatchObject({ streams: 2, inFlight: 0 }));
    const refused = await get("/api/fixture/quiet");
    expect([refused.status, refused.head]).toEqual([429, expect.stringContaining("retry-after: 5")]);
    expect((await get("/api/me")).status).toBe(200);
    const other = await connectRaw(server.port);
    other.write(head("GET", "/api/fixture/quiet", server.port, { authorization: `Bearer ${token}` }));
    await other.saw(/event: tick/);
    other[Symbol.dispose]();
    first?.[Symbol.dispose]();
    await soon(() => expect(usage().streams).toBe(1));
  });

  test("of all open streams: over it 503", async () => {
    const { ask, get, usage } = await open({ streamsMax: 2 });
    await ask("/api/fixture/quiet");
    await ask("/api/fixture/quiet");
    await soon(() => expect(usage().streams).toBe(2));
    expect((await get("/api/fixture/quiet")).status).toBe(503);
  });

  test("of connections: a new one takes the place of the longest idle", async () => {
    const { port, usage } = await open({ socketsMax: 3 });
    const idle = [await connectRaw(port), await connectRaw(port), await connectRaw(port)];
    for (const connection of idle) onTestFinished(() => connection[Symbol.dispose]());
    await soon(() => expect(usage().sockets).toBe(3));
    expect((await askRaw(port, head("GET", "/livez", port))).status).toBe(200);
    await idle[0]?.closed;
    expect(idle.map(({ socket }) => socket.destroyed)).toEqual([true, false, false]);
  });

  test("of connections: if all are in use, a new one gets 503", async () => {
    const { port, ask, seen } = await open({ socketsMax: 2 });
    await ask("/api/fixture/hang");
    await ask("/api/fixture/hang");
    await soon(() => expect(seen.hanging).toBe(2));
    const answer = await askRaw(port, head("GET", "/livez", port));
    expect([answer.status, answer.head]).toEqual([503, expect.stringContaining("retry-after: 1")]);
  });
});

describe("a caller that goes away", () => {
  test("ends what it asked for", async () => {
    const { ask, seen, usage } = await open({});
    const connection = await ask("/api/fixture/hang");
    await soon(() => expect(seen.hanging).toBe(1));
    connection[Symbol.dispose]();
    await soon(() => expect([seen.aborted, usage().inFlight]).toEqual([1, 0]));
  });

  test("in the middle of its body leaves nothing behind", async () => {
    const { port, usage } = await open({});
    using connection = await connectRaw(port);
    connection.write(postHead(port, { "content-length": "100000" }) + "x".repeat(50_000));
    await soon(() => expect(usage().bodyBytes).toBeGreaterThan(0));
    connection[Symbol.dispose]();
    await soon(() => expect(usage()).toEqual({ inFlight: 0, streams: 0, waits: 0, sockets: 0, bodyBytes: 0, bodiesWaiting: 0 }));
  });

  test("also ends what it had sent ahead, which waits behind another answer", async () => {
    const { port, seen, usage } = await open({});
    using connection = await connectRaw(port);
    connection.write(head("GET", "/api/fixture/hang", port, { connection: "keep-alive" }).repeat(4));
    await soon(() => expect([seen.hanging, usage().inFlight]).toEqual([4, 4]));
    connection[Symbol.dispose]();
    await soon(() => expect([seen.aborted, usage().inFlight]).toEqual([4, 0]));
  });
});
