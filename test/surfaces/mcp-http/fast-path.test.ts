import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { manualClock } from "../../support/manual-clock.ts";
import type { Era } from "../../support/mcp-connection.ts";
import { envelope, eras } from "../../support/mcp-connection.ts";
import type { Asked, Endpoint } from "../../support/mcp-endpoint.ts";
import { handshake, headersFor, openEndpoint, openSession, requestOf } from "../../support/mcp-endpoint.ts";
import { brokenEnvelopes, oddRequest } from "../../support/odd-requests.ts";

/** One exchange after the other; the two endpoints must answer with the same status, type and bytes. */
type Exchange = (era: Era, session: Record<string, string>) => Asked;

const posted =
  (message: (era: Era) => object, more: Record<string, string | undefined> = {}): Exchange =>
  (era, session) => {
    const body = message(era);
    const headers = { ...headersFor(era, body), ...(era === "handshake" ? session : {}), ...more };
    return { headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)), body: JSON.stringify(body) };
  };
const asking = (method: string, params: Record<string, unknown> = {}, id: string | number = 1): Exchange => posted((era) => requestOf(era, id, method, params));
const calling = (name: string, args?: unknown, meta?: Record<string, unknown>): Exchange =>
  asking("tools/call", { name, ...(args === undefined ? {} : { arguments: args }), ...(meta === undefined ? {} : { _meta: meta }) });

const conversations: Record<string, readonly Exchange[]> = {
  "greetings of every revision": ["2025-11-25", "2025-06-18", "2024-11-05", "1999-01-01"].map((version) => posted(() => handshake(version))),
  "a greeting with nothing in it": [posted(() => ({ jsonrpc: "2.0", id: 1, method: "initialize" })), posted(() => ({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} }))],
  discovery: [asking("server/discover"), asking("server/discover", { extra: 1 })],
  "the list of tools": [asking("tools/list"), asking("tools/list", { cursor: "x" })],
  "a ping": [asking("ping")],
  "a write and a read": [calling("state_set", { key: "a/b", value: { text: "line\nbreak \u2028 \ud800 é", list: [1, null, 0.1] } }), calling("state_get", { key: "a/b" })],
  "wrong arguments": [
    calling("state_set", { key: "", value: 1 }),
    calling("state_set", { keey: "a" }),
    calling("state_get", []),
    calling("state_get", "text"),
    asking("tools/call", { arguments: {} }),
    asking("tools/call", { name: 7 }),
  ],
  "an unknown tool": [calling("state_sett", {}), calling("ünknown", {})],
  "request keys": [
    calling("state_set", { key: "k", value: 1 }, { "holdfast/request-key": "once" }),
    calling("state_set", { key: "k", value: 1 }, { "holdfast/request-key": "once" }),
    calling("state_set", { key: "k", value: 2 }, { "holdfast/request-key": "once" }),
    calling("state_set", { key: "k", value: 3 }, { "holdfast/request-key": 3 }),
  ],
  "ids of both kinds": ["text", 0, -5, "x".repeat(10_000)].map((id) => asking("tools/call", { name: "state_get", arguments: { key: "k" } }, id)),
  "resources, prompts, completions": [
    calling("state_set", { key: "a/b", value: 1 }),
    asking("resources/list"),
    asking("resources/templates/list"),
    asking("resources/read", { uri: "holdfast://state/a%2Fb" }),
    asking("resources/read", { uri: "holdfast://state/a/b" }),
    asking("resources/read", { uri: "holdfast://guide/limits" }),
    asking("resources/read", { uri: "holdfast://state/none" }),
    asking("resources/read", { uri: "other://x" }),
    asking("resources/read", { uri: "holdfast://state/a%2Fb", extra: 1 }),
    asking("resources/read", { uri: 5 }),
    asking("prompts/list"),
    asking("prompts/get", { name: "resume" }),
    asking("completion/complete", { ref: { type: "ref/resource", uri: "holdfast://state/{key}" }, argument: { name: "key", value: "a" } }),
    asking("resources/subscribe", { uri: "holdfast://state/a%2Fb" }),
    asking("resources/unsubscribe", { uri: "holdfast://state/a%2Fb" }),
  ],
  "methods nobody knows": [asking("tools/dance"), asking("constructor")],
  notifications: [
    posted(() => ({ jsonrpc: "2.0", method: "notifications/initialized" })),
    posted(() => ({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } })),
    posted(() => ({ jsonrpc: "2.0", method: "notifications/dance", params: {} })),
    posted(() => ({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1, _meta: envelope } }), { "mcp-method": "other" }),
  ],
  "an answer to nothing": [posted(() => ({ jsonrpc: "2.0", id: 9, result: {} }))],
  "headers that say something else": [
    posted((era) => requestOf(era, 1, "tools/list"), { "mcp-protocol-version": "2026-07-28" }),
    posted((era) => requestOf(era, 1, "tools/list"), { "mcp-protocol-version": "2025-06-18" }),
    posted((era) => requestOf(era, 1, "tools/list"), { "mcp-protocol-version": "1999-01-01" }),
    posted((era) => requestOf(era, 1, "tools/list"), { "mcp-protocol-version": undefined }),
    posted((era) => requestOf(era, 1, "tools/list"), { "mcp-method": "tools/call" }),
    posted((era) => requestOf(era, 1, "tools/list"), { "mcp-method": undefined }),
    posted((era) => requestOf(era, 1, "tools/call", { name: "state_get", arguments: { key: "k" } }), { "mcp-name": "state_set" }),
    posted((era) => requestOf(era, 1, "tools/call", { name: "state_get", arguments: { key: "k" } }), { "mcp-name": undefined }),
    posted((era) => requestOf(era, 1, "tools/call", { name: "state_get", arguments: { key: "k" } }), { "mcp-name": "=?base64?c3RhdGVfZ2V0?=" }),
    posted((era) => requestOf(era, 1, "tools/call", { name: "state_get", arguments: { key: "k" } }), { "mcp-name": "=?base64?!?=" }),
    posted((era) => requestOf(era, 1, "resources/read", { uri: "holdfast://guide/limits" }), { "mcp-name": "holdfast://guide/recovery" }),
    posted(() => handshake(), { "mcp-protocol-version": "2026-07-28" }),
    posted(() => handshake(), { "mcp-protocol-version": "2025-11-25" }),
  ],
  "clients that take events only": [
    posted((era) => requestOf(era, 1, "tools/list"), { accept: "text/event-stream" }),
    posted((era) => requestOf(era, 1, "tools/call", { name: "state_get", arguments: { key: "k" } }), { accept: "text/event-stream" }),
    posted((era) => requestOf(era, 1, "prompts/list"), { accept: "text/event-stream" }),
    posted(() => handshake(), { accept: "text/event-stream" }),
  ],
  "clients that take JSON only, or anything": ["application/json", "*/*", "application/*;q=0.9", undefined].map((accept) =>
    posted((era) => requestOf(era, 1, "tools/call", { name: "state_get", arguments: { key: "k" } }), { accept }),
  ),
  "broken envelopes": brokenEnvelopes.map((_meta) =>
    posted(() => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "state_get", arguments: { key: "k" }, _meta } })),
  ),
};

/** What differs by nature: the session's secret, and how Node frames a body. */
const comparable = ({ status, headers, text }: Awaited<ReturnType<Endpoint["send"]>>) => ({
  status,
  type: headers["content-type"],
  cache: headers["cache-control"]?.replace("no-cache", "no-store"),
  session: headers["mcp-session-id"] === undefined ? "none" : "some",
  text,
});

describe("the fast path and the SDK", () => {
  let paths: Endpoint[];
  beforeAll(async () => {
    paths = await Promise.all([true, false].map((fastPath) => openEndpoint({ fastPath, clock: manualClock() })));
  });
  afterAll(() => Promise.all(paths.map((path) => path[Symbol.asyncDispose]())));

  const both = async <Answer>(ask: (endpoint: Endpoint) => Promise<Answer>): Promise<[direct: Answer, sdk: Answer]> => {
    const [direct, sdk] = await Promise.all(paths.map(ask));
    return [direct as Answer, sdk as Answer];
  };

  describe.each(eras)("in the %s era", (era) => {
    test.each(Object.entries(conversations))("answer %s with the same bytes", async (_, exchanges) => {
      const [direct, sdk] = await both(async (endpoint) => {
        const session = await openSession(endpoint);
        const answers = [];
        for (const exchange of exchanges) answers.push(comparable(await endpoint.send(exchange(era, session))));
        return answers;
      });
      expect(direct).toHaveLength(exchanges.length);
      expect(direct).toEqual(sdk);
    });
  });

  test("answer alike whatever is asked", async () => {
    await fc.assert(
      fc.asyncProperty(oddRequest, fc.constantFrom(...eras), fc.boolean(), async ({ method, params }, era, claims) => {
        const message = { jsonrpc: "2.0", id: 1, method, params: claims && params._meta === undefined ? { ...params, _meta: envelope } : params };
        const [direct, sdk] = await both((endpoint) => endpoint.post(era, message));
        expect(comparable(direct)).toEqual(comparable(sdk));
      }),
      { numRuns: 300 },
    );
  });

  test("answer batches of the one revision that has them alike", async () => {
    const batch = [
      requestOf("handshake", 1, "tools/call", { name: "state_set", arguments: { key: "batch", value: 1 } }),
      { jsonrpc: "2.0", method: "notifications/initialized" },
      requestOf("handshake", 2, "prompts/list"),
      requestOf("handshake", 3, "tools/dance"),
      { jsonrpc: "2.0", id: {}, method: "ping" },
      handshake(),
    ];
    const [direct, sdk] = await both(async (endpoint) => {
      const headers = { ...headersFor("handshake", {}), "mcp-protocol-version": "2025-03-26" };
      return [
        comparable(await endpoint.send({ headers, body: JSON.stringify(batch) })),
        comparable(await endpoint.send({ headers: { ...headers, accept: "text/event-stream" }, body: JSON.stringify(batch) })),
      ];
    });
    expect(direct).toEqual(sdk);
    expect((JSON.parse(direct[0]?.text as string) as { id: unknown }[]).map(({ id }) => id)).toEqual([1, 2, 3, null, 0]);
  });
});
