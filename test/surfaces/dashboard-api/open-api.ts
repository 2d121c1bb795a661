import { onTestFinished } from "vitest";
import type { Principal } from "../../../src/domain/identity/principal.ts";
import { systemNamespace } from "../../../src/domain/keyspace.ts";
import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import type { Clock } from "../../../src/kernel/clock.ts";
import { isHoldfastError } from "../../../src/kernel/errors.ts";
import type { Log } from "../../../src/kernel/log.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import { engineFacts } from "../../../src/store/engine-facts.ts";
import { openNamespaceStore, openReservedStore } from "../../../src/store/namespace-store.ts";
import type { Engine } from "../../../src/store/store.ts";
import type { ApiRequest, ApiRoute, ServerSentEvent } from "../../../src/surfaces/dashboard/api-route.ts";
import { openApiRoutes } from "../../../src/surfaces/dashboard/routes.ts";
import { openAnswerGates } from "../../../src/surfaces/mcp/http/open-answer-gates.ts";
import { catalog } from "../../../src/tools/catalog.ts";
import type { ToolBase } from "../../../src/tools/run-tool.ts";
import { runTool } from "../../../src/tools/run-tool.ts";
import { manualClock } from "../../support/manual-clock.ts";

export const person: Principal = { name: "someone", role: "admin", namespaces: "*", kind: "operator" };

export interface Api {
  readonly base: ToolBase;
  readonly routes: readonly ApiRoute[];
  readonly logged: { readonly level: string; readonly event: string; readonly facts: Readonly<Record<string, unknown>> }[];
  /** The answer of a route as the page would get it: after a trip through JSON. */
  get<Answer>(path: string, query?: Record<string, string | readonly string[]>, as?: Principal): Promise<Answer>;
  post<Answer>(path: string, body: unknown, as?: Principal): Promise<Answer>;
  delete<Answer>(path: string, as?: Principal): Promise<Answer>;
  events(query: Record<string, string>, signal: AbortSignal, lastEventId?: string): Promise<AsyncIterable<ServerSentEvent>>;
  /** An agent at work: a call of a tool, under its own principal. */
  agent(tool: string, args: Record<string, unknown>): Promise<Record<string, unknown>>;
}

/** The routes over a store, called as the front calls them once it has let a request in. */
export function openApi({ engine, clock, readOnly = false }: { readonly engine: Engine; readonly clock: Clock; readonly readOnly?: boolean }): Api {
  const logged: Api["logged"] = [];
  const log: Log = (level, event, facts = {}) => void logged.push({ level, event, facts });
  const routes = openApiRoutes({ log, readOnly, operator: person.name, system: openReservedStore(engine, systemNamespace, clock), namespaces: () => engine.namespaces() });
  const store = openNamespaceStore(engine, "team", clock);
  const server = { version: "1.2.3", startedAtMs: clock.nowMs(), claimTtlMs: 60_000, ...engineFacts(engine) };
  const baseOf = (writer: string): ToolBase => ({ store, clock, writer, server });

  const gates = openAnswerGates(clock);

  async function ask(method: ApiRoute["method"], path: string, more: Partial<ApiRequest>, principal = person) {
    const { route, params } = find(routes, method, path);
    return route.handle({
      principal,
      base: baseOf(principal.name),
      tools: catalog,
      params,
      query: new URLSearchParams(),
      json: async () => ({}),
      signal: new AbortController().signal,
      gate: gates.open("someone"),
      openWait: () => () => {},
      ...more,
    });
  }
  async function json<Answer>(asked: ReturnType<typeof ask>): Promise<Answer> {
    const answer = await asked;
    if (!("json" in answer)) throw new Error("This route streams events.");
    return JSON.parse(JSON.stringify(answer.json)) as Answer;
  }
  return {
    base: baseOf(person.name),
    logged,
    routes,
    get: (path, query = {}, as) => json(ask("GET", path, { query: toQuery(query) }, as)),
    post: (path, body, as) => json(ask("POST", path, { json: async () => body }, as)),
    delete: (path, as) => json(ask("DELETE", path, {}, as)),
    async events(query, signal, lastEventId) {
      const answer = await ask("GET", "/api/ns/team/events", { query: toQuery(query), signal, lastEventId });
      if (!("events" in answer)) throw new Error("This route does not stream.");
      return answer.events;
    },
    async agent(tool, args) {
      const found = catalog.find(({ name }) => name === tool);
      if (found === undefined) throw new Error(`There is no tool ${tool}.`);
      const outcome = await runTool(found, args, baseOf("fleet"), {}, silentLog);
      if (!outcome.ok) throw new Error(`${tool}: ${outcome.error.code}: ${outcome.error.message}`);
      return outcome.structured;
    },
  };
}

export function openMemoryApi(options: { readonly readOnly?: boolean } = {}) {
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  onTestFinished(() => engine[Symbol.asyncDispose]());
  return { ...openApi({ engine, clock, ...options }), clock, engine };
}

const toQuery = (query: Record<string, string | readonly string[]>): URLSearchParams =>
  new URLSearchParams(Object.entries(query).flatMap(([name, value]) => (typeof value === "string" ? [value] : value).map((each): [string, string] => [name, each])));

function find(routes: readonly ApiRoute[], method: string, path: string): { readonly route: ApiRoute; readonly params: Record<string, string> } {
  const parts = path.split("/");
  for (const route of routes) {
    const wanted = route.path.split("/");
    if (route.method !== method || wanted.length !== parts.length) continue;
    if (!wanted.every((part, i) => part.startsWith(":") || part === parts[i])) continue;
    return { route, params: Object.fromEntries(wanted.flatMap((part, i) => (part.startsWith(":") ? [[part.slice(1), decodeURIComponent(parts[i] as string)]] : []))) };
  }
  throw new Error(`There is no route ${method} ${path}.`);
}

/** What a call was refused with. */
export async function refusalOf(asked: Promise<unknown>): Promise<{ readonly code: string; readonly message: string; readonly details?: Readonly<Record<string, unknown>> }> {
  try {
    await asked;
  } catch (error) {
    if (isHoldfastError(error)) return { code: error.code, message: error.message, details: error.details };
    throw error;
  }
  throw new Error("It was not refused.");
}
