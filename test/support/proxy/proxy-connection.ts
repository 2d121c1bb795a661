import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import type { Engine, Store } from "../../../src/store/store.ts";
import type { Scope } from "../../../src/store/transact.ts";
import type { CallRecordsOptions } from "../../../src/surfaces/proxy/call-records.ts";
import { CallRecords } from "../../../src/surfaces/proxy/call-records.ts";
import type { ProxyOptions } from "../../../src/surfaces/proxy/proxy-session.ts";
import { serveProxy } from "../../../src/surfaces/proxy/proxy-session.ts";
import { readToolRules } from "../../../src/surfaces/proxy/tool-rules.ts";
import type { OpenUpstream } from "../../../src/surfaces/proxy/upstream.ts";
import type { ManualClock } from "../manual-clock.ts";
import { manualClock } from "../manual-clock.ts";
import type { RawLines } from "../mcp-connection.ts";
import { openLines } from "../mcp-connection.ts";

/** The upstream's end of a proxy, spoken for by a test: what the proxy wrote is read, and what the test sends is its answer. */
export interface TestUpstream extends RawLines {
  readonly open: OpenUpstream;
  /** It dies, as a process would. */
  die(): void;
}

export function openTestUpstream(): TestUpstream {
  const lines = openLines();
  let resolveEnded: (reason: string) => void = () => {};
  const ended = new Promise<string>((resolve) => {
    resolveEnded = resolve;
  });
  const die = (): void => {
    lines.stdin.destroy();
    lines.stdout.destroy();
    resolveEnded("was ended by SIGKILL");
  };
  const open: OpenUpstream = () => ({
    stdin: lines.stdout,
    stdout: lines.stdin,
    ended,
    async stop() {
      resolveEnded("ended with exit code 0");
    },
  });
  return { ...lines, open, die };
}

export interface ProxyConnection extends RawLines, AsyncDisposable {
  readonly upstream: TestUpstream;
  readonly scope: Scope & { readonly store: Store };
  readonly clock: ManualClock;
  /** Resolves when the proxy has ended: false, when the upstream ended first. */
  readonly ended: Promise<boolean>;
  readonly logged: readonly { readonly event: string; readonly facts: Readonly<Record<string, unknown>> }[];
  /** What the client sends and the upstream receives. */
  call(tool: string, args?: Readonly<Record<string, unknown>>, meta?: Readonly<Record<string, unknown>>): { readonly id: number; readonly answer: ReturnType<RawLines["answer"]> };
}

export interface ProxyConnectionOptions extends Partial<Pick<ProxyOptions, "place" | "endMsMax" | "cancelMsMax" | "askMsMax">>, Partial<Omit<CallRecordsOptions, "scope" | "log">> {
  readonly clock?: ManualClock;
  readonly engine?: Engine;
  /** In the place of the engine's own. */
  readonly store?: (store: Store) => Store;
  readonly tools?: Readonly<Record<string, unknown>>;
  readonly upstream?: TestUpstream;
}

let calls = 0;

/** A proxy in this process between two ends that a test speaks for. Time stands still. */
export function openProxy(options: ProxyConnectionOptions = {}): ProxyConnection {
  const { clock = manualClock(), upstream = openTestUpstream(), tools = {}, place = {}, endMsMax, cancelMsMax, askMsMax, store: wrap = (store) => store, ...records } = options;
  const engine = options.engine ?? new MemoryEngine(clock);
  const scope: Scope = { store: wrap(openNamespaceStore(engine, "test", clock)), clock, writer: "tester" };
  const logged: { event: string; facts: Readonly<Record<string, unknown>> }[] = [];
  const log: ProxyOptions["log"] = (_, event, facts = {}) => void logged.push({ event, facts });
  const client = openLines();
  const ended = serveProxy({
    open: upstream.open,
    records: new CallRecords({ scope, log, upstreamName: "test", repeatMs: 86_400_000, liveMs: 30_000, waitMs: 30_000, recordMs: 5_000, ...records }),
    rules: readToolRules({ json: { tools }, origin: "test" }),
    place,
    stdin: client.stdin,
    stdout: client.stdout,
    clock,
    log,
    endMsMax,
    cancelMsMax,
    askMsMax,
  });
  return {
    ...client,
    upstream,
    scope,
    clock,
    ended,
    logged,
    call(tool, args = {}, meta) {
      calls += 1;
      const id = calls;
      client.send({ jsonrpc: "2.0", id, method: "tools/call", params: { name: tool, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) } });
      return { id, answer: client.answer(id) };
    },
    async [Symbol.asyncDispose]() {
      client.stdin.end();
      upstream.die();
      await clock.advanceBy(60_000);
      await ended;
    },
  };
}

/** Everything that an upstream of these tests offers. */
export const tools = [
  { name: "send", inputSchema: { type: "object" } },
  { name: "read", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
] as const;

/** Answers lists with these tools and calls with how many there were. */
export function answerAll(upstream: TestUpstream, listed: readonly unknown[] = tools): { readonly calls: { readonly tool: string; readonly args: unknown }[] } {
  const made: { tool: string; args: unknown }[] = [];
  const takeNext = (): void => {
    void upstream
      .next(({ method }) => method === "tools/list" || method === "tools/call")
      .then((message) => {
        takeNext();
        if (message.method === "tools/list") return upstream.send({ jsonrpc: "2.0", id: message.id, result: { tools: listed } });
        made.push({ tool: String(message.params?.name), args: message.params?.arguments });
        upstream.send({ jsonrpc: "2.0", id: message.id, result: { content: [{ type: "text", text: `call ${made.length}` }] } });
      });
  };
  takeNext();
  return { calls: made };
}
