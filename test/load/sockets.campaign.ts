import { Agent } from "node:http";
import type { Socket } from "node:net";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { mcpHeaders, postCall, toolCall } from "../support/http-messages.ts";
import { head } from "../support/raw-http.ts";
import { scaled } from "../support/scale.ts";
import type { Attack, Target } from "./hostile-load.ts";
import { reached, withstand } from "./hostile-load.ts";

/** Each attack runs at a tenth first and then in full, hence the tens; what is waited for is told by the server's closing, not by the clock. */
const idle = 10 * scaled(100, 10);
const slow = 10 * scaled(50, 5);
const large = 10 * scaled(4, 1);
const unread = 10 * scaled(100, 10);
const flooding = 10 * scaled(4, 1);
const vanishing = 10 * scaled(1_000, 50);
const callsEach = 10 * scaled(1_000, 50);
const part = (whole: number, share: number): number => Math.round(whole * share);

interface Peer {
  readonly socket: Socket;
  /** What the server said, when it has closed. */
  readonly closed: Promise<string>;
}

function dial(port: number): Peer {
  const socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    if (text.length < 1_000) text += chunk;
  });
  socket.on("error", () => {});
  return { socket, closed: new Promise((resolve) => socket.once("close", () => resolve(text))) };
}

const dialMany = (port: number, count: number, begin: (peer: Peer, i: number) => void): readonly Peer[] =>
  Array.from({ length: count }, (_, i) => {
    const peer = dial(port);
    begin(peer, i);
    return peer;
  });

/** How many were answered with which status before they were closed; 0 = with none. */
async function statuses(peers: readonly Peer[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const text of await Promise.all(peers.map(({ closed }) => closed))) {
    const status = `answered ${/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? "nothing"}`;
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

/** A byte now and then, as long as the server listens. */
function trickle(peers: readonly Peer[]): () => void {
  const timer = setInterval(() => {
    for (const { socket } of peers) if (socket.writable) socket.write("x");
  }, 250);
  return () => clearInterval(timer);
}

const authorized = (token: string | undefined) => ({ authorization: `Bearer ${token}` });
const callHead = (port: number, token: string | undefined, length: number | undefined) =>
  head("POST", "/mcp", port, {
    connection: "keep-alive",
    ...mcpHeaders("tools/call", "state_set"),
    ...authorized(token),
    ...(length === undefined ? { "transfer-encoding": "chunked" } : { "content-length": String(length) }),
  });

test(`${idle} connections that ask nothing are closed in time`, async () => {
  const attack: Attack = async ({ port }, share) => ({ sockets: part(idle, share), ...(await statuses(dialMany(port, part(idle, share), () => {}))) });
  const figures = await withstand("idle sockets", attack);
  expect((figures["answered 408"] ?? 0) + (figures["answered nothing"] ?? 0)).toBe(idle);
});

/** Connections that go on a byte at a time from where `begin` ends. */
const slowly =
  (begin: (target: Target, i: number) => string): Attack =>
  async (target, share) => {
    const peers = dialMany(target.port, part(slow, share), ({ socket }, i) => socket.write(begin(target, i)));
    const stop = trickle(peers);
    const counts = await statuses(peers);
    stop();
    return { sockets: part(slow, share), ...counts };
  };

test(`${slow} heads that come a byte at a time are refused`, async () => {
  const attack = slowly(() => "GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: ");
  expect(await withstand("slow headers", attack)).toEqual({ sockets: slow, "answered 408": slow });
});

test(`${slow} bodies that come a byte at a time are refused`, async () => {
  const attack = slowly(({ port, tokens }, i) => `${callHead(port, tokens[1 + (i % 6)], 1_000_000)}{"jsonrpc":`);
  expect(await withstand("slow bodies", attack)).toEqual({ sockets: slow, "answered 408": slow });
});

test("bodies of 100 MB are refused without being taken", async () => {
  const megabyte = Buffer.alloc(1_000_000, 0x20);
  /** Sends until the server has enough of it. */
  const pour = ({ socket }: Peer, chunked: boolean): void => {
    let left = 100;
    const next = (): void => {
      while (left > 0 && socket.writable) {
        left -= 1;
        if (chunked) socket.write(`${megabyte.length.toString(16)}\r\n`);
        const more = socket.write(megabyte);
        if (chunked) socket.write("\r\n");
        if (!more) return void socket.once("drain", next);
      }
    };
    next();
  };
  const figures = await withstand(
    "100 MB bodies",
    async ({ port, tokens }, share) => {
      const peers = dialMany(port, part(large, share), (peer, i) => {
        peer.socket.write(callHead(port, tokens[1 + (i % 6)], i % 2 === 0 ? 100_000_000 : undefined));
        pour(peer, i % 2 === 1);
      });
      const counts = await statuses(peers);
      return { bodies: part(large, share), "sent MB": Math.round(peers.reduce((sum, { socket }) => sum + socket.bytesWritten, 0) / 1e6), ...counts };
    },
    // With the product's own times: they are to be refused for their size, not because a busy machine is slow to take them.
    { firstShare: 1, times: {} },
  );
  // Half say how long they are and half do not; some are closed before they have read why.
  expect(figures["answered 413"]).toBeGreaterThanOrEqual(large / 2);
  expect((figures["answered 413"] ?? 0) + (figures["answered nothing"] ?? 0)).toBe(large);
});

test("unread streams, and some that are flooded, cost little and are closed", async () => {
  const figures = await withstand(
    "unread streams",
    async (target, share) => {
      const { port, tokens } = target;
      /** Asks for a stream and never reads it. */
      const ask = (path: string, token: number) => {
        const { socket } = dial(port);
        socket.pause();
        socket.write(head("GET", path, port, { connection: "keep-alive", ...authorized(tokens[token]) }));
        return socket;
      };
      const quiet = Array.from({ length: part(unread, share) }, (_, i) => ask(`/api/ns/t${1 + (i % 5)}/events`, 1 + (i % 5)));
      await reached(target, ({ streams }) => streams === part(unread, share));
      const [, endedBefore] = (await target.look()).fixtureStreams;
      const flooded = Array.from({ length: part(flooding, share) }, (_, i) => ask("/api/fixture/flood", 6 + (i % 2)));
      // The server cuts off those that are flooded. For those that are quiet nothing is held; they may stay.
      const { streams, fixtureStreams } = await reached(target, ({ fixtureStreams: [, ended] }) => ended - endedBefore === part(flooding, share));
      for (const socket of [...quiet, ...flooded]) socket.resetAndDestroy();
      return { "quiet streams left": streams, "flooded streams cut off": fixtureStreams[1] - endedBefore };
      // Only what nobody reads is short of time: a busy machine may take more than a second to send a thousand heads, and none of those cut off for that would become a stream.
    },
    { times: { unreadMsMax: 1_000 } },
  );
  expect(figures).toEqual({ "quiet streams left": unread, "flooded streams cut off": flooding });
});

test(`${vanishing} callers that vanish in the middle of a call leave nothing behind`, async () => {
  const body = JSON.stringify(toolCall("state_set", { key: "gone", value: "x".repeat(200) }));
  const vanish = async ({ port, tokens }: Target, i: number): Promise<void> => {
    const { socket, closed } = dial(port);
    const text = callHead(port, tokens[1 + (i % 6)], body.length) + body;
    // In the head, in the body, and after the whole request, before the answer can have come.
    const part = i % 3 === 0 ? text.slice(0, 100) : i % 3 === 1 ? text.slice(0, -50) : text;
    socket.write(part, () => (i % 2 === 0 ? socket.resetAndDestroy() : socket.destroy()));
    await closed;
  };
  const figures = await withstand("disconnects", async (target, share) => {
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < part(vanishing, share)) {
        next += 1;
        await vanish(target, next);
      }
    };
    await Promise.all(Array.from({ length: 24 }, worker));
    return { disconnects: next };
  });
  expect(figures).toEqual({ disconnects: vanishing });
});

test("two clients that use the same ids for thousands of calls each get their own answers", async () => {
  const figures = await withstand("equal ids", async (target, share) => {
    let wrong = 0;
    let answers = 0;
    const client = async (token: number): Promise<void> => {
      const agent = new Agent({ keepAlive: true, maxSockets: 16 });
      let id = 0;
      const lane = async (): Promise<void> => {
        while (id < part(callsEach, share)) {
          id += 1;
          const [mine, key] = [id, `${token}/${id}`];
          const answer = await postCall({ port: target.port, agent, token: target.tokens[token] as string }, "state_set", { key, value: mine }, mine);
          if (answer?.id !== mine || answer.result?.structuredContent?.key !== key) wrong += 1;
          answers += 1;
        }
      };
      await Promise.all(Array.from({ length: 16 }, lane));
      agent.destroy();
    };
    await Promise.all([client(1), client(2)]);
    return { answers, wrong };
  });
  expect(figures).toEqual({ answers: 2 * callsEach, wrong: 0 });
});
