import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { isHoldfastError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { failureOf, sendFailure } from "./answer.ts";
import { wrongMethod } from "./api-table.ts";
import type { Authenticate } from "./authenticate.ts";
import { Exchange } from "./exchange.ts";
import { ExchangeList } from "./exchange-list.ts";
import { Gate } from "./gate.ts";
import type { HttpLimits } from "./http-limits.ts";
import type { HttpMetrics, StreamKind } from "./http-metrics.ts";
import { Bodies } from "./read-body.ts";
import { recheckCredentials } from "./recheck-credentials.ts";
import { Refusal, retryAfter } from "./refusal.ts";
import { refuseSocket, refuseUnreadBody, unreadProblem } from "./refuse-unread.ts";
import { requireSoundHeaders } from "./request-headers.ts";
import { traceIdOf } from "./request-marks.ts";
import type { OriginCheck } from "./request-origin.ts";
import { readTarget } from "./request-target.ts";
import type { Route, Routes } from "./routes.ts";
import { Sockets } from "./sockets.ts";
import { principalKey } from "./tenants.ts";

export interface HttpServerOptions {
  readonly limits: HttpLimits;
  /** Requests per second for one principal. */
  readonly rateLimit: number;
  readonly log: Log;
  /** Whether each request is logged. */
  readonly logsRequests: boolean;
  readonly metrics: HttpMetrics;
  readonly origins: OriginCheck;
  readonly authenticate: Authenticate;
  readonly routes: Routes;
  /** Ends the streams and waits of the MCP endpoint, and gives its calls this long to finish. */
  stopMcp(graceMs: number): Promise<void>;
}

/** What a route may use of the front while it responds. */
export interface RouteTools {
  readonly isStopping: boolean;
  readBody(exchange: Exchange): Promise<Buffer>;
  /** The response becomes a stream that stays open; throws if too many are open. */
  openStream(exchange: Exchange, kind: StreamKind, namespace: string): void;
  /** The request has begun to wait. `end` is called if it must stop waiting. Call the returned function when the wait is over. */
  openWait(exchange: Exchange, namespace: string, end: () => void): () => void;
  /** The request contains one more message; throws if its principal sends too many. */
  charge(exchange: Exchange): void;
}

/**
 * The node:http front. It checks in this order, so that cheap checks come first: size and time of the head (Node), host, path, route, origin, method,
 * the whole server's limit, credential, the principal's limit and rate, role and namespace, body. Then the handler runs.
 */
export class HttpServer {
  readonly server: Server;
  readonly #options: HttpServerOptions;
  readonly #gate: Gate;
  readonly #sockets: Sockets;
  readonly #bodies: Bodies;
  readonly #exchanges = new ExchangeList();
  readonly #tools: RouteTools;
  readonly #stopWatching: () => void;
  #isStopping = false;
  #onQuiet: () => void = () => {};

  constructor(options: HttpServerOptions) {
    const { limits, metrics } = options;
    this.#options = options;
    const nowMs = (): number => performance.now();
    this.#gate = new Gate(limits, options.rateLimit, nowMs);
    this.#sockets = new Sockets(limits, nowMs);
    this.#bodies = new Bodies(limits);
    const isStopping = (): boolean => this.#isStopping;
    this.#tools = {
      get isStopping() {
        return isStopping();
      },
      readBody: (exchange) => this.#bodies.read(exchange),
      openStream: (exchange, kind, namespace) => this.#openStream(exchange, kind, namespace),
      openWait: (exchange, namespace, end) => this.#openWait(exchange, namespace, end),
      charge: ({ usage }) => usage && this.#gate.charge(usage),
    };
    this.server = createServer(
      {
        maxHeaderSize: limits.headerBytesMax,
        headersTimeout: limits.headersMsMax,
        requestTimeout: limits.requestMsMax,
        keepAliveTimeout: limits.idleMsMax,
        connectionsCheckingInterval: Math.min(1_000, limits.headersMsMax / 4, limits.requestMsMax / 4),
        noDelay: true,
      },
      (request, response) => void this.#serve(request, response, false),
    );
    // Node would silently drop headers above a limit, and with them those that a proxy adds last, which show that the request is not local.
    this.server.maxHeadersCount = 0;
    this.server.on("checkContinue", (request, response) => void this.#serve(request, response, true));
    this.server.on("connection", (socket: Socket) => {
      if (!this.#sockets.add(socket)) refuseSocket(socket, 503, retryAfter(1_000));
    });
    this.server.on("clientError", (error: NodeJS.ErrnoException, socket) => this.#refuseUnread(error, socket as Socket));
    metrics.connections(() => this.#sockets.size);
    this.#stopWatching = recheckCredentials({ authenticate: options.authenticate, exchanges: this.#exchanges, log: options.log });
  }

  /** Current usage. */
  get usage(): Readonly<Record<"inFlight" | "streams" | "waits" | "sockets" | "bodyBytes" | "bodiesWaiting", number>> {
    const { inFlight, streams, waits } = this.#gate;
    return { inFlight, streams, waits, sockets: this.#sockets.size, bodyBytes: this.#bodies.heldBytes, bodiesWaiting: this.#bodies.waiting };
  }

  /** Accepts no new connections and requests, ends streams, and lets requests in progress finish; after the grace period it aborts them. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    this.#stopWatching();
    const closed = new Promise<void>((resolve) => {
      if (this.server.listening) this.server.close(() => resolve());
      else resolve();
    });
    for (const exchange of this.#exchanges) if (exchange.stream === "events") exchange.abort();
    await within(Promise.all([this.#options.stopMcp(graceMs), this.#quiet()]), graceMs);
    for (const exchange of this.#exchanges) exchange.abort();
    this.#sockets.close();
    // Give peers that have not received their responses a little more time.
    await within(closed, Math.min(graceMs, 500));
    this.#sockets.destroyAll();
    await closed;
  }

  #quiet(): Promise<void> {
    return new Promise((resolve) => {
      this.#onQuiet = () => {
        if (this.#exchanges.size === 0) resolve();
      };
      this.#onQuiet();
    });
  }

  /** Never rejects. */
  async #serve(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): Promise<void> {
    const exchange = new Exchange(request, response, expectsContinue, this.#options.metrics.began());
    this.#exchanges.add(exchange);
    const hasRoom = this.#sockets.begin(exchange);
    response.once("close", () => this.#finish(exchange));
    // "close" reports a peer that disconnects while we write.
    response.on("error", ignore);
    if (!hasRoom) {
      this.#options.metrics.refused("in_flight");
      request.socket.destroy();
      return;
    }
    try {
      const route = this.#admit(exchange);
      if (route === undefined) return;
      if (route.access !== "open") await this.#identify(exchange);
      await route.handle(exchange, this.#tools);
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  /** Every check that does not need the caller's identity. Undefined: a response was sent. */
  #admit(exchange: Exchange): Route | undefined {
    const { request, response } = exchange;
    const { limits, origins, routes } = this.#options;
    exchange.isProtocol = (request.url as string).endsWith("/mcp");
    requireSoundHeaders(request, limits);
    origins.checkHost(request);
    exchange.target = readTarget(request.url as string, limits.targetBytesMax);
    const route = routes.find(request, exchange.target);
    exchange.route = route.pattern;
    origins.checkOrigin(request, route.access === "open");
    if (origins.allowReading(request, response, route.methods) === "preflight") {
      response.writeHead(204).end();
      return undefined;
    }
    if (!route.methods.includes(request.method as string)) throw wrongMethod(route.methods);
    if (route.access === "open") return route;
    if (this.#isStopping && route.access !== "while stopping")
      throw new Refusal("unavailable", "The server is stopping.", { reason: "stopping", headers: { ...retryAfter(1_000), connection: "close" } });
    this.#gate.enter(route.access === "while stopping");
    exchange.isInside = true;
    return route;
  }

  async #identify(exchange: Exchange): Promise<void> {
    const { request } = exchange;
    const { authenticate, metrics } = this.#options;
    const principal = await authenticate(request);
    if (principal instanceof Refusal) {
      metrics.authenticated(request.headers.authorization === undefined ? "none" : "token", "refused");
      this.#leave(exchange);
      throw principal;
    }
    this.#requireCaller(exchange);
    metrics.authenticated(principal.kind, "accepted");
    exchange.principal = principal;
    exchange.usage = this.#gate.enterPrincipal(principalKey(principal));
  }

  #openStream(exchange: Exchange, kind: StreamKind, namespace: string): void {
    if (exchange.stream !== undefined || exchange.usage === undefined) return;
    this.#requireCaller(exchange);
    exchange.streamSlot = this.#gate.openStream(exchange.usage, namespace, () => exchange.response.destroy());
    exchange.stream = kind;
    exchange.releaseBody?.();
    this.#options.metrics.stream(kind, 1);
    if (this.#isStopping) exchange.abort();
  }

  #openWait(exchange: Exchange, namespace: string, end: () => void): () => void {
    const { usage } = exchange;
    // A caller that disconnected is no longer counted.
    if (usage === undefined || !this.#exchanges.has(exchange)) return ignore;
    const wait = this.#gate.openWait(usage, namespace, end);
    let isOpen = true;
    const close = (): void => {
      if (isOpen) this.#gate.closeWait(usage, wait);
      isOpen = false;
      exchange.waits?.delete(close);
    };
    exchange.waits ??= new Set();
    exchange.waits.add(close);
    return close;
  }

  /** Counters are released when the caller leaves; for a caller that has already left they would never be released. */
  #requireCaller(exchange: Exchange): void {
    if (!this.#exchanges.has(exchange)) throw new Refusal("cancelled", "The caller closed the connection.");
  }

  /** A rejected caller may be slow to read the response, or to send a body that is not read. Others must not wait for that. */
  #leave(exchange: Exchange): void {
    if (exchange.isInside) this.#gate.leave();
    exchange.isInside = false;
  }

  #fail(exchange: Exchange, error: unknown): void {
    const { request, response } = exchange;
    const { log, metrics } = this.#options;
    if (error instanceof Refusal && error.code !== "cancelled") metrics.refused(error.reason);
    if (!isHoldfastError(error) || error.code === "internal")
      log("error", "request_failed", {
        request: exchange.id,
        trace: traceIdOf(request.headers),
        route: exchange.route,
        problem: error instanceof Error ? (error.stack ?? error.message) : String(error),
      });
    if (response.writableEnded || response.closed) return;
    // A partial response must not look complete: what was written is sent, but not its end.
    if (response.headersSent) request.socket.destroySoon();
    else if (request.complete) sendFailure(response, failureOf(error), exchange.isProtocol);
    else refuseUnreadBody(exchange, failureOf(error));
  }

  /** A request that Node could not parse, or did not receive in time. */
  #refuseUnread({ code }: NodeJS.ErrnoException, socket: Socket): void {
    const problem = unreadProblem(code);
    const exchange = this.#sockets.newestOn(socket);
    if (exchange !== undefined && !exchange.request.complete && !exchange.response.headersSent) {
      this.#fail(exchange, problem);
      exchange.response.end();
      return;
    }
    this.#options.metrics.refused(problem.reason);
    // In the middle of another response, no error can be sent.
    if (exchange === undefined) refuseSocket(socket, problem.status);
    else socket.destroy();
  }

  #finish(exchange: Exchange): void {
    if (!this.#exchanges.delete(exchange)) return;
    const { request, response, stream, usage, principal, route } = exchange;
    const { log, logsRequests, metrics } = this.#options;
    exchange.abort();
    exchange.releaseBody?.();
    for (const close of exchange.waits ?? []) close();
    if (stream !== undefined && usage !== undefined && exchange.streamSlot !== undefined) {
      this.#gate.closeStream(usage, exchange.streamSlot);
      metrics.stream(stream, -1);
    }
    if (usage !== undefined) this.#gate.leavePrincipal(usage);
    this.#leave(exchange);
    this.#sockets.end(exchange);
    const status = response.writableFinished ? response.statusCode : 499;
    metrics.ended(exchange.beganMs, route, request.method as string, status, stream !== undefined);
    const ms = Math.round((performance.now() - exchange.startedMs) * 10) / 10;
    if (logsRequests) log("info", "request", { request: exchange.id, trace: traceIdOf(request.headers), method: request.method, route, status, ms, principal: principal?.name });
    this.#onQuiet();
  }
}

const ignore = (): void => {};

async function within(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
