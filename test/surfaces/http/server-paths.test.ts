import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openApiRoutes } from "../../../src/surfaces/dashboard/routes.ts";
import { startHttpServer } from "../../support/http-server.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { sampleArguments, sampledTools } from "../http-auth/sample-arguments.ts";

const routes = openApiRoutes({ log: () => {}, readOnly: false, operator: "someone", system: undefined as never, namespaces: async () => [] });
const named: Readonly<Record<string, string>> = { key: "?key=a", note: "?name=a", run: "?id=a", checkpoint: "?id=a", search: "?q=a", events: "?after=0" };
const views = routes.filter(({ method }) => method === "GET").map(({ path }) => path.replace(":namespace", "default") + (named[path.split("/").at(-1) as string] ?? ""));

test.each(["default", "*"])(
  "no answer to an administrator of %s says where the server keeps its files, neither of any tool or view nor when the store is gone",
  async (namespace) => {
    const folder = await temporaryFolder();
    const store = join(folder, "store.db");
    await using server = await startHttpServer({
      flags: { store: `sqlite:${store}`, auth: "token", "checkpoint-dir": join(folder, "checkpoints"), "knowledge-dir": join(folder, "knowledge") },
    });
    const token = await server.token({ role: "admin", namespaces: namespace === "*" ? "*" : [namespace] });
    const told: string[] = [];
    let answered = 0;
    const look = (what: string, text: string): void => {
      answered += 1;
      if (text.includes(folder)) told.push(`${what}: ${text}`);
    };
    const askEverything = async (): Promise<void> => {
      for (const tool of sampledTools) look(tool, JSON.stringify(await server.callTool(tool, sampleArguments(tool, "default"), { token })));
      for (const path of ["/health", ...views.filter((view) => !view.includes("/events"))]) look(path, await (await server.fetch(path, { token })).text());
    };
    await askEverything();
    // What is not a database any more is refused, and a file that cannot be written too.
    for (const file of [store, `${store}-wal`, join(folder, "knowledge"), join(folder, "checkpoints")]) await rm(file, { recursive: true, force: true });
    await writeFile(store, "no database");
    await writeFile(join(folder, "knowledge"), "no folder");
    await askEverything();
    expect(told).toEqual([]);
    expect(answered).toBeGreaterThan(80);
  },
);
