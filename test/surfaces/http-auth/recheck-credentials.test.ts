import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { listTokens, revokeToken } from "../../../src/domain/identity/tokens.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import type { HttpServer } from "../../support/http-server.ts";
import { mcpHeaders, startHttpServer, toolCall } from "../../support/http-server.ts";

/** How long a request stayed open, or that it still is. */
async function endOf(answer: Promise<Response>): Promise<"ended"> {
  try {
    for await (const _ of (await answer).body ?? []);
  } catch {
    // Cut off in the middle.
  }
  return "ended";
}

/** Everything that stays open for long: a stream of each kind, and a call that waits. */
function openAll(server: HttpServer, token: string, session: string): Readonly<Record<string, Promise<"ended">>> {
  const listen = {
    jsonrpc: "2.0",
    id: 1,
    method: "subscriptions/listen",
    params: { notifications: { resourceSubscriptions: ["holdfast://state/k"] }, _meta: toolCall("x").params._meta },
  };
  const wait = toolCall("state_get", { key: "k", wait_for_version_above: 1, wait_seconds: 55 });
  return {
    events: endOf(server.fetch("/api/ns/default/events", { token })),
    listen: endOf(server.fetch("/mcp", { method: "POST", token, headers: mcpHeaders("subscriptions/listen"), body: JSON.stringify(listen) })),
    "session stream": endOf(server.fetch("/mcp", { token, headers: { accept: "text/event-stream", "mcp-protocol-version": "2025-11-25", "mcp-session-id": session } })),
    wait: endOf(server.fetch("/mcp", { method: "POST", token, headers: mcpHeaders("tools/call", "state_get"), body: JSON.stringify(wait) })),
  };
}

async function shakeHands(server: HttpServer, token: string): Promise<string> {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const answer = await server.fetch("/mcp", { method: "POST", token, headers, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }) });
  await answer.text();
  return answer.headers.get("mcp-session-id") as string;
}

test("open streams of a revoked or expired token are closed within seconds; those of others continue", async () => {
  const server = await startHttpServer({ flags: { auth: "token" } });
  onTestFinished(() => server.stop());
  const [revoked, expiring, lasting] = [await server.token({ name: "revoked" }), await server.token({ name: "expiring", ttlMs: 5_000 }), await server.token({ name: "lasting" })];
  await server.callTool("state_set", { key: "k", value: 1 }, { token: lasting });
  const opened = await Promise.all([revoked, expiring, lasting].map(async (token) => openAll(server, token, await shakeHands(server, token))));
  const [ofRevoked, ofExpiring, ofLasting] = opened as [Record<string, Promise<"ended">>, Record<string, Promise<"ended">>, Record<string, Promise<"ended">>];
  // Three streams and one call of each; the token that expires has time enough for that on a busy machine too.
  await expect.poll(() => server.serving.httpServer.usage).toMatchObject({ streams: 9, waits: 3, inFlight: 0 });
  const open = async (all: Record<string, Promise<"ended">>): Promise<string[]> => {
    const states = await Promise.all(Object.entries(all).map(async ([name, end]) => [name, await Promise.race([end, turn("open")])] as const));
    return states.filter(([, state]) => state === "open").map(([name]) => name);
  };
  const everything = ["events", "listen", "session stream", "wait"];
  expect([await open(ofRevoked), await open(ofExpiring), await open(ofLasting)]).toEqual([everything, everything, everything]);
  const scope = { store: server.serving.system, clock: systemClock, writer: "tester" };
  await revokeToken(scope, (await listTokens(scope)).find(({ name }) => name === "revoked")?.id as string);
  await expect.poll(async () => [...(await open(ofRevoked)), ...(await open(ofExpiring))], { interval: 100 }).toEqual([]);
  expect(await open(ofLasting)).toEqual(everything);
  expect(server.logged.filter(({ event }) => event === "credential_ended").map(({ facts }) => facts.principal)).toEqual(expect.arrayContaining(["revoked", "expiring"]));
  expect(server.logged.some(({ event, facts }) => event === "credential_ended" && facts.principal === "lasting")).toBe(false);
});
