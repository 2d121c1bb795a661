import { describe, expect, onTestFinished, test } from "vitest";
import { Gate } from "../../../src/surfaces/http/gate.ts";
import { HeldSlots } from "../../../src/surfaces/http/held-slots.ts";
import type { HttpLimits } from "../../../src/surfaces/http/http-limits.ts";
import { httpLimits } from "../../../src/surfaces/http/http-limits.ts";
import { startHttpServer } from "../../support/http-server.ts";
import { soon } from "../../support/soon.ts";

describe("places that last", () => {
  const open = (all: number, ofPrincipal = all, ofNamespace = all) => {
    const places = new HeldSlots({ all, ofPrincipal, ofNamespace });
    const ended: string[] = [];
    const principals = new Map<string, object>();
    const add = (name: string, principal: string, namespace = "one") => {
      const known = principals.get(principal) ?? {};
      principals.set(principal, known);
      const place = { principal: known, namespace, end: () => void ended.push(name) };
      places.add(place);
      return place;
    };
    return { places, ended, add };
  };

  test("when all are taken, the largest holder's oldest is given away", () => {
    const { places, ended, add } = open(4);
    add("b1", "b");
    add("a1", "a");
    add("a2", "a");
    add("a3", "a");
    add("c1", "c");
    expect([ended, places.size]).toEqual([["a1"], 4]);
  });

  test("many principals of one namespace count together against those of another", () => {
    const { ended, add } = open(6);
    for (const name of ["v1", "v2"]) add(name, "victim", "theirs");
    for (let i = 0; i < 4; i += 1) add(`h${i}`, `made ${i}`, "hostile");
    for (let i = 4; i < 8; i += 1) add(`h${i}`, `made ${i}`, "hostile");
    expect(ended).toEqual(["h0", "h1", "h2", "h3"]);
  });

  test("a principal and a namespace have limits of their own", () => {
    const { ended, add } = open(100, 2, 3);
    for (const name of ["a1", "a2", "a3"]) add(name, "a");
    expect(ended).toEqual(["a1"]);
    add("b1", "b");
    add("c1", "c");
    expect(ended).toEqual(["a1", "a2"]);
  });

  test("one that has ended counts no more", () => {
    const { places, ended, add } = open(2);
    const first = add("a1", "a");
    add("a2", "a");
    expect([places.delete(first), places.delete(first)]).toEqual([true, false]);
    add("a3", "a");
    expect(ended).toEqual([]);
  });
});

test("a gate takes a token for every message, and counts waits beside calls", () => {
  const gate = new Gate({ ...httpLimits, inFlightMax: 1, inFlightPerPrincipalMax: 1 }, 3, () => 0);
  gate.enter();
  const usage = gate.enterPrincipal("a");
  gate.charge(usage);
  const wait = gate.openWait(usage, "default", () => {});
  expect([gate.inFlight, gate.waits]).toEqual([0, 1]);
  gate.enter();
  gate.leavePrincipal(gate.enterPrincipal("a"));
  gate.leave();
  expect(() => gate.charge(usage)).toThrow(expect.objectContaining({ code: "rate_limited", status: 429 }));
  gate.closeWait(usage, wait);
  expect([gate.inFlight, gate.waits]).toEqual([1, 0]);
  expect(() => gate.enter()).toThrow(expect.objectContaining({ status: 503 }));
  expect(() => gate.enter(true)).not.toThrow();
});

describe("calls that wait", () => {
  const open = async (limits: Partial<HttpLimits>) => {
    const server = await startHttpServer({ limits, flags: { auth: "token" } });
    onTestFinished(() => server.stop());
    const wait = (token: string, key: string) => server.callTool("state_get", { key, wait_for_version_above: 0, wait_seconds: 55 }, { token });
    return { server, wait, waiting: (count: number) => soon(() => expect(server.serving.httpServer.usage.waits).toBe(count)) };
  };

  test("leave room for those that work, and for who looks after the server", async () => {
    const { server, wait, waiting } = await open({ inFlightMax: 4, inFlightPerPrincipalMax: 2 });
    const hostile = [await server.token({ name: "one" }), await server.token({ name: "two" })];
    for (let i = 0; i < 8; i += 1) {
      void wait(hostile[i % 2] as string, "never").catch(() => undefined);
      await waiting(i + 1);
    }
    const token = await server.token({ name: "quiet", namespaces: ["quiet"] });
    expect(await server.callTool("state_get", { key: "k" }, { token })).toMatchObject({ result: { structuredContent: { found: false } } });
    expect((await server.fetch("/health", { token })).status).toBe(200);
    expect(server.serving.httpServer.usage.inFlight).toBe(0);
  });

  test("of the library keep no body while they wait", async () => {
    const { server, waiting } = await open({});
    const token = await server.token();
    const post = (method: string, body: string): Promise<Response> =>
      server.fetch(`/api/ns/default/library/${method}`, { method: "POST", token, headers: { "content-type": "application/json" }, body });
    const padding = " ".repeat(100_000);
    const value = post("state.waitFor", `{"key":"k","versionAbove":0,"timeoutMs":50000${padding}}`);
    await waiting(1);
    expect(server.serving.httpServer.usage.bodyBytes).toBe(0);
    await post("leases.acquire", '{"resource":"r","ttlMs":60000,"agent":"a1"}');
    const lease = post("leases.acquire", `{"resource":"r","ttlMs":60000,"waitMs":50000,"agent":"a2"${padding}}`);
    await waiting(2);
    expect(server.serving.httpServer.usage.bodyBytes).toBe(0);
    await post("state.set", '{"key":"k","value":1}');
    await post("leases.release", '{"resource":"r","agent":"a1"}');
    expect([await (await value).json(), await (await lease).json()]).toMatchObject([{ result: { entry: { value: 1 } } }, { result: { ok: true, holder: "a2" } }]);
    expect(server.serving.httpServer.usage.bodyBytes).toBe(0);
  });

  test("over their number, the oldest of the largest holder is answered with what there is, and the new one waits", async () => {
    const { server, wait, waiting } = await open({ waitsMax: 3 });
    const hostile = await server.token({ name: "hostile" });
    const quiet = await server.token({ name: "quiet", namespaces: ["quiet"] });
    const first = wait(hostile, "first");
    await waiting(1);
    for (const key of ["second", "third"]) void wait(hostile, key).catch(() => undefined);
    await waiting(3);
    const woken = wait(quiet, "mine");
    expect(await first).toMatchObject({ result: { structuredContent: { key: "first", found: false } } });
    await waiting(3);
    await server.callTool("state_set", { key: "mine", value: 1 }, { token: quiet });
    expect(await woken).toMatchObject({ result: { structuredContent: { key: "mine", value: 1 } } });
    await waiting(2);
  });
});
