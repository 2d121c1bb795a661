import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { catalog } from "../../../src/tools/catalog.ts";
import type { HttpServer } from "../../support/http-server.ts";
import { startHttpServer } from "../../support/http-server.ts";
import type { Era } from "../../support/mcp-connection.ts";
import { eras } from "../../support/mcp-connection.ts";
import { until } from "../../support/soon.ts";

let server: HttpServer;
beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server.stop());

/** The SDK's own client, over the whole server: front, credential and all. */
async function connect(era: Era, token: string, path = "/mcp"): Promise<{ readonly client: Client } & AsyncDisposable> {
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}${path}`), { requestInit: { headers: { authorization: `Bearer ${token}` } } });
  const client = new Client({ name: "http-test", version: "1" }, { versionNegotiation: { mode: era === "handshake" ? "legacy" : { pin: "2026-07-28" } } });
  await client.connect(transport);
  return {
    client,
    async [Symbol.asyncDispose]() {
      if (era === "handshake") await transport.terminateSession();
      await client.close();
    },
  };
}

describe.each(eras)("the SDK's own client over HTTP in the %s era", (era) => {
  test("meets the server and calls its tools under the principal's name", async () => {
    await using connection = await connect(era, await server.token({ name: `agent-${era}` }));
    const { client } = connection;
    expect(client.getServerVersion()).toMatchObject({ name: "holdfast" });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(
      catalog.filter(({ toolset, effect }) => toolset !== "admin" || effect !== "destructive").map(({ name }) => name),
    );
    await client.callTool({ name: "state_set", arguments: { key: era, value: { step: 1 } } });
    const { structuredContent } = await client.callTool({ name: "state_get", arguments: { key: era } });
    expect(structuredContent).toMatchObject({ found: true, value: { step: 1 }, updated_by: `agent-${era}` });
    const { contents } = await client.readResource({ uri: `holdfast://state/${era}` });
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ value: { step: 1 } });
    await expect(client.readResource({ uri: "holdfast://state/none" })).rejects.toMatchObject({ code: -32602 });
    expect((await client.listPrompts()).prompts.length).toBeGreaterThan(0);
  });

  test("is notified of others' changes to its subscriptions", async () => {
    await using listener = await connect(era, await server.token());
    await using writer = await connect(era, await server.token({ name: "writer" }));
    const told: string[] = [];
    listener.client.setNotificationHandler("notifications/resources/updated", ({ params }) => void told.push(params.uri));
    const uri = `holdfast://state/watched-${era}`;
    if (era === "stateless") await listener.client.listen({ resourceSubscriptions: [uri] });
    else await listener.client.subscribeResource({ uri });
    await writer.client.callTool({ name: "state_set", arguments: { key: `watched-${era}`, value: 1 } });
    await until(() => told.length > 0);
    expect(told).toEqual([uri]);
  });

  test("stops a long poll by cancelling it", async () => {
    await using connection = await connect(era, await server.token());
    const stop = new AbortController();
    const poll = connection.client.callTool({ name: "state_get", arguments: { key: `never-${era}`, wait_for_version_above: 0, wait_seconds: 50 } }, { signal: stop.signal });
    await until(() => server.serving.httpServer.usage.waits === 1);
    stop.abort();
    await expect(poll).rejects.toThrow();
    // Nothing is being answered any more, long before the call's own time is over; a stream does not count as that.
    await until(() => server.serving.httpServer.usage.inFlight === 0 && server.serving.httpServer.usage.waits === 0);
  });

  test("works in the namespace its path names, when it may, and otherwise not at all", async () => {
    const token = await server.token({ namespaces: ["team/a", "b"] });
    await using own = await connect(era, token, `/ns/${encodeURIComponent("team/a")}/mcp`);
    await own.client.callTool({ name: "state_set", arguments: { key: "k", value: era } });
    await using byDefault = await connect(era, token);
    expect((await byDefault.client.callTool({ name: "state_get", arguments: { key: "k" } })).structuredContent).toMatchObject({ value: era });
    await using other = await connect(era, token, "/ns/b/mcp");
    expect((await other.client.callTool({ name: "state_get", arguments: { key: "k" } })).structuredContent).toMatchObject({ found: false });
    await expect(connect(era, token, "/ns/default/mcp")).rejects.toThrow();
  });
});
