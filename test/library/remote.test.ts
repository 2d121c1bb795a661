import { runInNewContext } from "node:vm";
import { build } from "esbuild";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ConnectOptions, Holdfast, Json, StateChange } from "../../src/index.ts";
import { connectHoldfast, openHoldfast } from "../../src/index.ts";
import { libraryMethodNames, libraryMethods } from "../../src/surfaces/library/library-methods.ts";
import { FaultProxy } from "../support/fault-proxy.ts";
import type { HttpServer, HttpServerOptions } from "../support/http-server.ts";
import { startHttpServer } from "../support/http-server.ts";
import { soon, until } from "../support/soon.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { sampleLibraryArguments } from "../surfaces/http-auth/sample-arguments.ts";

async function serve(options: HttpServerOptions = {}): Promise<HttpServer> {
  const server = await startHttpServer({ ...options, flags: { "rate-limit": "1000000", store: "memory:", ...options.flags } });
  onTestFinished(() => server.stop());
  return server;
}

async function connect(url: string, options: ConnectOptions = {}): Promise<Holdfast> {
  const holdfast = await connectHoldfast(url, { agent: "a1", ...options });
  onTestFinished(() => holdfast.close());
  return holdfast;
}

async function behindProxy(options: ConnectOptions = {}) {
  const server = await serve();
  const proxy = await FaultProxy.open(server.port);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  return { server, proxy, direct: await connect(server.url), holdfast: await connect(`http://127.0.0.1:${proxy.port}`, options) };
}

describe("calls over a network that fails", () => {
  test("a write whose answer was lost is sent again and takes effect once", async () => {
    const { proxy, holdfast, direct } = await behindProxy();
    await proxy.set({ kind: "cut-answers", afterBytes: 20, times: 2 });
    expect(await holdfast.state.set("k", "once")).toMatchObject({ ok: true, version: 1 });
    expect(proxy.counters.cuts).toBe(2);
    expect((await direct.history({ name: "k" })).entries).toMatchObject([{ op: "set", value: "once", version: 1 }]);
    await proxy.set({ kind: "cut-answers", afterBytes: 20, times: 1 });
    const { runId } = await holdfast.workflows.create({ name: "w" });
    expect((await direct.workflows.find()).runs.map((run) => run.runId)).toEqual([runId]);
    await proxy.set({ kind: "cut-answers", afterBytes: 20, times: 1 });
    expect(await holdfast.state.get("k")).toMatchObject({ value: "once" });
  });

  test("the outcome is unknown only when the time is up, and a retry with the key from the error reveals it", async () => {
    const { proxy, holdfast, direct } = await behindProxy({ timeoutMs: 100, retryForMs: 250 });
    await proxy.set({ kind: "black-hole", only: "answers" });
    const error = await holdfast.state.set("k", 1).catch((thrown: unknown) => thrown as { readonly code: string; readonly details: { readonly requestKey: string } });
    expect(error).toMatchObject({ code: "outcome_unknown", details: { requestKey: expect.stringMatching(/^[0-9a-f]{32}$/) } });
    await soon(async () => expect(await direct.state.get("k")).toMatchObject({ version: 1 }));
    await expect(holdfast.state.get("k")).rejects.toMatchObject({ code: "unavailable" });
    await proxy.heal();
    const { requestKey } = (error as { readonly details: { readonly requestKey: string } }).details;
    expect(await holdfast.state.set("k", 1, { requestKey })).toMatchObject({ ok: true, version: 1 });
    expect((await direct.history({ name: "k" })).total).toBe(1);
  });

  test("a refusal of a later attempt says nothing of an earlier one", async () => {
    const server = await serve({ flags: { auth: "token" } });
    const token = await server.token();
    let sent = 0;
    const holdfast = await connect(server.url, {
      token,
      // The first attempt arrives and its answer is lost; the next ones are refused by somebody who knows of no request.
      fetch: async (url, init) => {
        if (!String(url).endsWith("/state.set")) return fetch(url, init);
        sent += 1;
        if (sent > 1) return fetch(url, { ...init, headers: { ...(init?.headers as Record<string, string>), authorization: "Bearer wrong" } });
        await (await fetch(url, init)).text();
        throw new TypeError("fetch failed");
      },
    });
    await expect(holdfast.state.set("k", 1)).rejects.toMatchObject({ code: "outcome_unknown", message: expect.stringContaining("unauthenticated") });
    expect(await holdfast.state.get("k")).toMatchObject({ version: 1 });
  });

  test.each([
    ["a proxy's page", () => new Response("default backend - 404", { status: 404 })],
    ["a redirect to a login page", () => new Response(null, { status: 302, headers: { location: "https://login.example/" } })],
    [
      "a server without this route",
      async (init?: RequestInit) => fetch(`${(await serve({ flags: { "read-only": true, store: await storeWithOneKey() } })).url}/api/ns/default/library/state.set`, init),
    ],
  ])("%s after a lost answer leaves the outcome unknown, with the key to ask again", async (_, answer) => {
    const server = await serve();
    let sent = 0;
    const holdfast = await connect(server.url, {
      fetch: async (url, init) => {
        if (!String(url).endsWith("/state.set")) return fetch(url, init);
        sent += 1;
        if (sent === 2) return answer(init);
        const whole = await fetch(url, init);
        if (sent > 2) return whole;
        await whole.text();
        throw new TypeError("fetch failed");
      },
    });
    const error = await holdfast.state.set("k", 1).catch((thrown: unknown) => thrown as { readonly details: { readonly requestKey: string } });
    expect(error).toMatchObject({ code: "outcome_unknown", details: { requestKey: expect.stringMatching(/^[0-9a-f]{32}$/) } });
    const { requestKey } = (error as { readonly details: { readonly requestKey: string } }).details;
    expect(await holdfast.state.set("k", 1, { requestKey })).toMatchObject({ ok: true, version: 1 });
  });

  test("a record that is not there is the domain's answer, also after a lost one", async () => {
    let sent = 0;
    const holdfast = await connect((await serve()).url, {
      fetch: async (url, init) => {
        if (!String(url).endsWith("/workflows.checkpoint")) return fetch(url, init);
        sent += 1;
        if (sent === 1) throw new TypeError("fetch failed");
        return fetch(url, init);
      },
    });
    await expect(holdfast.workflows.checkpoint("nothing", 1, null)).rejects.toMatchObject({ code: "not_found" });
  });

  test("an unreachable server has changed nothing", async () => {
    const { proxy, holdfast } = await behindProxy({ retryForMs: 150 });
    await proxy.set({ kind: "refuse" });
    await expect(holdfast.state.set("k", 1)).rejects.toMatchObject({ code: "unavailable", message: expect.stringMatching(/nothing was changed/) });
    await expect(connectHoldfast(`http://127.0.0.1:${proxy.port}`, { retryForMs: 0 })).rejects.toMatchObject({ code: "unavailable" });
  });

  test("a busy server gets a retry after the time that it names", async () => {
    const server = await serve();
    const waits: number[] = [];
    let refused = 0;
    const holdfast = await connect(server.url, {
      clock: { nowMs: () => 0, sleep: async (ms) => void waits.push(ms) },
      fetch: async (url, init) => {
        if (!String(url).endsWith("/state.set") || refused === 2) return fetch(url, init);
        refused += 1;
        return new Response(JSON.stringify({ error: { code: "unavailable", message: "busy" } }), { status: 503, headers: { "retry-after": "2" } });
      },
    });
    expect(await holdfast.state.set("k", 1)).toMatchObject({ version: 1 });
    expect(waits).toEqual([2_000, 2_000]);
  });

  test("a watch continues after the last commit that arrived: in order, none skipped, none twice", async () => {
    const { proxy, holdfast, direct } = await behindProxy();
    const seen: StateChange[] = [];
    const watching = (async () => {
      for await (const change of holdfast.state.watch({ prefix: "w/", after: 0 })) {
        seen.push(change);
        if (change.key === "w/end") return;
      }
    })();
    for (let i = 0; i < 12; i += 1) {
      // Two keys in one commit: a watch that is cut between them must not lose the second.
      await direct.state.commit({
        writes: [
          { op: "set", key: `w/${i}/a`, value: i },
          { op: "set", key: `w/${i}/b`, value: i },
        ],
      });
      if (i % 4 === 1) await proxy.set({ kind: "reset" });
      if (i % 4 === 3) {
        await proxy.heal();
        await until(() => seen.length === 2 * (i + 1));
      }
    }
    await direct.state.set("w/end", true);
    await watching;
    expect(seen.map(({ key }) => key)).toEqual([...Array.from({ length: 12 }, (_, i) => [`w/${i}/a`, `w/${i}/b`]).flat(), "w/end"]);
    expect(seen.map(({ revision }) => revision)).toEqual([...Array.from({ length: 12 }, (_, i) => [i + 1, i + 1]).flat(), 13]);
  });
});

describe("waits over HTTP", () => {
  test("are counted as waits, and one that the server ends early is begun again", async () => {
    const server = await serve({ limits: { waitsMax: 1 } });
    const holdfast = await connect(server.url);
    const first = holdfast.state.waitFor("first", { versionAbove: 0, timeoutMs: 60_000 });
    await soon(() => expect(server.serving.httpServer.usage.waits).toBe(1));
    const second = holdfast.state.waitFor("second", { versionAbove: 0, timeoutMs: 60_000 });
    await holdfast.state.set("first", 1);
    await holdfast.state.set("second", 2);
    expect([await first, await second]).toMatchObject([{ value: 1 }, { value: 2 }]);
    expect(server.serving.httpServer.usage.waits).toBe(0);
  });

  test("a key that is gone ends a wait that has seen it, also in an earlier part", async () => {
    const server = await serve();
    const holdfast = await connect(server.url);
    await holdfast.state.set("k", 1);
    const waiting = holdfast.state.waitFor("k", { versionAbove: 1, timeoutMs: 60_000 });
    await soon(() => expect(server.serving.httpServer.usage.waits).toBe(1));
    await holdfast.state.delete("k");
    expect(await waiting).toBeUndefined();
    expect(await holdfast.state.waitFor("k", { versionAbove: 1, timeoutMs: 60_000, wasThere: true })).toBeUndefined();
  });

  test("a lease is waited for in line, and a wait that the caller ends leaves no lease behind", async () => {
    const server = await serve();
    const holdfast = await connect(server.url);
    const held = await holdfast.leases.acquire("deploy", { ttlMs: 60_000 });
    const stop = new AbortController();
    const ended = holdfast.leases.acquire("deploy", { ttlMs: 60_000, waitMs: 60_000, agent: "a2", signal: stop.signal });
    await soon(() => expect(server.serving.httpServer.usage.waits).toBe(1));
    stop.abort();
    expect(await ended).toMatchObject({ ok: false });
    const waiting = holdfast.leases.acquire("deploy", { ttlMs: 60_000, waitMs: 60_000, agent: "a3" });
    await soon(() => expect(server.serving.httpServer.usage.waits).toBe(1));
    await holdfast.leases.release("deploy");
    const got = await waiting;
    expect(got).toMatchObject({ ok: true, holder: "a3" });
    expect(got.ok && held.ok && got.token > held.token).toBe(true);
  });
});

describe("what a server offers", () => {
  test("depends on the role of the credential, its namespaces and whether the server is read-only", async () => {
    const server = await serve({ flags: { auth: "token" } });
    await expect(connectHoldfast(server.url)).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(connectHoldfast(server.url, { token: "hf_wrong" })).rejects.toMatchObject({ code: "unauthenticated" });
    const token = await server.token({ role: "read", namespaces: ["team"] });
    await expect(connectHoldfast(server.url, { token, namespace: "other" })).rejects.toMatchObject({ code: "forbidden" });
    const reader = await connect(server.url, { token: async () => token });
    expect(reader.namespace).toBe("team");
    expect(await reader.state.get("k")).toBeUndefined();
    await expect(reader.state.set("k", 1)).rejects.toMatchObject({ code: "read_only" });
    const answer = await server.fetch("/api/ns/team/library/state.set", { method: "POST", token, headers: { "content-type": "application/json" }, body: '{"key":"k","value":1}' });
    expect(answer.status).toBe(403);
    const frozen = await serve({ flags: { "read-only": true, store: await storeWithOneKey() } });
    const onFrozen = await connect(frozen.url);
    expect(await onFrozen.state.get("k")).toMatchObject({ value: 1 });
    await expect(onFrozen.state.set("k", 2)).rejects.toMatchObject({ code: "read_only" });
  });

  test("a request key belongs to its writer: no writer gets another's answer", async () => {
    const server = await serve({ flags: { auth: "token" } });
    const [one, two] = [await connect(server.url, { token: await server.token({ name: "one" }) }), await connect(server.url, { token: await server.token({ name: "two" }) })];
    expect(await one.leases.acquire("deploy", { ttlMs: 60_000, requestKey: "r" })).toMatchObject({ ok: true });
    await expect(two.leases.acquire("deploy", { ttlMs: 60_000, requestKey: "r" })).rejects.toMatchObject({ code: "request_key_reused" });
  });

  test("the switch for secrets holds here too: in values, and in names in both modes", async () => {
    const secret = `ghp_${"a1B2".repeat(9)}`;
    const refusing = await connect((await serve({ flags: { secrets: "refuse" } })).url);
    await expect(refusing.state.set("k", { token: secret })).rejects.toMatchObject({ code: "invalid_input", details: { field: expect.stringMatching(/^value/) } });
    await expect(refusing.state.set("k", 1, { requestKey: secret })).rejects.toMatchObject({ code: "invalid_input" });
    const redacting = await connect((await serve({ flags: { secrets: "redact" } })).url);
    await redacting.state.set("k", { note: `use ${secret}` });
    expect(JSON.stringify((await redacting.state.get("k"))?.value)).not.toContain(secret);
    await expect(redacting.leases.acquire(secret, { ttlMs: 1_000 })).rejects.toMatchObject({ code: "invalid_input" });
    await expect(redacting.state.set("k", 1, { lease: { resource: secret, token: 1 } })).rejects.toMatchObject({ code: "invalid_input" });
  });

  test("every method answers its sample, and no argument of a wrong kind makes it fail inside", async () => {
    const server = await serve();
    const ask = (name: string, body: unknown) =>
      server.fetch(`/api/ns/default/library/${name}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    const odd: readonly Json[] = [null, -1.5, "\ud800", [{ toString: 1 }]];
    for (const name of libraryMethodNames.filter((each) => each !== "state.watch")) {
      const sample = { ...sampleLibraryArguments(name), ...(libraryMethods[name].needs === "read" ? {} : { requestKey: `r-${name}` }) };
      expect([name, [200, 404, 409].includes((await ask(name, sample)).status)]).toEqual([name, true]);
      for (const argument of Object.keys(sample))
        for (const value of odd) {
          const { status } = await ask(name, { ...sample, [argument]: value });
          expect([name, argument, value, status < 500]).toEqual([name, argument, value, true]);
        }
      expect((await ask(name, { ...sample, unknown: 1 })).status, name).toBe(400);
      expect((await ask(name, [])).status, name).toBe(400);
    }
    expect(server.logged.filter(({ level }) => level === "error")).toEqual([]);
  });
});

test("a list too long for any argument is one problem, and values may have such lists", async () => {
  const server = await serve();
  const ask = (name: string, body: unknown): Promise<Response> =>
    server.fetch(`/api/ns/default/library/${name}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const items = Array.from({ length: 1_001 }, () => 1);
  for (const [name, field] of [
    ["research.list", "also"],
    ["state.commit", "writes"],
  ] as const) {
    const answer = await ask(name, { [field]: items });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { code: "invalid_input", message: `${field}: must have at most 1000 items`, details: { field } } });
  }
  expect((await ask("state.set", { key: "k", value: items })).status).toBe(200);
});

test("a token that no header can carry is refused before anything is sent, and not repeated", async () => {
  let sent = 0;
  const counting: typeof fetch = async () => {
    sent += 1;
    return new Response("{}");
  };
  for (const token of ["hf_secret\nsecond line", "hf_secret\u00e9", "hf_secret\u{1f511}", "hf_secret\x7f"])
    for (const given of [token, async () => token]) {
      const error = await connectHoldfast("http://127.0.0.1:1", { token: given, fetch: counting, retryForMs: 0 }).catch((thrown: unknown) => thrown as Error);
      expect(error).toMatchObject({ code: "invalid_input", details: { field: "token" } });
      expect(`${(error as Error).stack}`).not.toContain("hf_secret");
    }
  expect(sent).toBe(0);
});

test("a value that is no JSON is refused before it is sent, in the embedded library's words", async () => {
  const holdfast = await connect((await serve()).url);
  for (const value of [Number.NaN, new Date(0), { a: undefined }, [() => 1], 1n, 2 ** 60]) {
    await expect(holdfast.state.set("k", value as Json)).rejects.toMatchObject({ code: "invalid_input", details: { field: "value" } });
    await expect(holdfast.sessions.save("s", { value: value as Json })).rejects.toMatchObject({ code: "invalid_input", details: { field: "context" } });
  }
  expect(await holdfast.state.get("k")).toBeUndefined();
});

test("wrong addresses and options are refused by name", async () => {
  for (const url of ["nowhere", "ftp://127.0.0.1", "http://user:secret@127.0.0.1:1"])
    await expect(connectHoldfast(url)).rejects.toMatchObject({ code: "invalid_input", message: expect.stringMatching(/^url: /) });
  await expect(connectHoldfast("http://127.0.0.1:1", { tokne: "x" } as object)).rejects.toMatchObject({ message: expect.stringMatching(/^tokne: unknown option/) });
  const server = await serve();
  await expect(connectHoldfast(`${server.url}/nothing/here`)).rejects.toMatchObject({ code: "invalid_input", message: expect.stringMatching(/^url: /) });
});

test("a closed client makes no calls and ends its watches", async () => {
  const holdfast = await connect((await serve()).url);
  const watching = (async () => {
    for await (const _ of holdfast.state.watch({ key: "quiet" })) throw new Error("Nothing changes.");
  })();
  await holdfast.close();
  await watching;
  await expect(holdfast.state.get("k")).rejects.toMatchObject({ code: "cancelled" });
});

test("the client needs nothing of Node: it works where there are only the names of the web", async () => {
  const { outputFiles } = await build({
    entryPoints: ["src/client.ts"],
    bundle: true,
    format: "iife",
    globalName: "client",
    platform: "neutral",
    write: false,
    logLevel: "silent",
  });
  const web = { fetch, URL, AbortController, AbortSignal, TextDecoder, TextEncoder, Response, crypto, performance, setTimeout, clearTimeout };
  const { url } = await serve();
  const run = `${outputFiles[0]?.text}; (async () => {
    const holdfast = await client.connectHoldfast(${JSON.stringify(url)}, { agent: "page" });
    const seen = [];
    const watching = (async () => { for await (const change of holdfast.state.watch({ prefix: "p/", after: 0 })) { seen.push(change.key); if (seen.length === 2) return; } })();
    await holdfast.state.set("p/1", { from: "a page" });
    await holdfast.state.set("p/2", 2);
    await watching;
    const { hash } = await holdfast.blobs.put(new Uint8Array([0, 127, 128, 255]));
    const content = [...(await holdfast.blobs.get(hash))];
    const refused = await holdfast.state.set("", 1).catch((error) => [client.isHoldfastError(error), error.code]);
    await holdfast.close();
    return JSON.stringify([seen, content, refused]);
  })()`;
  expect(await runInNewContext(run, web)).toBe('[["p/1","p/2"],[0,127,128,255],[true,"invalid_input"]]');
});

/** A store on disk that a read-only server can open. */
async function storeWithOneKey(): Promise<string> {
  const store = `sqlite:${await temporaryFolder()}/frozen.db`;
  const holdfast = await openHoldfast({ store });
  await holdfast.state.set("k", 1);
  await holdfast.close();
  return store;
}
