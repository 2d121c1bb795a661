import { describe, expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { HoldfastError } from "../../src/kernel/errors.ts";
import { openReadiness } from "../../src/surfaces/http/health-answer.ts";
import { startHttpServer } from "../support/http-server.ts";
import { manualClock } from "../support/manual-clock.ts";

describe("readiness", () => {
  test("reports that the store answers, what a write survives and its warnings, but not where it is", async () => {
    const clock = manualClock();
    const engine = new MemoryEngine(clock);
    const health = await engine.health("team");
    engine.health = async (namespace) => ({ ...health, facts: { path: "/var/lib/x.db" }, warnings: [{ about: "durability", says: `Look at ${namespace}.` }] });
    const { ready, facts } = await openReadiness({ engine, clock, version: "1.2.3" })("team");
    expect(ready).toBe(true);
    expect(facts).toEqual({
      status: "ok",
      version: "1.2.3",
      engine: "memory",
      durability: health.durability,
      warnings: [{ about: "durability", says: "Look at team." }],
      answered_ms: 0,
    });
  });

  test("is over at its deadline where the store says nothing", async () => {
    const clock = manualClock();
    const engine = new MemoryEngine(clock);
    engine.position = () => new Promise<never>(() => {});
    const readiness = openReadiness({ engine, clock, version: "1", deadlineMs: 300 })("a");
    await clock.settle();
    clock.advance(301);
    expect(await readiness).toMatchObject({ ready: false, facts: { status: "error", code: "timeout", engine: "memory" } });
    expect(clock.sleeping()).toBe(0);
  });

  test("names a failure by its code, and says nothing of a defect's insides", async () => {
    const clock = manualClock();
    const engine = new MemoryEngine(clock);
    engine.health = () => Promise.reject(new HoldfastError("unavailable", "The store cannot be reached."));
    expect(await openReadiness({ engine, clock, version: "1" })("a")).toMatchObject({ ready: false, facts: { code: "unavailable", problem: "The store cannot be reached." } });
    engine.health = () => Promise.reject(new Error("postgres://user:secret@host broke"));
    const broken = await openReadiness({ engine, clock, version: "1" })("a");
    expect(broken).toMatchObject({ ready: false, facts: { code: "internal" } });
    expect(JSON.stringify(broken)).not.toMatch(/secret|host/);
  });

  test("many who ask at once share one look, each namespace its own, and a later one looks again", async () => {
    const clock = manualClock();
    const engine = new MemoryEngine(clock);
    const asked: string[] = [];
    const health = engine.health.bind(engine);
    engine.health = (namespace) => {
      asked.push(namespace);
      return health(namespace);
    };
    const readiness = openReadiness({ engine, clock, version: "1" });
    await Promise.all(Array.from({ length: 100 }, (_, i) => readiness(i % 2 === 0 ? "a" : "b")));
    expect(asked).toEqual(["a", "b"]);
    clock.advance(600);
    await readiness("a");
    expect(asked).toEqual(["a", "b", "a"]);
  });
});

describe("a real server", () => {
  test("/livez answers every caller, /health those with a credential, and each request is one line in the log", async () => {
    await using http = await startHttpServer({ flags: { auth: "token" } });
    const alive = await http.fetch("/livez", { headers: { "x-request-id": "from-proxy.1" } });
    expect([alive.status, (await alive.text()).trim()]).toEqual([200, "ok"]);
    expect((await http.fetch("/health")).status).toBe(401);
    const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    const ready = await http.fetch("/health", { token: await http.token(), headers: { traceparent, "x-request-id": 'bad"}{' } });
    expect(ready.status).toBe(200);
    expect(await ready.json()).toMatchObject({ status: "ok", engine: "sqlite" });
    const logged = () => http.logged.filter(({ event }) => event === "request").map(({ facts }) => facts);
    await expect.poll(logged).toHaveLength(3);
    const requests = logged();
    expect(requests[0]).toMatchObject({ request: "from-proxy.1", method: "GET", status: 200, trace: undefined });
    expect(requests[2]).toMatchObject({ trace: "a".repeat(32), status: 200, principal: "agent" });
    expect(requests[2]?.request).toMatch(/^[0-9a-f]{8}-\d+$/);
    expect(new Set(requests.map(({ request }) => request)).size).toBe(3);
  });
});
