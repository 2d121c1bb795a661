import type { IncomingMessage } from "node:http";
import type { Principal } from "../../domain/identity/principal.ts";
import type { AnswerGates } from "../../store/answer-gates.ts";
import type { ApiRoute } from "../dashboard/api-route.ts";
import type { McpHttp } from "../mcp/http/mcp-http.ts";
import { releaseWhenSent } from "../mcp/http/open-answer-gates.ts";
import { send, sendJson } from "./answer.ts";
import type { FoundApiRoute } from "./api-table.ts";
import { ApiTable, noSuchRoute } from "./api-table.ts";
import { callApi } from "./call-api.ts";
import { sendEvents } from "./event-stream.ts";
import type { Exchange } from "./exchange.ts";
import type { Readiness } from "./health-answer.ts";
import type { RouteTools } from "./http-server.ts";
import { Refusal, retryAfter } from "./refusal.ts";
import type { RequestTarget } from "./request-target.ts";
import type { Challenges } from "./resource-metadata.ts";
import { isMetadataPath } from "./resource-metadata.ts";
import type { StaticFiles } from "./static-files.ts";
import type { Tenants } from "./tenants.ts";
import { principalKey } from "./tenants.ts";

/** Where a request goes; determined before any credential is checked. */
export interface Route {
  /** The path with placeholders such as `:namespace`. */
  readonly pattern: string;
  readonly methods: readonly string[];
  /** open: contains no data, needs no credential. while stopping: also answered while the server stops. */
  readonly access: "open" | "credential" | "while stopping";
  handle(exchange: Exchange, tools: RouteTools): Promise<void> | void;
}

export interface RoutesOptions {
  readonly tenants: Tenants;
  readonly mcp: McpHttp;
  readonly apiRoutes: readonly ApiRoute[];
  readonly files: StaticFiles;
  readonly challenges: Challenges;
  /** Memory and time limits, shared by everything that builds responses. */
  readonly gates: AnswerGates;
  /** How often a quiet stream sends a comment. */
  readonly heartbeatMs: number;
  /** The document that tells clients who issues credentials; undefined if only this server does. */
  resourceMetadata(request: IncomingMessage): unknown;
  metricsText(): Promise<{ readonly text: string; readonly type: string }>;
  /** For the caller's own namespace. */
  readiness(namespace: string): Promise<Readiness>;
}

const readMethods = ["GET", "HEAD"];
/** The memory that the dashboard's largest response takes while it is built and sent. */
const apiAnswerBytesMax = 8_388_608;
const apiAnswerBytesMin = 65_536;
/** The estimate until a route has responded once: most responses take far less. */
const apiAnswerBytesFirst = 4_194_304;
/** Accounts for the data read, the response and its text. */
const apiAnswerFactor = 6;
/** How fast a route's estimate falls while its responses are small. */
const expectationFall = 0.9;

/** Every address of the server. */
export class Routes {
  readonly #options: RoutesOptions;
  readonly #api: ApiTable;
  readonly #exact: ReadonlyMap<string, Route>;
  /** The recent response size of each dashboard route. */
  readonly #apiBytes = new Map<string, number>();

  constructor(options: RoutesOptions) {
    this.#options = options;
    this.#api = new ApiTable(options.apiRoutes);
    const exact: readonly Route[] = [
      this.#mcp("/mcp", undefined),
      { pattern: "/livez", methods: readMethods, access: "open", handle: ({ response }) => send(response, 200, "ok\n", { "content-type": "text/plain" }) },
      { pattern: "/health", methods: readMethods, access: "while stopping", handle: (exchange, { isStopping }) => this.#health(exchange, isStopping) },
      { pattern: "/metrics", methods: readMethods, access: "credential", handle: (exchange) => this.#metrics(exchange) },
    ];
    this.#exact = new Map(exact.map((route) => [route.pattern, route]));
  }

  /** Throws if there is no such route. */
  find(request: IncomingMessage, { path, segments }: RequestTarget): Route {
    const exact = this.#exact.get(path);
    if (exact !== undefined) return exact;
    const [first, second, third] = segments;
    if (first === "ns" && third === "mcp" && segments.length === 3) return this.#mcp("/ns/:namespace/mcp", second);
    if (first === "api") return this.#apiRoute(this.#api.find(methodOf(request), segments));
    if (isMetadataPath(path)) return this.#metadata(request);
    return { pattern: "page", methods: readMethods, access: "open", handle: (exchange) => this.#page(exchange, path) };
  }

  #mcp(pattern: string, namespace: string | undefined): Route {
    const { tenants, mcp } = this.#options;
    return {
      pattern,
      methods: ["POST", "GET", "DELETE"],
      access: "credential",
      async handle(exchange, tools) {
        const principal = exchange.principal as Principal;
        const name = namespace ?? tenants.defaultFor(principal);
        const base = tenants.baseFor(principal, name);
        const body = await tools.readBody(exchange);
        const owner = principalKey(principal);
        await mcp.handle(exchange.request, exchange.response, body, {
          base,
          tools: tenants.toolsFor(principal),
          key: `${owner}\0${name}`,
          owner,
          opensSession: () => tenants.isKnown(principal, base.store),
          charge: () => tools.charge(exchange),
          openWait: (end) => tools.openWait(exchange, name, end),
          openStream: () => tools.openStream(exchange, "mcp", name),
        });
      },
    };
  }

  #apiRoute(found: FoundApiRoute): Route {
    const { tenants, challenges, heartbeatMs, gates } = this.#options;
    const pattern = found.route.path;
    const apiBytes = this.#apiBytes;
    return {
      pattern,
      methods: [found.route.method],
      access: "credential",
      async handle(exchange, tools) {
        const owner = principalKey(exchange.principal as Principal);
        const gate = gates.open(owner);
        const expected = apiBytes.get(pattern) ?? apiAnswerBytesFirst;
        const { isMetered = false } = found.route;
        const namespace = found.params.namespace ?? tenants.defaultFor(exchange.principal as Principal);
        const begin = async (): Promise<void> => {
          await gates.enter(owner);
          if (!isMetered) await gate.hold(expected);
        };
        const readBody = async (): Promise<Buffer> => {
          const body = await tools.readBody(exchange);
          // Not before: a body may arrive slowly, and until then the response needs no memory.
          await begin();
          return body;
        };
        try {
          if (found.route.method === "GET") await begin();
          const answer = await callApi({ found, exchange, tenants, challenges, readBody, gate, openWait: (end) => tools.openWait(exchange, namespace, end) });
          if ("events" in answer) {
            if (!isMetered) gate.release();
            tools.openStream(exchange, "events", namespace);
            await sendEvents(exchange.response, answer.events, { heartbeatMs, signal: exchange.signal });
          } else {
            if (isMetered) await gate.turn();
            const text = JSON.stringify(answer.json);
            if (isMetered) return send(exchange.response, answer.status ?? 200, text, { "content-type": "application/json" });
            const took = Math.min(apiAnswerBytesMax, Math.max(apiAnswerBytesMin, text.length * apiAnswerFactor));
            apiBytes.set(pattern, Math.max(took, expected * expectationFall));
            gate.correct(took);
            send(exchange.response, answer.status ?? 200, text, { "content-type": "application/json" });
          }
        } finally {
          releaseWhenSent(gate, exchange.response);
        }
      },
    };
  }

  #metadata(request: IncomingMessage): Route {
    const document = this.#options.resourceMetadata(request);
    if (document === undefined) throw noSuchRoute();
    return {
      pattern: "/.well-known/oauth-protected-resource",
      methods: readMethods,
      access: "open",
      handle: ({ response }) => sendJson(response, 200, document, { "cache-control": "max-age=300" }),
    };
  }

  async #health({ response, principal }: Exchange, isStopping: boolean): Promise<void> {
    const { tenants, readiness } = this.#options;
    const namespace = tenants.baseFor(principal as Principal, tenants.defaultFor(principal as Principal)).store.namespace;
    const { ready, facts } = isStopping ? { ready: false, facts: { status: "stopping" } } : await readiness(namespace);
    sendJson(response, ready ? 200 : 503, facts, ready ? {} : retryAfter(1_000));
  }

  async #metrics({ response, principal }: Exchange): Promise<void> {
    // The metrics cover every namespace.
    if (principal?.namespaces !== "*") throw new Refusal("forbidden", "Figures are for credentials that may use every namespace.", { reason: "role" });
    const { text, type } = await this.#options.metricsText();
    send(response, 200, text, { "content-type": type });
  }

  async #page({ request, response }: Exchange, path: string): Promise<void> {
    const { files } = this.#options;
    const found = files.find(path, request.headers.accept);
    if (found === undefined) throw noSuchRoute();
    await files.send(found, request, response);
  }
}

/** A browser's preflight asks about the method that it intends to use. */
const methodOf = ({ method, headers }: IncomingMessage): string => (method === "OPTIONS" ? (headers["access-control-request-method"] ?? "OPTIONS") : (method as string));
