import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { randomHex } from "../../../src/kernel/ids.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import { BridgeCredential } from "../../../src/surfaces/connect/credential.ts";
import { CallRecords } from "../../../src/surfaces/proxy/call-records.ts";
import { serveProxy } from "../../../src/surfaces/proxy/proxy-session.ts";
import { urlUpstream } from "../../../src/surfaces/proxy/url-upstream.ts";

/** What a server of lines says to one client: answers by their id, and everything else. */
class LineConnection {
  readonly #stdin = new PassThrough();
  readonly #posts = new Map<unknown, ServerResponse>();
  readonly #ended: Promise<boolean>;
  stream: ServerResponse | undefined;

  constructor(upstream: string, records: CallRecords) {
    const stdout = new PassThrough();
    let rest = "";
    stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() as string;
      for (const line of lines) this.#hear(line);
    });
    this.#ended = serveProxy({
      open: urlUpstream({ url: new URL(upstream), credential: new BridgeCredential({}), clock: systemClock, log: silentLog }),
      records,
      rules: new Map(),
      place: {},
      stdin: this.#stdin,
      stdout,
      clock: systemClock,
      log: silentLog,
    });
  }

  send(message: unknown, response: ServerResponse): void {
    const { id, method } = message as { readonly id?: unknown; readonly method?: unknown };
    if (id === undefined || method === undefined) response.writeHead(202).end();
    else {
      this.#posts.set(id, response);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
      response.once("close", () => this.#posts.delete(id));
    }
    this.#stdin.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    this.#stdin.end();
    this.stream?.end();
    await this.#ended;
  }

  #hear(line: string): void {
    const { id, method } = JSON.parse(line) as { readonly id?: unknown; readonly method?: unknown };
    const event = `event: message\ndata: ${line}\n\n`;
    if (method === undefined) this.#posts.get(id)?.end(event);
    else ([...this.#posts.values()].at(-1) ?? this.stream)?.write(event);
  }
}

/** The proxy before a server, reachable over HTTP: the official suite speaks nothing else. In the era with sessions each has a proxy of its own, in the other each request. */
export async function openHttpFront(upstream: string): Promise<{ readonly url: string } & AsyncDisposable> {
  const store = openNamespaceStore(new MemoryEngine(systemClock), "front", systemClock);
  // The suite makes the same calls again and means it: each scenario has records of its own.
  const records = (): CallRecords =>
    new CallRecords({
      scope: { store, clock: systemClock, writer: "tester" },
      log: silentLog,
      upstreamName: randomHex(12),
      repeatMs: 60_000,
      liveMs: 30_000,
      waitMs: 5_000,
      recordMs: 5_000,
    });
  const sessions = new Map<string, LineConnection>();
  const open = new Set<LineConnection>();
  const connect = (): LineConnection => {
    const connection = new LineConnection(upstream, records());
    open.add(connection);
    return connection;
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const session = request.headers["mcp-session-id"] as string | undefined;
    const known = session === undefined ? undefined : sessions.get(session);
    if (session !== undefined && known === undefined) return void response.writeHead(404).end();
    if (request.method === "GET" && known !== undefined) {
      known.stream = response.writeHead(200, { "content-type": "text/event-stream" });
      return response.flushHeaders();
    }
    if (request.method === "DELETE" && known !== undefined) {
      sessions.delete(session as string);
      await known.close();
      return void response.writeHead(200).end();
    }
    if (request.method !== "POST") return void response.writeHead(405).end();
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const message = JSON.parse(body) as { readonly method?: string };
    if (known !== undefined) return known.send(message, response);
    const connection = connect();
    if (message.method === "initialize") {
      const id = randomHex(24);
      sessions.set(id, connection);
      response.setHeader("mcp-session-id", id);
    } else response.once("close", () => void connection.close());
    connection.send(message, response);
  };
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await Promise.all([...open].map((connection) => connection.close()));
    },
  };
}
