import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { HoldfastError } from "../../src/kernel/errors.ts";
import { maintain } from "../../src/store/maintenance.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import { openHttpMetrics } from "../../src/surfaces/http/http-metrics.ts";
import { watchEngine } from "../../src/telemetry/engine-metrics.ts";
import { openExpiryMetrics } from "../../src/telemetry/expiry-metrics.ts";
import type { Family } from "../../src/telemetry/exposition.ts";
import type { OpenMeter } from "../../src/telemetry/open-meter.ts";
import { openMeter } from "../../src/telemetry/open-meter.ts";
import { openObservers } from "../../src/telemetry/open-observers.ts";
import { openTracer } from "../../src/telemetry/open-tracer.ts";
import type { HttpServer } from "../support/http-server.ts";
import { startHttpServer } from "../support/http-server.ts";
import { manualClock } from "../support/manual-clock.ts";
import { soon } from "../support/soon.ts";
import { openTools } from "../tools/open-tools.ts";

/** One figure by name and labels; undefined where it is not shown. */
async function figure(meter: OpenMeter, name: string, labels: Readonly<Record<string, string>> = {}): Promise<number | undefined> {
  const [, base = name, suffix = ""] = /^(.*?)(_bucket|_sum|_count)?$/.exec(name) ?? [];
  const families = await meter.collect();
  const family = families.find((each) => each.name === name) ?? families.find((each) => each.name === base);
  const isPart = family?.name !== name;
  return family?.samples.find(
    (sample) =>
      (sample.suffix ?? "") === (isPart ? suffix : "") && sample.labels.length === Object.keys(labels).length && sample.labels.every(([label, value]) => labels[label] === value),
  )?.value;
}

describe("figures of tools and store", () => {
  function openMeasured() {
    const clock = manualClock();
    const engine = new MemoryEngine(clock);
    const meter = openMeter();
    const observers = openObservers(meter, { engine, namespace: "test", version: "1.2.3" });
    onTestFinished(() => observers[Symbol.dispose]());
    const tools = openTools({ engine, clock, server: { observer: observers.tools } });
    const base = { ...tools.base, store: openNamespaceStore(engine, "test", clock, { observer: observers.store }) };
    Object.assign(tools.base, base);
    return { clock, engine, meter, observers, tools, base };
  }

  test("calls by tool and outcome, with their time", async () => {
    const { meter, tools } = openMeasured();
    await tools.call("state_set", { key: "a", value: 1 });
    await tools.call("state_set", { key: "b", value: 1 });
    await tools.outcome("state_set", { key: "", value: 1 });
    await tools.outcome("workflow_resume", { run_id: "none" });
    expect(await figure(meter, "holdfast_tool_calls_total", { tool: "state_set", outcome: "ok" })).toBe(2);
    expect(await figure(meter, "holdfast_tool_calls_total", { tool: "state_set", outcome: "invalid_input" })).toBe(1);
    expect(await figure(meter, "holdfast_tool_calls_total", { tool: "workflow_resume", outcome: "not_found" })).toBe(1);
    expect(await figure(meter, "holdfast_tool_call_seconds_count", { tool: "state_set" })).toBe(3);
    expect(await figure(meter, "holdfast_tool_calls_in_flight")).toBe(0);
    expect(await figure(meter, "holdfast_commits_total", { outcome: "committed" })).toBe(2);
    expect(await figure(meter, "holdfast_changes_total", { kind: "state", op: "set" })).toBe(2);
    expect(await figure(meter, "holdfast_commit_seconds_count")).toBe(2);
    expect(await figure(meter, "holdfast_commits_queued")).toBe(0);
  });

  test("commits that share a batch, conflicts, replays and failures", async () => {
    const { meter, base, tools, engine } = openMeasured();
    await Promise.all(Array.from({ length: 20 }, (_, i) => base.store.commit({ writes: [{ op: "put", key: `k${i}`, value: i }], writer: "w" })));
    expect(await figure(meter, "holdfast_commit_batch_size_sum")).toBe(20);
    expect(await figure(meter, "holdfast_commit_batch_size_count")).toBe(1);
    await base.store.commit({ checks: [{ key: "k0", version: 7 }], writes: [{ op: "put", key: "k0", value: 1 }], writer: "w" });
    expect(await figure(meter, "holdfast_commits_total", { outcome: "conflict" })).toBe(1);
    const request = { requestKey: "once" };
    await tools.call("state_set", { key: "a", value: 1 }, request);
    await base.store.commit({ writes: [{ op: "put", key: "a", value: 1 }], writer: "w", request: { key: "twice", fingerprint: "f", note: 1 } });
    await base.store.commit({ writes: [{ op: "put", key: "a", value: 1 }], writer: "w", request: { key: "twice", fingerprint: "f", note: 1 } });
    expect(await figure(meter, "holdfast_commits_total", { outcome: "replayed" })).toBe(1);
    engine.commit = () => Promise.reject(new HoldfastError("storage_full", "full"));
    await expect(base.store.commit({ writes: [], writer: "w" })).rejects.toThrow("full");
    expect(await figure(meter, "holdfast_commits_total", { outcome: "storage_full" })).toBe(1);
    expect(await figure(meter, "holdfast_commits_queued")).toBe(0);
  });

  test("leases and claims: taken, refused, taken over after a lapse, lapsed without a successor", async () => {
    const { meter, tools, clock, engine, observers } = openMeasured();
    const acquire = (holder_id: string, resource_id = "deploy") => tools.call("lease_acquire", { resource_id, holder_id, ttl_seconds: 10 });
    await acquire("a");
    await acquire("b");
    clock.advance(11_000);
    await acquire("b");
    await tools.call("workflow_create", { name: "n", run_id: "r" });
    await tools.call("workflow_claim", { run_id: "r", agent_id: "a", ttl_seconds: 10 });
    await tools.call("workflow_claim", { run_id: "r", agent_id: "b" });
    clock.advance(11_000);
    await tools.call("workflow_claim", { run_id: "r", agent_id: "b", ttl_seconds: 10 });
    expect(await figure(meter, "holdfast_changes_total", { kind: "lease", op: "acquire" })).toBe(2);
    expect(await figure(meter, "holdfast_changes_total", { kind: "workflow", op: "claim" })).toBe(2);
    expect(await figure(meter, "holdfast_holds_refused_total", { kind: "lease" })).toBe(1);
    expect(await figure(meter, "holdfast_holds_refused_total", { kind: "workflow" })).toBe(1);
    expect(await figure(meter, "holdfast_takeovers_total", { kind: "lease" })).toBe(1);
    expect(await figure(meter, "holdfast_takeovers_total", { kind: "workflow" })).toBe(1);
    // Now nobody takes them: the sweep finds the lease of "b" (lapsed above, while nobody looked) and the claim of "b".
    await acquire("c", "other");
    await tools.call("state_set", { key: "short", value: 1, ttl_seconds: 5 });
    clock.advance(20_000);
    const stop = new AbortController();
    const maintained = maintain({ engine, clock, log: () => {}, retention: { ageMs: 1e9, revisions: 1e6, tombstones: 1e6 }, swept: observers.swept }, stop.signal);
    await clock.settle();
    await clock.advanceBy(1_500);
    stop.abort();
    await clock.advanceBy(1_500);
    await maintained;
    expect(await figure(meter, "holdfast_expired_total", { kind: "lease" })).toBe(2);
    expect(await figure(meter, "holdfast_expired_total", { kind: "workflow" })).toBe(1);
    expect(await figure(meter, "holdfast_expired_total", { kind: "state" })).toBe(1);
  });

  test("the sweep's own rows are found among concurrent commits", async () => {
    const { meter, engine, base, clock } = openMeasured();
    const swept = openExpiryMetrics(meter, engine);
    await base.store.commit({ writes: [{ op: "put", key: "x", value: 1, ttlMs: 1_000, lapse: { kind: "lease", op: "lapse", subject: "x" } }], writer: "w" });
    clock.advance(2_000);
    const count = await engine.sweep("test", 100);
    for (let i = 0; i < 5; i += 1) await base.store.commit({ writes: [{ op: "put", key: `y${i}`, value: 1 }], writer: "w" });
    await swept("test", count);
    expect(await figure(meter, "holdfast_expired_total", { kind: "lease" })).toBe(1);
  });

  test("watchers while they watch", async () => {
    const { meter, base } = openMeasured();
    const stop = new AbortController();
    const watching = (async () => {
      for await (const _ of base.store.watch(everything, 0, stop.signal)) break;
      for await (const _ of base.store.watch(everything, 0, stop.signal)) if (stop.signal.aborted) break;
    })();
    await base.store.commit({ writes: [{ op: "put", key: "x", value: 1 }], writer: "w" });
    await soon(async () => expect(await figure(meter, "holdfast_watchers")).toBe(1));
    stop.abort();
    await watching;
    expect(await figure(meter, "holdfast_watchers")).toBe(0);
  });

  test("an engine that fails, and one that does not answer, is down", async () => {
    for (const health of [() => Promise.reject(new Error("gone")), () => new Promise<never>(() => {})]) {
      const engine = new MemoryEngine(manualClock());
      engine.health = health;
      const meter = openMeter();
      watchEngine(meter, engine, "test");
      const families = await meter.collect();
      expect(families.find(({ name }) => name === "holdfast_engine_up")?.samples).toEqual([{ labels: [["engine", "memory"]], value: 0 }]);
      expect(families.find(({ name }) => name === "holdfast_engine_warnings")?.samples).toEqual([]);
    }
  });
});

describe("figures of HTTP", () => {
  test("a request by pattern, method and status; strange ones share a word, and a stream's time says nothing", async () => {
    const meter = openMeter();
    const metrics = openHttpMetrics(meter);
    const requests = (labels: Record<string, string>): Promise<number | undefined> => figure(meter, "holdfast_http_requests_total", labels);
    metrics.ended(metrics.began(), "/mcp", "POST", 200);
    metrics.ended(metrics.began(), "/mcp", "PROPFIND", 999);
    metrics.began();
    metrics.ended(metrics.began(), "/mcp", "GET", 200, true);
    expect(await requests({ route: "/mcp", method: "POST", status: "200" })).toBe(1);
    expect(await requests({ route: "/mcp", method: "other", status: "other" })).toBe(1);
    expect(await requests({ route: "/mcp", method: "GET", status: "200" })).toBe(1);
    expect(await figure(meter, "holdfast_http_request_seconds_count", { route: "/mcp" })).toBe(2);
    expect(await figure(meter, "holdfast_http_requests_in_flight")).toBe(1);
    metrics.stream("events", 1);
    metrics.refused("rate");
    expect(await figure(meter, "holdfast_streams_open", { kind: "events" })).toBe(1);
    expect(await figure(meter, "holdfast_http_refused_total", { reason: "rate" })).toBe(1);
  });
});

/** Every family that a serving process can show, as its code names them. */
async function allFamilies(): Promise<readonly Family[]> {
  const meter = openMeter();
  const observers = openObservers(meter, { engine: new MemoryEngine(manualClock()), namespace: "x", version: "1" });
  openHttpMetrics(meter).connections(() => 1);
  await using _tracer = openTracer({ endpoint: "http://127.0.0.1:1", serviceName: "x", version: "1", sampleRatio: 1, log: () => {}, meter });
  const families = await meter.collect();
  observers[Symbol.dispose]();
  return families;
}

describe("what is shown", () => {
  test("keeps to the conventions for names, units and help", async () => {
    const families = await allFamilies();
    expect(families.length).toBeGreaterThan(25);
    for (const { name, help, type } of families) {
      expect(name).toMatch(/^(holdfast|process)_[a-z]+(_[a-z]+)*$/);
      expect(name.endsWith("_total"), name).toBe(type === "counter");
      expect(help, name).toMatch(/^[A-Z0-9].*\.$/);
      expect(name, "the unit is the base unit").not.toMatch(/_(ms|millis|milliseconds|minutes|kb|mb|kilobytes)(_|$)/);
      expect(name, "the type is no part of the name").not.toMatch(/_(gauge|counter|histogram)(_|$)/);
      if (type === "histogram") expect(name).toMatch(/_(seconds|size)$/);
    }
  });

  test("is all in docs/operating.md, and nothing else is", async () => {
    const families = await allFamilies();
    const text = readFileSync(new URL("../../docs/operating.md", import.meta.url), "utf8");
    const rows = [...text.matchAll(/^\| `((?:holdfast|process)_[a-z_]+)`(?:\{([a-z, ]+)\})? \| (counter|gauge|histogram) \| (.+) \|$/gm)].map(
      ([, name, labels = "", type, help]) => ({ name, labels, type, help }),
    );
    expect(rows.map(({ name }) => name).sort()).toEqual(families.map(({ name }) => name).sort());
    for (const family of families) {
      const row = rows.find(({ name }) => name === family.name);
      expect(row, family.name).toMatchObject({ type: family.type, help: family.help, labels: family.labels.join(", ") });
    }
  });
});

describe("GET /metrics of a real server", () => {
  let http: HttpServer;
  beforeAll(async () => {
    http = await startHttpServer();
    return () => http.stop();
  });

  test("has metrics of everything that happened, without who did it or to what", async () => {
    // A server of its own: the figures are of this test alone.
    const http = await startHttpServer();
    onTestFinished(() => http.stop());
    const token = await http.token({ name: "private-name", namespaces: ["private-namespace"] });
    await http.callTool("state_set", { key: "private-key", value: "private-value" }, { token });
    await http.fetch("/mcp", { method: "POST", token: `hf_${"x".repeat(43)}` });
    await http.fetch("/private-path/private-key");
    const answer = await http.fetch("/metrics");
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const text = await answer.text();
    expect(text).not.toMatch(/private/);
    for (const line of [
      /^holdfast_tool_calls_total\{tool="state_set",outcome="ok"\} 1$/m,
      /^holdfast_commits_total\{outcome="committed"\} [1-9]/m,
      /^holdfast_http_requests_total\{route="[^"]*mcp[^"]*",method="POST",status="200"\} 1$/m,
      /^holdfast_http_requests_total\{route="[^"]*",method="POST",status="401"\} 1$/m,
      /^holdfast_http_requests_in_flight 1$/m,
      /^holdfast_authentications_total\{kind="token",outcome="accepted"\} 1$/m,
      /^holdfast_authentications_total\{kind="token",outcome="refused"\} 1$/m,
      /^holdfast_engine_up\{engine="sqlite"\} 1$/m,
      /^holdfast_build_info\{version="[^"]+",node="v[^"]+"\} 1$/m,
      /^process_resident_memory_bytes [1-9]/m,
      /^process_open_fds [1-9]/m,
      /^holdfast_event_loop_delay_seconds\{at="max"\} /m,
      /^holdfast_http_connections_open [1-9]/m,
    ])
      expect(text).toMatch(line);
    process.stdout.write(`/metrics: ${text.length} bytes, ${text.split("\n").length} lines\n`);
  });

  test("is for credentials of every namespace alone", async () => {
    const [one, every] = [await http.token({ namespaces: ["a"], role: "admin" }), await http.token({ namespaces: "*", role: "read" })];
    expect((await http.fetch("/metrics", { token: one })).status).toBe(403);
    expect((await http.fetch("/metrics", { token: every })).status).toBe(200);
    expect((await http.fetch("/metrics", { token: "wrong" })).status).toBe(401);
  });

  test("many words of a caller make no series", async () => {
    const linesAfter = async (from: number): Promise<number> => {
      for (let i = from; i < from + 50; i += 1) await http.fetch(`/no-such-${i}`, { method: i % 2 === 0 ? "GET" : "PATCH" });
      await http.callTool(`no_such_tool_${from}`);
      return (await (await http.fetch("/metrics")).text()).split("\n").length;
    };
    // The first time there are new series: one each for this route, that outcome.
    await linesAfter(0);
    expect(await linesAfter(50)).toBe(await linesAfter(100));
  });
});
