import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Serving, ServingOptions } from "../../src/compose-serving.ts";
import { openServing } from "../../src/compose-serving.ts";
import { readConfig } from "../../src/config.ts";
import type { NewToken } from "../../src/domain/identity/tokens.ts";
import { createToken } from "../../src/domain/identity/tokens.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import type { Log } from "../../src/kernel/log.ts";
import { mcpHeaders, toolCall } from "./http-messages.ts";

export { mcpHeaders, toolCall } from "./http-messages.ts";

export interface HttpServerOptions extends Partial<Omit<ServingOptions, "log">> {
  /** Flags without dashes, as on the command line. `port` is 0 and `store` a new SQLite file unless given. */
  readonly flags?: Readonly<Record<string, string | boolean>>;
}

/** A whole server in this process, on a free port, with a store of its own. */
export interface HttpServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly serving: Serving;
  /** What was logged, oldest first. */
  readonly logged: readonly { readonly level: string; readonly event: string; readonly facts: Readonly<Record<string, unknown>> }[];
  /** A new token's secret. Default: write, for the namespace "default". */
  token(token?: Partial<NewToken>): Promise<string>;
  /** fetch against this server; `token` becomes the header. */
  fetch(path: string, init?: RequestInit & { readonly token?: string }): Promise<Response>;
  /** One tool call in the stateless era; gives the JSON-RPC answer. */
  callTool(name: string, args?: Readonly<Record<string, unknown>>, options?: { readonly token?: string; readonly path?: string }): Promise<Record<string, unknown>>;
  stop(): Promise<void>;
}

const builtPage = fileURLToPath(new URL("../../dist/dashboard", import.meta.url));

export async function startHttpServer({ flags = {}, dashboardFolder = builtPage, ...options }: HttpServerOptions = {}): Promise<HttpServer> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-http-"));
  const logged: { level: string; event: string; facts: Readonly<Record<string, unknown>> }[] = [];
  const log: Log = (level, event, facts = {}) => void logged.push({ level, event, facts });
  const config = readConfig({ port: "0", profile: "all", "log-level": "info", store: `sqlite:${join(folder, "store.db")}`, ...flags }, {});
  let serving: Serving;
  try {
    serving = await openServing(config, { dashboardFolder, ...options, log });
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  const { port } = serving.address;
  // Where it listens, also when it is published under another name.
  const url = `http://${serving.address.family === "IPv6" ? `[${serving.address.address}]` : serving.address.address}:${port}`;
  const end = async (): Promise<void> => {
    try {
      await serving[Symbol.asyncDispose]();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= end();
    return stopped;
  };
  const ask: HttpServer["fetch"] = (path, { token, headers, ...init } = {}) =>
    fetch(`${url}${path}`, { ...init, headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...(headers as Record<string, string> | undefined) } });
  return {
    url,
    port,
    serving,
    logged,
    token: async (token = {}) =>
      (await createToken({ store: serving.system, clock: systemClock, writer: "tester" }, { name: "agent", role: "write", namespaces: ["default"], ...token })).secret,
    fetch: ask,
    async callTool(name, args = {}, { token, path = "/mcp" } = {}) {
      const answer = await ask(path, { method: "POST", token, headers: mcpHeaders("tools/call", name), body: JSON.stringify(toolCall(name, args)) });
      return (await answer.json()) as Record<string, unknown>;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
