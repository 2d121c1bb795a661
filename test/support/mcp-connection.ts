import { PassThrough } from "node:stream";
import { Client } from "@modelcontextprotocol/client";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import type { Log } from "../../src/kernel/log.ts";
import { engineFacts } from "../../src/store/engine-facts.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { Engine } from "../../src/store/store.ts";
import type { ServeMcpStdioOptions } from "../../src/surfaces/mcp/serve-stdio.ts";
import { serveMcpStdio } from "../../src/surfaces/mcp/serve-stdio.ts";
import { catalog } from "../../src/tools/catalog.ts";

import type { ToolBase } from "../../src/tools/run-tool.ts";
import type { ServerFacts, Tool } from "../../src/tools/tool.ts";

export type Era = "handshake" | "stateless";
export const eras: readonly Era[] = ["handshake", "stateless"];

export interface Answer {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by tests
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface ConnectionOptions {
  readonly engine?: Engine;
  readonly clock?: Clock;
  readonly tools?: readonly Tool[];
  readonly fastPath?: boolean;
  readonly log?: Log;
  readonly writer?: string;
  readonly server?: Partial<ServerFacts>;
}

/** Whoever speaks MCP in lines, spoken to in raw lines. */
export interface RawLines {
  readonly stdin: PassThrough;
  readonly stdout: PassThrough;
  /** Every line that was written, in order. */
  readonly lines: readonly string[];
  send(message: unknown): void;
  sendText(text: string | Buffer): void;
  /** The answer with this id, or the first unread message that the test accepts. */
  answer(id: string | number | null): Promise<Answer>;
  next(accepts: (message: Answer) => boolean): Promise<Answer>;
  request(method: string, params?: Record<string, unknown>): Promise<Answer>;
}

/** A server of ours in this process. */
export interface RawConnection extends RawLines, AsyncDisposable {
  /** Resolves when the server has ended. */
  readonly served: Promise<void>;
  readonly logged: readonly { readonly event: string; readonly facts: Readonly<Record<string, unknown>> }[];
}

export function contextOn(engine: Engine, { clock = systemClock, writer = "tester", server }: ConnectionOptions = {}): ToolBase {
  return {
    store: openNamespaceStore(engine, "test", clock),
    clock,
    writer,
    server: { version: "9.9.9", startedAtMs: clock.nowMs(), claimTtlMs: 900_000, ...engineFacts(engine), ...server },
  };
}

export function openRaw(options: ConnectionOptions = {}): RawConnection {
  const engine = options.engine ?? new MemoryEngine(options.clock ?? systemClock);
  const raw = openLines();
  const logged: { event: string; facts: Readonly<Record<string, unknown>> }[] = [];
  const log: Log = options.log ?? ((_, event, facts = {}) => void logged.push({ event, facts }));
  const { stdin, stdout } = raw;
  const serveOptions: ServeMcpStdioOptions = { context: contextOn(engine, options), tools: options.tools ?? catalog, log, stdin, stdout, fastPath: options.fastPath };
  const served = serveMcpStdio(serveOptions);
  return {
    ...raw,
    served,
    logged,
    async [Symbol.asyncDispose]() {
      stdin.end();
      await served;
      if (options.engine === undefined) await engine[Symbol.asyncDispose]();
    },
  };
}

/** The client's end of two streams that carry lines of JSON. */
export function openLines(): RawLines {
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const lines: string[] = [];
  const unread: Answer[] = [];
  const waiting: { accepts: (message: Answer) => boolean; resolve: (message: Answer) => void }[] = [];
  let rest = "";
  stdout.setEncoding("utf8");
  stdout.on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() as string;
    for (const line of parts) {
      lines.push(line);
      const message = JSON.parse(line) as Answer;
      const index = waiting.findIndex(({ accepts }) => accepts(message));
      if (index === -1) unread.push(message);
      else waiting.splice(index, 1)[0]?.resolve(message);
    }
  });
  let nextId = 1_000;
  const raw: RawLines = {
    stdin,
    stdout,
    lines,
    send: (message) => void stdin.write(`${JSON.stringify(message)}\n`),
    sendText: (text) => void stdin.write(text),
    next(accepts) {
      const index = unread.findIndex(accepts);
      if (index !== -1) return Promise.resolve(unread.splice(index, 1)[0] as Answer);
      return new Promise((resolve) => waiting.push({ accepts, resolve }));
    },
    answer: (id) => raw.next((message) => message.id === id && message.method === undefined),
    request(method, params) {
      nextId += 1;
      raw.send({ jsonrpc: "2.0", id: nextId, method, ...(params === undefined ? {} : { params }) });
      return raw.answer(nextId);
    },
  };
  return raw;
}

export const envelope = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** Params as a client of the era sends them. */
export const paramsFor = (era: Era, params: Record<string, unknown> = {}): Record<string, unknown> =>
  era === "handshake" ? params : { ...params, _meta: { ...envelope, ...(params._meta as Record<string, unknown> | undefined) } };

/** Opens the connection the way clients of the era do. */
export async function shakeHands(connection: RawLines, era: Era): Promise<Answer> {
  if (era === "stateless") return connection.request("server/discover", paramsFor(era));
  const answer = await connection.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } });
  connection.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  return answer;
}

type Transport = Parameters<Client["connect"]>[0];

/** The SDK's own client, connected to a server in this process. */
export async function connectClient(era: Era, options: ConnectionOptions = {}): Promise<{ readonly client: Client; readonly connection: RawConnection } & AsyncDisposable> {
  const connection = openRaw(options);
  const client = await clientOver(era, connection);
  return {
    client,
    connection,
    async [Symbol.asyncDispose]() {
      await client.close();
      await connection[Symbol.asyncDispose]();
    },
  };
}

/** The SDK's own client, speaking in lines to whoever is at the other end. */
export async function clientOver(era: Era, raw: RawLines): Promise<Client> {
  const transport: Transport = {
    start: async () => {
      let rest = "";
      raw.stdout.on("data", (text: string) => {
        const parts = (rest + text).split("\n");
        rest = parts.pop() as string;
        for (const line of parts) transport.onmessage?.(JSON.parse(line));
      });
    },
    send: async (message) => raw.send(message),
    close: async () => transport.onclose?.(),
  };
  const client = new Client({ name: "test-client", version: "1" }, { versionNegotiation: { mode: era === "handshake" ? "legacy" : { pin: "2026-07-28" } } });
  await client.connect(transport);
  return client;
}
