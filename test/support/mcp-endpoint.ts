import { once } from "node:events";
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import { createServer, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { systemNamespace } from "../../src/domain/keyspace.ts";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { engineFacts } from "../../src/store/engine-facts.ts";
import { openNamespaceStore, openReservedStore } from "../../src/store/namespace-store.ts";
import type { Engine } from "../../src/store/store.ts";
import type { McpHttp, McpHttpOptions } from "../../src/surfaces/mcp/http/mcp-http.ts";
import { openMcpHttp } from "../../src/surfaces/mcp/http/mcp-http.ts";
import { catalog } from "../../src/tools/catalog.ts";
import type { Tool } from "../../src/tools/tool.ts";
import type { Era } from "./mcp-connection.ts";
import { paramsFor } from "./mcp-connection.ts";

export interface EndpointOptions extends Partial<Omit<McpHttpOptions, "clock">> {
  readonly engine?: Engine;
  readonly clock?: Clock;
  readonly tools?: readonly Tool[];
  readonly openStream?: () => void;
  /** Called for every message of a batch after the first. */
  readonly charge?: () => void;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The JSON-RPC answer, out of JSON or of the last event. */
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by tests
  readonly message: any;
}

export interface Asked {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
  /** Who calls; the endpoint believes it, as it believes a front. `NAME|NAMESPACE`: the same principal elsewhere. */
  readonly caller?: string;
}

/** The protocol's endpoint behind the smallest possible front, for tests that want a clock, callers or a store of their own. */
export interface Endpoint extends AsyncDisposable {
  readonly url: string;
  readonly mcp: McpHttp;
  readonly engine: Engine;
  readonly logged: readonly { readonly event: string; readonly facts: Readonly<Record<string, unknown>> }[];
  /** Requests whose handling has not come to its end. */
  readonly inFlight: number;
  send(asked: Asked): Promise<HttpAnswer>;
  /** One message as a client of the era sends it. */
  post(era: Era, message: object, options?: Omit<Asked, "method" | "body">): Promise<HttpAnswer>;
  /** Opens a stream, or a call that waits. */
  stream(asked: Asked): Promise<EventReader>;
}

export interface ReadEvent {
  readonly id?: string;
  readonly data: string;
}

export interface EventReader {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  next(): Promise<ReadEvent | undefined>;
  /** The next event's message; events without one are passed over. */
  // biome-ignore lint/suspicious/noExplicitAny: messages are looked into freely by tests
  message(): Promise<any>;
  /** Stops reading without closing. */
  pause(): void;
  resume(): void;
  close(): void;
  readonly ended: boolean;
}

export async function openEndpoint(options: EndpointOptions = {}): Promise<Endpoint> {
  const { clock = systemClock, tools = catalog, openStream, charge } = options;
  const engine = options.engine ?? new MemoryEngine(clock);
  const logged: { event: string; facts: Readonly<Record<string, unknown>> }[] = [];
  const mcp = openMcpHttp({ sessions: openReservedStore(engine, systemNamespace, clock), ...options, clock, log: (_, event, facts = {}) => void logged.push({ event, facts }) });
  const store = openNamespaceStore(engine, "test", clock);
  const facts = { version: "9.9.9", startedAtMs: clock.nowMs(), claimTtlMs: 900_000, ...engineFacts(engine) };
  let inFlight = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const caller = (request.headers["x-caller"] as string | undefined) ?? "tester";
      const base = { store, clock, writer: caller, server: facts };
      inFlight += 1;
      mcp
        .handle(request, response, Buffer.concat(chunks), { base, tools, key: caller, owner: caller.split("|")[0], openStream, charge })
        .catch((error: unknown) => {
          response.writeHead(500);
          response.end(String(error));
        })
        .finally(() => {
          inFlight -= 1;
        });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const open = async ({ method = "POST", headers, body, caller }: Asked) => {
    const asked = sendRequest({ port, host: "127.0.0.1", method, path: "/mcp", headers: { ...(caller === undefined ? {} : { "x-caller": caller }), ...headers } });
    asked.end(body);
    const [answer] = (await once(asked, "response")) as [import("node:http").IncomingMessage];
    return { asked, answer };
  };
  const endpoint: Endpoint = {
    url: `http://127.0.0.1:${port}/mcp`,
    mcp,
    engine,
    logged,
    get inFlight() {
      return inFlight;
    },
    async send(asked) {
      const { answer } = await open(asked);
      const chunks: Buffer[] = [];
      for await (const chunk of answer) chunks.push(chunk as Buffer);
      const text = Buffer.concat(chunks).toString("utf8");
      return { status: answer.statusCode as number, headers: answer.headers, text, message: messageIn(text, answer.headers["content-type"]) };
    },
    post: (era, message, { headers, caller } = {}) => endpoint.send({ headers: { ...headersFor(era, message), ...headers }, body: JSON.stringify(message), caller }),
    async stream(asked) {
      const { asked: request, answer } = await open(asked);
      return readEvents(answer, () => request.destroy());
    },
    async [Symbol.asyncDispose]() {
      await mcp[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
      if (options.engine === undefined) await engine[Symbol.asyncDispose]();
    },
  };
  return endpoint;
}

/** What a client of the era sends beside the message. */
export function headersFor(era: Era, message: object): OutgoingHttpHeaders {
  const own = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  if (era === "handshake") return own;
  const { method, params } = message as { method?: string; params?: { name?: unknown; uri?: unknown } };
  const name = method === "tools/call" || method === "prompts/get" ? params?.name : method === "resources/read" ? params?.uri : undefined;
  return {
    ...own,
    "mcp-protocol-version": "2026-07-28",
    ...(typeof method === "string" ? { "mcp-method": method } : {}),
    ...(typeof name === "string" ? { "mcp-name": /^[\x21-\x7e]+$/.test(name) ? name : `=?base64?${Buffer.from(name).toString("base64")}?=` } : {}),
  };
}

export const requestOf = (era: Era, id: string | number, method: string, params: Record<string, unknown> = {}) => ({ jsonrpc: "2.0", id, method, params: paramsFor(era, params) });

export const handshake = (protocolVersion = "2025-11-25") =>
  requestOf("handshake", 0, "initialize", { protocolVersion, capabilities: {}, clientInfo: { name: "raw", version: "1" } });

/** A session, as a client of the handshake era gets one: what it sends with every further request. */
export async function openSession(
  endpoint: Endpoint,
  { caller, version = "2025-11-25" }: { readonly caller?: string; readonly version?: string } = {},
): Promise<Record<string, string>> {
  const { headers } = await endpoint.post("handshake", handshake(version), { caller });
  return { "mcp-session-id": headers["mcp-session-id"] as string, "mcp-protocol-version": version };
}

function messageIn(text: string, type: string | undefined): unknown {
  if (text === "") return undefined;
  if (type?.startsWith("text/event-stream") === true) return JSON.parse([...text.matchAll(/^data: (.+)$/gm)].at(-1)?.[1] ?? "null");
  return type === "application/json" ? JSON.parse(text) : undefined;
}

function readEvents(answer: import("node:http").IncomingMessage, close: () => void): EventReader {
  const events: ReadEvent[] = [];
  let rest = "";
  let ended = false;
  let wake: () => void = () => {};
  answer.setEncoding("utf8");
  answer.on("data", (text: string) => {
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop() as string;
    for (const block of blocks) {
      const data = /^data: ?(.*)$/m.exec(block)?.[1];
      if (data !== undefined) events.push({ id: /^id: (.*)$/m.exec(block)?.[1], data });
    }
    wake();
  });
  const onEnd = (): void => {
    ended = true;
    wake();
  };
  answer.once("end", onEnd);
  answer.once("close", onEnd);
  answer.once("error", onEnd);
  const reader: EventReader = {
    status: answer.statusCode as number,
    headers: answer.headers,
    async next() {
      while (events.length === 0 && !ended)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      return events.shift();
    },
    async message() {
      for (let event = await reader.next(); event !== undefined; event = await reader.next()) if (event.data !== "") return JSON.parse(event.data);
      return undefined;
    },
    pause: () => void answer.pause(),
    resume: () => void answer.resume(),
    close,
    get ended() {
      return ended;
    },
  };
  return reader;
}
