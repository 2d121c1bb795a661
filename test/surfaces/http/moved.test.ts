import { join } from "node:path";
import { expect, test } from "vitest";
import { openEngine } from "../../../src/engines/open-store.ts";
import { openApiRoutes } from "../../../src/surfaces/dashboard/routes.ts";
import { mcpHeaders, startHttpServer, toolCall } from "../../support/http-server.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const { _meta } = toolCall("x").params;
const routes = openApiRoutes({ log: () => {}, readOnly: false, operator: "someone", system: undefined as never, namespaces: async () => [] });
/** A view that shows one thing needs to be told which. */
const named: Readonly<Record<string, string>> = { key: "?key=a", note: "?id=a", run: "?id=a", checkpoint: "?id=a", search: "?q=a", events: "?after=0" };

test("no answer over HTTP names the store that a namespace was moved to", async () => {
  const store = `sqlite:${join(await temporaryFolder(), "store.db")}`;
  await using server = await startHttpServer({ flags: { store } });
  await server.callTool("state_set", { key: "a", value: 1 });
  await using engine = await openEngine(store);
  await engine.seal("default", { state: "moved", to: "sqlite:/srv/private/next.db" });

  const rpc = async (method: string, params: Readonly<Record<string, unknown>>, name?: string): Promise<string> =>
    (
      await server.fetch("/mcp", { method: "POST", headers: mcpHeaders(method, name), body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }) })
    ).text();
  const paths = routes.filter(({ method }) => method === "GET").map(({ path }) => path.replace(":namespace", "default") + (named[path.split("/").at(-1) as string] ?? ""));
  const answers = new Map<string, string>();
  for (const path of ["/health", ...paths]) answers.set(path, await (await server.fetch(path)).text());
  const uri = "holdfast://state/a";
  answers.set("state_get", await rpc("tools/call", { name: "state_get", arguments: { key: "a" } }, "state_get"));
  answers.set("sidecar_health", await rpc("tools/call", { name: "sidecar_health", arguments: {} }, "sidecar_health"));
  answers.set("resources/read", await rpc("resources/read", { uri }, uri));
  answers.set("resources/list", await rpc("resources/list", {}));
  answers.set("completion/complete", await rpc("completion/complete", { ref: { type: "ref/resource", uri: "holdfast://state/{key}" }, argument: { name: "key", value: "a" } }));

  expect([...answers].filter(([, text]) => text.includes("private")).map(([what]) => what)).toEqual([]);
  for (const what of ["/health", "/api/ns/default/keys", "state_get", "resources/read"]) expect(answers.get(what)).toContain("was moved to another store");
});
