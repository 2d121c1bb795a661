import type { IncomingMessage, ServerResponse } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import type { Server } from "@modelcontextprotocol/server";
import { classifyInboundRequest, createMcpHandler } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../../kernel/errors.ts";
import type { Log } from "../../../kernel/log.ts";
import type { Revision } from "../../../store/store.ts";
import type { Message, Request } from "../json-rpc.ts";
import { errorLine, isRequest } from "../json-rpc.ts";
import { listenedUris } from "../listened-uris.ts";
import { rpcFailureOf } from "../rpc-failure.ts";
import type { SdkParts } from "../sdk-server.ts";
import { createSdkServer } from "../sdk-server.ts";
import { subscribedUrisMax } from "../subscriptions.ts";
import { sendRpcJson } from "./answer-http.ts";
import { DueUpdates } from "./due-updates.ts";
import { exchange } from "./exchange-transport.ts";
import type { Fixtures } from "./fixtures.ts";
import { HttpCall, originOf } from "./http-call.ts";
import type { McpContext } from "./mcp-contexts.ts";
import type { McpPost } from "./mcp-post.ts";
import type { ResourceHubs } from "./resource-hubs.ts";

type Handler = ReturnType<typeof createMcpHandler>;
type EventBus = NonNullable<NonNullable<Parameters<typeof createMcpHandler>[1]>["bus"]>;
type Listener = Parameters<EventBus["subscribe"]>[0];

interface SdkHttpHandlerOptions {
  readonly log: Log;
  readonly hubs: ResourceHubs;
  readonly fixtures: Fixtures | undefined;
}

/** The caller in the handshake era. */
interface Handshaken {
  readonly context: McpContext;
  readonly subscriptions: SdkParts["subscriptions"];
  readonly connection?: string;
  /** The HTTP request that carried the message. */
  readonly request?: IncomingMessage;
  readonly call: Pick<HttpCall, "gate" | "onWait">;
}

/** This era subscribes in another way; the SDK has no such method for it. */
const none: SdkParts["subscriptions"] = { subscribe: async () => {}, unsubscribe: async () => {} };

/**
 * Handles every request that the fast path leaves to the SDK, and all requests if the fast path is off. Loaded when first needed.
 * Each request gets its own server, so requests cannot see each other, whatever their ids.
 */
export class SdkHttpHandler {
  readonly #options: SdkHttpHandlerOptions;
  /** Streams that stay open, so that they can be ended properly. */
  readonly #listening = new Set<Handler>();

  constructor(options: SdkHttpHandlerOptions) {
    this.#options = options;
  }

  /** Whether the SDK considers the message part of the earlier era. It does not respond to such messages here. */
  isHandshakeEra({ headers }: IncomingMessage, message: Message): boolean {
    const { kind } = classifyInboundRequest({
      httpMethod: "POST",
      protocolVersionHeader: headers["mcp-protocol-version"] as string | undefined,
      mcpMethodHeader: headers["mcp-method"] as string | undefined,
      mcpNameHeader: headers["mcp-name"] as string | undefined,
      body: message,
    });
    return kind === "legacy";
  }

  /** A request of the earlier era; undefined when it was cancelled. */
  handshake(request: Request, asker: Handshaken, signal: AbortSignal, onNote: (line: string) => void): Promise<string | undefined> {
    return exchange(this.#server(asker), request, signal, onNote);
  }

  /** A message of the stateless era, or one that claims to be: the SDK produces the complete response, including headers. */
  async stateless(post: McpPost, message: Message): Promise<void> {
    const { request, response, accepted } = post;
    if (isRequest(message) && message.method === "subscriptions/listen") return this.#listen(post, message);
    await this.#serve(this.#handler(post, { responseMode: accepted.json ? "auto" : "sse" }), request, response, message);
  }

  /** Notifies every listening client that its subscription has ended. */
  async stop(): Promise<void> {
    await Promise.all([...this.#listening].map((handler) => handler.close()));
  }

  /** The watch is open before the SDK confirms the subscription, so that no change is missed in between. */
  async #listen(post: McpPost, message: Request): Promise<void> {
    const { hubs, log } = this.#options;
    const { request, response, access, context } = post;
    const { base } = access;
    const uris = listenedUris(message).filter((uri) => context.resources.target(uri) !== undefined);
    let listener: Listener | undefined;
    const due = new DueUpdates(response, (updates) => {
      for (const [uri] of updates) listener?.({ kind: "resource_updated", uri });
    });
    const subscriber = { caller: access.key, onUpdate: (uri: string, revision: Revision) => due.add(uri, revision) };
    const bus: EventBus = {
      publish: () => {},
      subscribe: (each) => {
        listener = each;
        return () => {
          listener = undefined;
        };
      },
    };
    access.openStream?.();
    const handler = this.#handler(post, { bus });
    this.#listening.add(handler);
    try {
      if (uris.length > subscribedUrisMax) throw new HoldfastError("limit_exceeded", `One stream may listen to ${subscribedUrisMax} resources.`);
      if (uris.length > 0) await hubs.add(base, subscriber, uris);
      await this.#serve(handler, request, response, message);
    } catch (error) {
      const { code, message: problem, data } = rpcFailureOf(error, log);
      if (!response.headersSent) sendRpcJson(response, 200, errorLine(message.id, code, problem, data));
    } finally {
      this.#listening.delete(handler);
      hubs.remove(base, subscriber);
    }
  }

  #handler(post: McpPost, options: { readonly bus?: EventBus; readonly responseMode?: "auto" | "sse" }): Handler {
    const { log } = this.#options;
    const { context, request } = post;
    const call = new HttpCall(post);
    return createMcpHandler(() => this.#server({ context, subscriptions: none, request, call }), {
      ...options,
      legacy: "reject",
      onerror: (error) => log("info", "message_refused", { problem: error.message.slice(0, 300) }),
    });
  }

  async #serve(handler: Handler, request: IncomingMessage, response: ServerResponse, message: Message): Promise<void> {
    if (response.destroyed) return;
    response.setHeader("cache-control", "no-store");
    response.setHeader("x-content-type-options", "nosniff");
    await toNodeHandler(handler)(request as never, response as never, message);
  }

  #server({ context: { greeting, calls, resources }, subscriptions, connection, request, call }: Handshaken): Server {
    const { log, fixtures } = this.#options;
    const origin = calls.spans && request && originOf(request);
    // The call's own signal is not used here: the SDK has one for each request.
    const answering: SdkParts["answering"] = (signal, work) => work({ signal, gate: call.gate, onWait: (end) => call.onWait(end) });
    const server = createSdkServer({ greeting, calls, resources, subscriptions, log, connection, origin, answering });
    fixtures?.extend(server);
    return server;
  }
}
