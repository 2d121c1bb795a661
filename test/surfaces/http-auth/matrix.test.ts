import type { IncomingMessage } from "node:http";
import { request as ask, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { everything } from "../../../src/store/ranges.ts";
import type { Engine } from "../../../src/store/store.ts";
import type { ApiRoute } from "../../../src/surfaces/dashboard/api-route.ts";
import { catalog } from "../../../src/tools/catalog.ts";
import type { Tool } from "../../../src/tools/tool.ts";
import type { HttpServer } from "../../support/http-server.ts";
import type { Caller } from "./matrix.ts";
import { namespaces } from "./matrix.ts";
import { checkMatrix, checkReadOnlyMatrix, openScene } from "./matrix-scene.ts";
import { sampledTools } from "./sample-arguments.ts";

describe("the authorisation matrix", () => {
  test("has arguments for every tool there is", () => {
    expect([...sampledTools].sort()).toEqual(catalog.map(({ name }) => name).sort());
  });

  // Behind a route, the callers at the edge of what is allowed; the campaign beside this file sends every caller to everything.
  test("lets through what each route and tool declares and nothing else, with zero leaks", async () => {
    expect((await checkMatrix()).requests).toBeGreaterThan(2_000);
  });

  test("on a read-only server no credential changes anything", async () => {
    expect((await checkReadOnlyMatrix()).requests).toBeGreaterThan(2_000);
  });
});

describe("the matrix sees a planted hole", () => {
  /** A gateway before the server that changes some requests on their way, as a mistake in the server would. */
  async function withHole(
    server: HttpServer,
    change: (request: IncomingMessage) => { readonly headers?: Readonly<Record<string, string>>; readonly path?: string } | undefined,
  ): Promise<number> {
    const gateway = createServer((request, response) => {
      const { headers = {}, path = request.url } = change(request) ?? {};
      const onward = ask({ host: "127.0.0.1", port: server.port, method: request.method, path, headers: { ...request.headers, ...headers } }, (answer) => {
        response.writeHead(answer.statusCode as number, answer.headers);
        answer.pipe(response);
      });
      onward.on("error", () => response.destroy());
      response.on("close", () => onward.destroy());
      request.pipe(onward);
    });
    await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      gateway.closeAllConnections();
      gateway.close();
    });
    return (gateway.address() as AddressInfo).port;
  }
  const adminOf = (callers: readonly Caller[]): Readonly<Record<string, string>> => callers.find(({ name }) => name === "admin token for everywhere")?.headers ?? {};

  test("a route that requires no credential", async () => {
    const { server, callers, matrix } = await openScene();
    const port = await withHole(server, ({ url, headers }) => (url === "/metrics" && headers.authorization === undefined ? { headers: adminOf(callers) } : undefined));
    const { leaks } = await matrix({ port, only: /^GET/ });
    expect(leaks).toContainEqual(expect.stringMatching(/^nobody: GET \/metrics: expected unauthenticated, got answered/));
    expect(leaks.every((leak) => leak.includes("/metrics"))).toBe(true);
  });

  test("one tool that a read token may call, on one path alone", async () => {
    const { server, callers, matrix } = await openScene();
    const reader = callers.find(({ name }) => name === "read token")?.headers?.authorization;
    const port = await withHole(server, ({ headers }) => (headers["mcp-name"] === "state_delete" && headers.authorization === reader ? { headers: adminOf(callers) } : undefined));
    // A hole for one credential alone is seen where every caller asks.
    const { leaks } = await matrix({ port, only: /(state_(set|delete)|tools\/list) /, everyCaller: true });
    expect(leaks).toContainEqual(expect.stringMatching(/^read token: mcp-stateless: state_delete in own: expected unknown tool, got answered/));
    expect(leaks).toContainEqual(expect.stringMatching(/^what was refused, or only read, has changed the namespace own/));
    expect(leaks.filter((leak) => leak.includes("mcp-handshake") || leak.includes("state_set"))).toEqual([]);
  });

  test("a namespace that is open to any token", async () => {
    const { server, callers, matrix } = await openScene();
    const port = await withHole(server, ({ url, headers }) =>
      url === `/api/ns/${namespaces.foreign}/keys` && headers.authorization?.startsWith("Bearer hf_") ? { headers: adminOf(callers) } : undefined,
    );
    const { leaks } = await matrix({ port, only: /\/(keys|leases) in/ });
    expect(leaks).toContainEqual(expect.stringMatching(/^read token: api: GET \/api\/ns\/:namespace\/keys in foreign: the answer shows what only the namespace foreign holds/));
    expect(leaks).toContainEqual(expect.stringMatching(/keys in foreign: an unknown namespace answers otherwise/));
  });

  test("a path that serves another namespace than the one in its path", async () => {
    const { server, matrix } = await openScene();
    const port = await withHole(server, ({ url }) => (url === `/api/ns/${namespaces.own}/overview` ? { path: `/api/ns/${namespaces.foreign}/overview` } : undefined));
    const { leaks } = await matrix({ port, only: /overview in/ });
    expect(leaks).toContainEqual(expect.stringMatching(/^admin token for everywhere: .*overview in own: the answer shows what only the namespace foreign holds/));
  });

  test("a route of the server's own that reads where it likes, whatever it declares", async () => {
    let whole: Engine | undefined;
    const peek: ApiRoute = {
      method: "GET",
      path: "/api/ns/:namespace/peek",
      needs: "read",
      handle: async () => ({ json: (await whole?.read(namespaces.foreign, [everything], {}))?.entries ?? [] }),
    };
    const { matrix, engine } = await openScene({ apiRoutes: [peek] });
    whole = engine;
    const { leaks } = await matrix({ apiRoutes: [peek], only: /peek/ });
    expect(leaks).toContainEqual(expect.stringMatching(/^read token: api: GET .*peek in own: the answer shows what only the namespace foreign holds/));
  });

  test("a tool that declares another effect than the server goes by", async () => {
    const { matrix } = await openScene();
    const lying = catalog.map((tool): Tool => (tool.name === "state_set" ? { ...tool, effect: "read" } : tool));
    const { leaks } = await matrix({ tools: lying, only: /state_(set|get) / });
    expect(leaks).toContainEqual(expect.stringMatching(/^read token: mcp-stateless: state_set in own: expected answered, got unknown tool/));
    expect(leaks).toContainEqual(expect.stringMatching(/has changed the namespace own/));
    expect(leaks.some((leak) => leak.includes("state_get"))).toBe(false);
  });
});
