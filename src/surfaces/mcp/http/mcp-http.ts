import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../../kernel/clock.ts";
import type { Log } from "../../../kernel/log.ts";
import type { AnswerGates } from "../../../store/answer-gates.ts";
import type { Store } from "../../../store/store.ts";
import type { ToolBase } from "../../../tools/run-tool.ts";
import type { Tool } from "../../../tools/tool.ts";
import { eraEnvelopeOf } from "../era-envelope.ts";
import { statelessVersion } from "../greeting.ts";
import type { Request } from "../json-rpc.ts";
import { isRequest, rpcErrors } from "../json-rpc.ts";
import { batchVersion, readBatch, readMessage } from "../read-message.ts";
import { acceptedBy, httpFailure, isJson, sendAccepted, sendAnswer, sendRpcFailure } from "./answer-http.ts";
import type { Fixtures } from "./fixtures.ts";
import { HandshakeEra, isHandshakeVersion, refuseMethod, versionOf } from "./handshake-era.ts";
import { HttpCall } from "./http-call.ts";
import { McpContexts } from "./mcp-contexts.ts";
import type { McpPost } from "./mcp-post.ts";
import { McpSessions } from "./mcp-sessions.ts";
import { openAnswerGates, releaseWhenSent } from "./open-answer-gates.ts";
import { ResourceHubs } from "./resource-hubs.ts";
import type { SdkHttpHandler } from "./sdk-http-handler.ts";

/** What one caller may use. Created by the front, which has authenticated the request. */
export interface McpAccess {
  /** The namespace's store; its writer is the principal. */
  readonly base: ToolBase;
  /** The tools the principal may call; others are rejected as unknown. */
  readonly tools: readonly Tool[];
  /** One per principal, role and namespace: the cache key between requests, and what sessions are bound to. */
  readonly key: string;
  /** The principal in any namespace: memory and time are shared among principals. Default: the key. */
  readonly owner?: string;
  /** False: the handshake opens no session, because the caller invented the namespace's name. Default: true. */
  readonly opensSession?: () => Promise<boolean>;
  /** Charges the principal for one more message of a batch, beyond the request itself; throws a HoldfastError (429) if it sends too many. */
  readonly charge?: () => void;
  /** Counts a waiting call; `end` is called when it must stop waiting. The returned function is called when the wait is over. */
  readonly openWait?: (end: () => void) => () => void;
  /** Call it before a response becomes a stream that stays open. Counts the stream, and throws a HoldfastError (429 or 503) if too many are open. */
  readonly openStream?: () => void;
}

export interface McpHttpOptions {
  readonly log: Log;
  readonly clock: Clock;
  /** Where all nodes store the sessions of the earlier protocol era: the reserved namespace. */
  readonly sessions: Store;
  /** Shared by everything that responds over HTTP; default: for this endpoint only. */
  readonly gates?: AnswerGates;
  /** False sends everything through the SDK; the responses are the same. */
  readonly fastPath?: boolean;
  /** For conformance tests only. */
  readonly fixtures?: Fixtures;
}

export interface McpHttp extends AsyncDisposable {
  /**
   * Handles one request to the endpoint with any method. Resolves when the response is complete or the stream has ended. `body`: the complete body (empty for GET and DELETE).
   * Rejects, before anything is sent, if the request cannot be served; the caller reports the error.
   */
  handle(request: IncomingMessage, response: ServerResponse, body: Buffer, access: McpAccess): Promise<void>;
  /** Ends streams and waiting calls at once, and gives other calls this long to finish. */
  stop(graceMs: number): Promise<void>;
}

export const openMcpHttp = (options: McpHttpOptions): McpHttp => new Endpoint(options);

/** Streamable HTTP in both protocol eras on one endpoint. Keeps no state of its own: everything that outlives a request is in the store. */
class Endpoint implements McpHttp {
  readonly #options: McpHttpOptions;
  readonly #contexts: McpContexts;
  readonly #hubs: ResourceHubs;
  readonly #sessions: McpSessions;
  readonly #handshakeEra: HandshakeEra;
  #sdkLoading: Promise<SdkHttpHandler> | undefined;
  readonly #gates: AnswerGates;
  #inFlight = 0;
  #whenIdle: () => void = () => {};

  constructor(options: McpHttpOptions) {
    const { log, clock, sessions: store, fastPath = true, fixtures } = options;
    this.#options = options;
    this.#gates = options.gates ?? openAnswerGates(clock);
    this.#contexts = new McpContexts(log, fixtures);
    this.#hubs = new ResourceHubs(log);
    this.#sessions = new McpSessions({ store, clock, log });
    this.#handshakeEra = new HandshakeEra({
      log,
      sessions: this.#sessions,
      hubs: this.#hubs,
      fastPath,
      fixtures,
      sdk: () => this.#sdk(),
      nextTurn: (access) => this.#nextTurn(access),
    });
  }

  async handle(request: IncomingMessage, response: ServerResponse, body: Buffer, access: McpAccess): Promise<void> {
    const owner = access.owner ?? access.key;
    const gate = this.#gates.open(owner);
    const post: McpPost = { request, response, access, context: this.#contexts.of(access), accepted: acceptedBy(request), gate };
    this.#inFlight += 1;
    try {
      const turn = this.#gates.enter(owner);
      if (turn !== undefined) await turn;
      if (request.method === "POST") return await this.#post(post, body);
      // The stateless era uses POST only.
      if (versionOf(request) === statelessVersion) return refuseMethod(post);
      if (request.method === "GET") return await this.#handshakeEra.stream(post);
      if (request.method === "DELETE") return await this.#handshakeEra.end(post);
      return refuseMethod(post);
    } finally {
      releaseWhenSent(gate, response);
      this.#inFlight -= 1;
      if (this.#inFlight === 0) this.#whenIdle();
    }
  }

  async stop(graceMs: number): Promise<void> {
    this.#contexts.stopWaiting();
    this.#handshakeEra.stop();
    const sdk = await this.#sdkLoading?.catch(() => undefined);
    await sdk?.stop();
    this.#hubs.close();
    this.#sessions.close();
    if (this.#inFlight === 0) return;
    const idle = new Promise<void>((resolve) => {
      this.#whenIdle = resolve;
    });
    const over = new AbortController();
    await Promise.race([idle, this.#options.clock.rest(graceMs, over.signal)]);
    over.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop(0);
  }

  /** Lets other callers be served before the same request continues. */
  async #nextTurn({ owner, key }: McpAccess): Promise<void> {
    await new Promise<void>((resolve) => this.#options.clock.turn(resolve));
    await this.#gates.enter(owner ?? key);
  }

  async #post(post: McpPost, body: Buffer): Promise<void> {
    const { request, response, accepted } = post;
    if (!isJson(request)) return sendRpcFailure(response, 415, httpFailure, "Content-Type: must be application/json");
    if (!accepted.json && !accepted.events) return sendRpcFailure(response, 406, httpFailure, "Accept: must allow application/json or text/event-stream");
    const version = versionOf(request);
    const batch = version === undefined || version === batchVersion ? readBatch(body) : undefined;
    if (batch !== undefined) return batch.ok ? this.#handshakeEra.postBatch(post, batch.lines) : sendRpcFailure(response, 400, rpcErrors.invalidRequest, batch.problem);
    const read = readMessage(body);
    if (!read.ok) return sendRpcFailure(response, 400, read.code, read.problem, read.id);
    const { message } = read;
    const claim = "method" in message ? eraEnvelopeOf(message.params) : "none";
    if (claim === "none" && (version === undefined || isHandshakeVersion(version))) return this.#handshakeEra.post(post, message);
    if (claim === "plain" && isRequest(message) && this.#options.fastPath !== false && (await this.#direct(post, message))) return;
    const sdk = await this.#sdk();
    return sdk.isHandshakeEra(request, message) ? this.#handshakeEra.post(post, message) : sdk.stateless(post, message);
  }

  /** True: a response to the stateless request was sent. */
  async #direct(post: McpPost, message: Request): Promise<boolean> {
    const { request, response, context, accepted, gate } = post;
    if (!headersMirror(request, message)) return false;
    const direct = context.answers.stateless(message);
    if (direct === undefined) return false;
    if (typeof direct === "string") {
      sendAnswer(response, accepted, direct);
      return true;
    }
    const call = new HttpCall(post);
    const make = await direct(call);
    await gate.turn();
    if (call.cancelled) sendAccepted(response);
    else sendAnswer(response, accepted, make());
    return true;
  }

  /** If the SDK cannot be loaded, only requests that need it fail. */
  #sdk(): Promise<SdkHttpHandler> {
    this.#sdkLoading ??= import("./sdk-http-handler.ts").then(
      ({ SdkHttpHandler }) => new SdkHttpHandler({ log: this.#options.log, hubs: this.#hubs, fixtures: this.#options.fixtures }),
    );
    return this.#sdkLoading;
  }
}

/** The headers match the body in the plainest form. Any deviation is left to the SDK. */
function headersMirror({ headers }: IncomingMessage, { method, params }: Request): boolean {
  if (headers["mcp-protocol-version"] !== statelessVersion || headers["mcp-method"] !== method) return false;
  const name = method === "tools/call" ? params?.name : method === "resources/read" ? params?.uri : undefined;
  // Names that a header cannot hold are sent as Base64.
  return name === undefined || (typeof name === "string" && headers["mcp-name"] === name && !name.startsWith("=?"));
}
