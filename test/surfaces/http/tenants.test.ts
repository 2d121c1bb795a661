import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Principal } from "../../../src/domain/identity/principal.ts";
import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import { engineFacts } from "../../../src/store/engine-facts.ts";
import { Tenants } from "../../../src/surfaces/http/tenants.ts";
import { McpContexts as McpTenants } from "../../../src/surfaces/mcp/http/mcp-contexts.ts";
import { catalog } from "../../../src/tools/catalog.ts";
import type { HttpServer } from "../../support/http-server.ts";
import { startHttpServer } from "../../support/http-server.ts";
import { manualClock } from "../../support/manual-clock.ts";

const clock = manualClock();
const engine = new MemoryEngine(clock);
const surroundings = { folder: "/somewhere", home: "/somewhere", reader: undefined } as never;
const mirror = {} as never;
const tenants = new Tenants({
  engine,
  clock,
  server: { version: "1", startedAtMs: 0, claimTtlMs: 1, ...engineFacts(engine), surroundings, mirror },
  tools: catalog,
  defaultNamespace: "main",
  namespacesMax: 3,
});
const principal = (more: Partial<Principal> = {}): Principal => ({ name: "ci", role: "write", namespaces: ["builds", "docs"], kind: "token", tokenId: "t", ...more });

describe("a principal", () => {
  test("works in the first of its namespaces when it names none; one for all of them in the configured one", () => {
    expect(tenants.defaultFor(principal())).toBe("builds");
    expect(tenants.defaultFor(principal({ namespaces: "*" }))).toBe("main");
    expect(() => tenants.defaultFor(principal({ namespaces: [] }))).toThrow(expect.objectContaining({ status: 403 }));
  });

  test("is the writer of what it does, whatever it calls itself", () => {
    expect(tenants.baseFor(principal(), "docs")).toMatchObject({ writer: "ci", store: { namespace: "docs" } });
  });

  test("is refused alike in namespaces that are others' and in those that are not there", () => {
    const refusal = (namespace: string) => {
      try {
        tenants.baseFor(principal(), namespace);
      } catch (error) {
        return { ...(error as object), message: (error as Error).message };
      }
      return undefined;
    };
    expect(refusal("main")).toMatchObject({ status: 403, code: "forbidden" });
    expect(refusal("never-used")).toEqual(refusal("main"));
    expect(refusal("../x")).toEqual(refusal("main"));
    expect(refusal(".system")).toEqual(refusal("main"));
  });

  test("for every namespace cannot name the reserved one either", () => {
    expect(() => tenants.baseFor(principal({ namespaces: "*", role: "admin" }), ".system")).toThrow(expect.objectContaining({ status: 403 }));
  });

  test("gets the tools of its role: read only those that change nothing, write all but those that clear everything", () => {
    const names = (role: Principal["role"]) => tenants.toolsFor(principal({ role })).map(({ name }) => name);
    expect(names("read")).toEqual(catalog.filter(({ effect }) => effect === "read").map(({ name }) => name));
    expect(catalog.map(({ name }) => name).filter((name) => !names("write").includes(name))).toEqual(["sidecar_reset"]);
    expect(names("admin")).toEqual(catalog.map(({ name }) => name));
  });

  test("is somewhere else: the server's folder is not its own, and copies beside the store are made of the configured namespace alone", () => {
    expect(tenants.baseFor(principal({ namespaces: "*" }), "main").server).toMatchObject({ mirror });
    expect(tenants.baseFor(principal({ namespaces: "*" }), "main").server).not.toHaveProperty("surroundings");
    expect(tenants.baseFor(principal(), "docs").server).not.toHaveProperty("mirror");
  });
});

test("a caller who comes again with another reach is not served with what was kept for the first", () => {
  const kept = new McpTenants(silentLog, undefined);
  const accessOf = (namespaces: Principal["namespaces"]) => ({ base: tenants.baseFor(principal({ namespaces }), "docs"), tools: catalog, key: "the same" });
  const [wide, narrow] = [kept.of(accessOf("*")), kept.of(accessOf(["docs"]))];
  expect([wide.access.base.server.tellsOf, narrow.access.base.server.tellsOf]).toEqual(["store", "namespace"]);
  expect(kept.of(accessOf(["docs"]))).toBe(narrow);
});

test("one store serves all callers of a namespace, and at most as many as the limit are kept open", () => {
  const everybody = principal({ namespaces: "*" });
  const first = tenants.baseFor(everybody, "n1").store;
  expect(tenants.baseFor(principal({ name: "other", namespaces: ["n1"] }), "n1").store).toBe(first);
  for (const namespace of ["n2", "n3", "n4"]) tenants.baseFor(everybody, namespace);
  expect(tenants.baseFor(everybody, "n1").store).not.toBe(first);
});

describe("over HTTP", () => {
  let server: HttpServer;
  beforeAll(async () => {
    server = await startHttpServer({ flags: { store: "memory:", namespace: "main", auth: "token" } });
  });
  afterAll(() => server.stop());

  test("what one namespace holds, another does not see, and history names the principal", async () => {
    const [blue, green] = [await server.token({ name: "blue", namespaces: ["blue"] }), await server.token({ name: "green", namespaces: ["green", "blue"] })];
    await server.callTool("state_set", { key: "k", value: "of blue", agent_id: "somebody else" }, { token: blue });
    expect(await server.callTool("state_get", { key: "k" }, { token: green })).toMatchObject({ result: { structuredContent: { found: false } } });
    expect(await server.callTool("state_get", { key: "k" }, { token: green, path: "/ns/blue/mcp" })).toMatchObject({
      result: { structuredContent: { value: "of blue", updated_by: "blue" } },
    });
    expect((await server.fetch("/ns/green/mcp", { method: "POST", token: blue })).status).toBe(403);
    expect((await server.fetch("/ns/never-used/mcp", { method: "POST", token: blue })).status).toBe(403);
    expect((await server.fetch("/api/ns/green/overview", { token: blue })).status).toBe(403);
  });

  test("the figures are for who may use every namespace", async () => {
    expect((await server.fetch("/metrics")).status).toBe(401);
    expect((await server.fetch("/metrics", { token: await server.token({ role: "admin" }) })).status).toBe(403);
    const answer = await server.fetch("/metrics", { token: await server.token({ role: "read", namespaces: "*" }) });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("holdfast_http_requests_total")]);
  });

  test("readiness requires a credential, liveness does not", async () => {
    expect((await server.fetch("/health")).status).toBe(401);
    expect((await server.fetch("/health", { token: await server.token({ role: "read" }) })).status).toBe(200);
    expect((await server.fetch("/livez")).status).toBe(200);
  });

  test("figures of the whole store, its file and its settings are for principals of every namespace; others see only their own", async () => {
    await using files = await startHttpServer({ flags: { namespace: "main" } });
    const [wide, narrow] = [await files.token({ role: "read", namespaces: "*" }), await files.token({ role: "read", namespaces: ["main"] })];
    const told = async (token?: string): Promise<Record<string, unknown>[]> => {
      const { result } = (await files.callTool("sidecar_health", {}, { token, path: "/ns/main/mcp" })) as { result: { structuredContent: { engine: Record<string, unknown> } } };
      const json = async (path: string) => (await (await files.fetch(path, { token })).json()) as { facts: Record<string, unknown>; health: { facts: Record<string, unknown> } };
      return [result.structuredContent.engine, (await json("/api/ns/main/health")).facts, (await json("/api/ns/main/overview")).health.facts];
    };
    const ofStore = ["driver", "sqlite_version", "journal_mode", "file", "file_bytes", "wal_bytes", "free_bytes_inside"];
    for (const token of [narrow, wide, undefined, narrow])
      for (const facts of await told(token)) {
        expect(facts).toMatchObject({ revision: 0, compacted_revision: 0 });
        expect(ofStore.filter((name) => name in facts)).toEqual(token === narrow ? [] : ofStore);
      }
  });

  test("a store creates no namespaces beyond its limit, for any caller; existing ones continue to work", async () => {
    await using small = await startHttpServer({ flags: { store: "memory:", namespace: "main", "namespaces-max": "2" } });
    const token = await small.token({ namespaces: "*" });
    const set = async (namespace: string) => {
      const { result } = (await small.callTool("state_set", { key: "k", value: 1 }, { token, path: `/ns/${namespace}/mcp` })) as { result: { structuredContent: object } };
      return result.structuredContent;
    };
    for (const namespace of ["one", "two", "one"]) expect(await set(namespace)).toMatchObject({ ok: true });
    expect(await set("three")).toMatchObject({ error: { code: "limit_exceeded", details: { field: "namespace", max: 2 } } });
    expect(await small.callTool("state_get", { key: "k" }, { token, path: "/ns/three/mcp" })).toMatchObject({ result: { structuredContent: { found: false } } });
    const { namespaces } = (await (await small.fetch("/api/me", { token })).json()) as { namespaces: string[] };
    expect(namespaces).toEqual(["main", "one", "two"]);
  });
});

describe("a session of the handshake era", () => {
  const initialize = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
  });

  test("is given in a namespace that exists, or that the credential names; a name that was made up gets an answer without one", async () => {
    await using server = await startHttpServer({ flags: { auth: "token" } });
    const everywhere = await server.token({ name: "everywhere", namespaces: "*" });
    const own = await server.token({ name: "own", namespaces: ["fresh"] });
    const open = async (path: string, token: string) => {
      const answer = await server.fetch(path, {
        method: "POST",
        token,
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
        body: initialize,
      });
      expect(await answer.json()).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
      return answer.headers.get("mcp-session-id") !== null;
    };
    expect(await open("/ns/made-up/mcp", everywhere)).toBe(false);
    expect(await open("/mcp", everywhere)).toBe(true);
    expect(await open("/ns/fresh/mcp", own)).toBe(true);
    await server.callTool("state_set", { key: "k", value: 1 }, { token: everywhere, path: "/ns/made-up/mcp" });
    expect(await open("/ns/made-up/mcp", everywhere)).toBe(true);
  });
});

test("a batch takes as much of the rate limit as it has messages", async () => {
  await using server = await startHttpServer({ flags: { auth: "token", "rate-limit": "1" } });
  const token = await server.token();
  const batch = Array.from({ length: 64 }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" }));
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-03-26" };
  const answers = (await (await server.fetch("/mcp", { method: "POST", token, headers, body: JSON.stringify(batch) })).json()) as { result?: object; error?: object }[];
  expect(answers).toHaveLength(64);
  expect(answers[0]).toMatchObject({ result: {} });
  expect(answers.filter(({ error }) => error !== undefined).length).toBeGreaterThan(0);
  expect(answers.find(({ error }) => error !== undefined)).toMatchObject({ error: { data: { code: "rate_limited" } } });
});
