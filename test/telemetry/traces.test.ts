import { describe, expect, onTestFinished, test } from "vitest";
import type { OpenTracer, TracerOptions } from "../../src/telemetry/open-tracer.ts";
import { openTracer } from "../../src/telemetry/open-tracer.ts";
import { startHttpServer } from "../support/http-server.ts";
import { openRaw } from "../support/mcp-connection.ts";
import { buildProgram, startProgram } from "../support/mcp-process.ts";
import type { OtlpReceiver, ReceivedSpan } from "../support/otlp-receiver.ts";
import { startOtlpReceiver } from "../support/otlp-receiver.ts";
import { until } from "../support/soon.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";
const sampled = `00-${traceId}-${spanId}-01`;
const server = 2;

async function openReceiver(): Promise<OtlpReceiver> {
  const receiver = await startOtlpReceiver();
  onTestFinished(() => receiver[Symbol.asyncDispose]());
  return receiver;
}

const logged: { event: string; facts: Readonly<Record<string, unknown>> }[] = [];
function openTo(receiver: Pick<OtlpReceiver, "url">, options: Partial<TracerOptions> = {}): OpenTracer {
  logged.length = 0;
  const tracer = openTracer({
    endpoint: receiver.url,
    serviceName: "holdfast-test",
    version: "1.2.3",
    sampleRatio: 1,
    delayMs: 5,
    log: (_level, event, facts = {}) => void logged.push({ event, facts }),
    ...options,
  });
  onTestFinished(() => tracer[Symbol.asyncDispose]());
  return tracer;
}

const isCall = ({ name }: ReceivedSpan): boolean => name.startsWith("tools/call");

describe.each([true, false])("spans of a stdio connection, fast path %s", (fastPath) => {
  test("describe a call by the conventions, continue the caller's trace and contain the commit", async () => {
    const receiver = await openReceiver();
    await using connection = openRaw({ fastPath, server: { tracer: openTo(receiver) } });
    await connection.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } });
    const params = { name: "state_set", arguments: { key: "secret-key", value: "secret-value" }, _meta: { traceparent: sampled, tracestate: "vendor=1" } };
    expect((await connection.request("tools/call", params)).result.isError).toBeUndefined();
    const spans = await receiver.received(2);
    const call = spans.find(isCall) as ReceivedSpan;
    const commit = spans.find(({ name }) => name === "commit") as ReceivedSpan;
    expect(call).toMatchObject({ name: "tools/call state_set", kind: server, traceId, parentSpanId: spanId, traceState: "vendor=1", status: 0, links: [] });
    expect(call.attributes).toMatchObject({
      "mcp.method.name": "tools/call",
      "gen_ai.tool.name": "state_set",
      "gen_ai.operation.name": "execute_tool",
      "network.transport": "pipe",
      ...(fastPath ? { "mcp.protocol.version": "2025-11-25" } : {}),
    });
    expect(call.attributes["jsonrpc.request.id"]).toMatch(/^.+$/);
    expect(call.resource).toMatchObject({ "service.name": "holdfast-test", "service.version": "1.2.3" });
    expect(commit).toMatchObject({ traceId, parentSpanId: call.spanId, kind: 1, status: 0 });
    expect(commit.attributes).toEqual({ "holdfast.commit.writes": 1, "holdfast.commit.checks": 0, "holdfast.commit.outcome": "committed", "holdfast.revision": 1 });
    expect(commit.startNano >= call.startNano && commit.endNano <= call.endNano).toBe(true);
    // Arguments and results are the caller's own.
    expect(JSON.stringify(receiver.spans, (_, value) => (typeof value === "bigint" ? String(value) : value))).not.toMatch(/secret/);
    expect(receiver.problems).toEqual([]);
  });

  test("record a failed call and a resource that is read", async () => {
    const receiver = await openReceiver();
    await using connection = openRaw({ fastPath, server: { tracer: openTo(receiver) } });
    await connection.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } });
    await connection.request("tools/call", { name: "state_set", arguments: { key: "a", value: 1 } });
    await connection.request("tools/call", { name: "workflow_resume", arguments: { run_id: "none" } });
    await connection.request("resources/read", { uri: "holdfast://state/a" });
    const spans = await receiver.received(3, ({ kind }) => kind === server);
    expect(spans.find(({ name }) => name === "tools/call workflow_resume")).toMatchObject({
      status: 2,
      attributes: { "error.type": "tool_error", "holdfast.error.code": "not_found" },
    });
    expect(spans.find(({ name }) => name === "resources/read")?.attributes).toMatchObject({ "mcp.resource.uri": "holdfast://state/a", "mcp.method.name": "resources/read" });
    // Each begins a trace of its own.
    expect(new Set(spans.map((span) => span.traceId)).size).toBe(3);
  });
});

describe("a trace's own wish", () => {
  test("not sampled by the caller: nothing is recorded; sampled: recorded whatever the ratio; a broken context starts a new trace", async () => {
    const receiver = await openReceiver();
    const tracer = openTo(receiver, { sampleRatio: 0 });
    const context = (traceparent: unknown) => ({ message: { traceparent } });
    expect(tracer.server("x", context(`00-${traceId}-${spanId}-00`), {})).toBeUndefined();
    expect(tracer.server("x", {}, {})).toBeUndefined();
    for (const broken of [
      "",
      "00-zz-11-01",
      `ff-${traceId}-${spanId}-01`,
      `00-${"0".repeat(32)}-${spanId}-01`,
      `00-${traceId}-${"0".repeat(16)}-01`,
      `${sampled}-more`,
      7,
      null,
      "x".repeat(10_000),
    ])
      expect(tracer.server("x", context(broken), {}), String(broken).slice(0, 60)).toBeUndefined();
    expect(tracer.server("x", context(sampled), {})?.traceId).toBe(traceId);
    expect(tracer.server("x", context(`01-${traceId}-${spanId}-01-later`), {})?.traceId).toBe(traceId);
  });

  test("the message's context is the parent and the transport's is linked; alone, the transport's is the parent", async () => {
    const receiver = await openReceiver();
    const tracer = openTo(receiver);
    const transport = { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` };
    tracer.server("both", { message: { traceparent: sampled }, transport }, {})?.end();
    tracer.server("alone", { transport }, {})?.end();
    const [both, alone] = await receiver.received(2);
    expect(both).toMatchObject({ traceId, parentSpanId: spanId, links: [{ traceId: "a".repeat(32), spanId: "b".repeat(16) }] });
    expect(alone).toMatchObject({ traceId: "a".repeat(32), parentSpanId: "b".repeat(16), links: [] });
  });
});

describe("over HTTP", () => {
  test("both eras are traced, with the headers' context linked, and the rest is sent when the server stops", async () => {
    const receiver = await openReceiver();
    const http = await startHttpServer({ flags: { "otlp-endpoint": receiver.url, "otlp-headers": "x-api-key=top%20secret", "otlp-service-name": "edge" } });
    onTestFinished(() => http.stop());
    await http.callTool("state_set", { key: "a", value: 1 });
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
      "mcp-protocol-version": "2025-11-25",
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "state_get", arguments: { key: "a" }, _meta: { traceparent: sampled } } });
    expect((await http.fetch("/mcp", { method: "POST", headers, body })).status).toBe(200);
    await http.stop();
    const calls = receiver.spans.filter(isCall);
    expect(calls.map(({ name }) => name).sort()).toEqual(["tools/call state_get", "tools/call state_set"]);
    const [read, write] = ["tools/call state_get", "tools/call state_set"].map((name) => calls.find((span) => span.name === name) as ReceivedSpan);
    expect(write?.attributes).toMatchObject({ "mcp.protocol.version": "2026-07-28", "network.transport": "tcp", "network.protocol.name": "http", "client.address": "127.0.0.1" });
    expect(read).toMatchObject({ traceId, parentSpanId: spanId, links: [{ traceId: "a".repeat(32) }], resource: { "service.name": "edge" } });
    expect(read?.attributes).toMatchObject({ "mcp.protocol.version": "2025-11-25", "jsonrpc.request.id": "7" });
    expect(receiver.requests[0]).toMatchObject({ path: "/v1/traces", headers: { "x-api-key": "top secret", "content-type": "application/json" } });
    expect(JSON.stringify(http.logged)).not.toContain("top secret");
    expect(receiver.problems).toEqual([]);
  });
});

describe("a collector that is not well", () => {
  const endMany = (tracer: OpenTracer, count: number): void => {
    for (let i = 0; i < count; i += 1) tracer.server("x", {}, {})?.end();
  };

  test("unreachable: calls continue as usual, spans that do not fit are dropped and counted, and the process ends in time", async () => {
    // No program of this machine's listens there, nor ever takes it for a server of its own.
    const tracer = openTo({ url: "http://127.0.0.1:1" }, { queueMax: 100, delayMs: 1 });
    await using connection = openRaw({ server: { tracer } });
    await connection.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } });
    for (let i = 0; i < 50; i += 1) expect((await connection.request("tools/call", { name: "state_set", arguments: { key: `k${i}`, value: i } })).result.isError).toBeUndefined();
    endMany(tracer, 10_000);
    // At once, before anything could be delivered: no more than a hundred are kept.
    expect(tracer.dropped).toBeGreaterThan(9_700);
    await tracer[Symbol.asyncDispose]();
    expect(tracer.dropped + tracer.sent).toBe(10_000 + 100);
    expect(tracer.sent).toBe(0);
    expect(logged.filter(({ event }) => event === "spans_dropped")).toHaveLength(1);
    expect(JSON.stringify(logged)).toContain("ECONNREFUSED");
  });

  test("silent: the process ends anyway, and undelivered spans count as dropped", async () => {
    const receiver = await openReceiver();
    receiver.answer = "nothing";
    const tracer = openTo(receiver, { timeoutMs: 50, delayMs: 1 });
    endMany(tracer, 10);
    await tracer[Symbol.asyncDispose]();
    expect([tracer.sent, tracer.dropped]).toEqual([0, 10]);
  });

  test("busy for a while: the same spans are offered again and arrive once", async () => {
    const receiver = await openReceiver();
    receiver.answer = 503;
    const tracer = openTo(receiver, { delayMs: 20 });
    endMany(tracer, 3);
    await until(() => receiver.requests.length > 0);
    receiver.answer = 200;
    expect(await receiver.received(3)).toHaveLength(3);
    await tracer[Symbol.asyncDispose]();
    expect([tracer.sent, tracer.dropped, receiver.spans.length]).toEqual([3, 0, 3]);
  });

  test("refusing: nothing is offered twice", async () => {
    const receiver = await openReceiver();
    receiver.answer = 401;
    const tracer = openTo(receiver, { delayMs: 1 });
    endMany(tracer, 3);
    await tracer[Symbol.asyncDispose]();
    expect([tracer.sent, tracer.dropped, receiver.requests.length]).toEqual([0, 3, 1]);
    expect(logged).toEqual([{ event: "spans_dropped", facts: { problem: "the collector answered 401", dropped_so_far: 3 } }]);
  });
});

describe("the program itself", () => {
  test("sends the spans of a stdio server that is ended, by the machine's own variables, and none of a command", async () => {
    const receiver = await openReceiver();
    await using program = await buildProgram();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_SERVICE_NAME: "from-machine" };
    const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "state_set", arguments: { key: "a", value: 1 }, _meta: { traceparent: sampled } } };
    const opening = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } } };
    const input = `${JSON.stringify(opening)}\n${JSON.stringify(call)}\n`;
    const run = async (args: readonly string[], given: string) => {
      const { child, finished } = startProgram(program, [...args, "--store", program.storeUrl("traced.db")], env);
      child.stdin?.end(given);
      return finished;
    };
    expect(await run(["mcp"], input)).toMatchObject({ code: 0, stderr: "" });
    expect(receiver.spans.map(({ name }) => name).sort()).toEqual(["commit", "tools/call state_set"]);
    expect(receiver.spans.find(isCall)).toMatchObject({ traceId, resource: { "service.name": "from-machine" } });
    expect(await run(["get", "a"], "")).toMatchObject({ code: 0 });
    expect(receiver.spans).toHaveLength(2);
  });
});
