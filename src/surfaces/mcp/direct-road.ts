import { randomHex } from "../../kernel/ids.ts";
import type { Claim } from "./claim.ts";
import { claimOf, envelopeOf, isPlainCapabilities, isPlainImplementation } from "./claim.ts";
import type { Greeting } from "./greeting.ts";
import { handshakeVersions, statelessVersion, staticCacheHint } from "./greeting.ts";
import type { Message, Params, Request, RequestId } from "./json-rpc.ts";
import { errorLine, isNotification, isPlainObject, isRequest, isRequestId, rpcErrors } from "./json-rpc.ts";
import type { LineWriter } from "./line-writer.ts";
import type { ToolCalls } from "./tool-calls.ts";
import { answerOf, requestKeyMember, unknownToolMessage } from "./tool-calls.ts";

/** "sdk": something only the SDK may judge opened the connection, so it gets everything. */
type Era = "handshake" | "stateless" | "sdk";

/** One call on the direct road. Its signal comes into being only when somebody asks for it. */
class DirectCall {
  #controller: AbortController | undefined;
  cancelled = false;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.cancelled) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  cancel(): void {
    this.cancelled = true;
    this.#controller?.abort();
  }
}

/**
 * The short way for what is asked most: answers with the bytes the SDK would send, without its cost (and without loading it).
 * It takes only messages whose shape it knows completely; everything else, every oddity included, is the SDK's.
 */
export class DirectRoad {
  readonly #calls: ToolCalls;
  readonly #writer: LineWriter;
  readonly #greeting: Greeting;
  readonly #statelessEnd: string;
  readonly #inFlight = new Map<RequestId, DirectCall>();
  readonly #running = new Set<Promise<void>>();
  #era: Era | undefined;
  #opening: Request | undefined;

  constructor(calls: ToolCalls, greeting: Greeting, writer: LineWriter) {
    this.#calls = calls;
    this.#greeting = greeting;
    this.#writer = writer;
    this.#statelessEnd = `"_meta":${JSON.stringify({ "io.modelcontextprotocol/serverInfo": greeting.serverInfo })}`;
  }

  /**
   * What the SDK must be told first when it joins a connection that was opened here, so that it serves the same era.
   * Its answer is nobody's business: the id is a secret between us and it.
   */
  get opening(): Request | undefined {
    return this.#opening;
  }

  /** True: the message is answered, or being answered. `alone`: the SDK has not been started. */
  take(message: Message, alone: boolean): boolean {
    if (this.#era === "sdk" || !("method" in message)) return false;
    const claim = claimOf(message.params);
    if (this.#era === undefined) return this.#open(message, claim);
    if (isNotification(message)) return this.#notice(message.method, message.params, alone);
    if (!isRequest(message)) return false;
    return this.#era === "handshake" ? this.#serveHandshake(message) : claim === "plain" && this.#serveStateless(message);
  }

  /** Calls that have not come to an end. */
  get running(): number {
    return this.#running.size;
  }

  /** The client is gone or out of time. */
  cancelAll(): void {
    for (const call of this.#inFlight.values()) call.cancel();
  }

  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** The same rules as the SDK's: a claim decides, `initialize` or no claim means the handshake era, discovery decides nothing. */
  #open(message: Message & { readonly method: string; readonly params?: Params }, claim: Claim): boolean {
    if (claim === "other" || (message.method === "initialize" && claim !== "none")) {
      this.#era = "sdk";
      return false;
    }
    if (claim === "none") {
      this.#era = "handshake";
      if (!isRequest(message) || message.method !== "initialize" || !this.#initialize(message)) return false;
      this.#opening = { ...message, id: secretId() };
      return true;
    }
    if (isRequest(message) && message.method === "server/discover") {
      // The SDK, once started, must know of every opening; here it would not.
      if (!this.#serveStateless(message)) this.#era = "sdk";
      return this.#era === undefined;
    }
    this.#era = "stateless";
    if (!isRequest(message) || !this.#serveStateless(message)) return false;
    // The era has no ping: the SDK refuses it, but has learnt the era.
    this.#opening = { jsonrpc: "2.0", id: secretId(), method: "ping", params: { _meta: envelopeOf(message.params) } };
    return true;
  }

  #notice(method: string, params: Params | undefined, alone: boolean): boolean {
    if (method === "notifications/initialized") return alone;
    if (method !== "notifications/cancelled") return false;
    const id = params?.requestId;
    const call = isRequestId(id) ? this.#inFlight.get(id) : undefined;
    call?.cancel();
    return call !== undefined || alone;
  }

  #initialize({ id, params }: Request): boolean {
    if (params === undefined || "_meta" in params || typeof params.protocolVersion !== "string") return false;
    if (!isPlainCapabilities(params.capabilities) || !isPlainImplementation(params.clientInfo)) return false;
    const asked = params.protocolVersion;
    const protocolVersion = (handshakeVersions as readonly string[]).includes(asked) ? asked : handshakeVersions[0];
    const { capabilities, serverInfo, instructions } = this.#greeting;
    this.#answer(id, JSON.stringify({ protocolVersion, capabilities, serverInfo, instructions }));
    return true;
  }

  #serveHandshake(request: Request): boolean {
    switch (request.method) {
      case "tools/call":
        return this.#call(request, "");
      case "tools/list":
        if (!isBare(request.params)) return false;
        this.#answer(request.id, `{"tools":${this.#calls.listJson}}`);
        return true;
      case "ping":
        if (!isBare(request.params)) return false;
        this.#answer(request.id, "{}");
        return true;
      default:
        return false;
    }
  }

  #serveStateless(request: Request): boolean {
    const stamps = `"resultType":"complete","ttlMs":${staticCacheHint.ttlMs},"cacheScope":"${staticCacheHint.cacheScope}",${this.#statelessEnd}`;
    switch (request.method) {
      case "tools/call":
        return this.#call(request, `,"resultType":"complete",${this.#statelessEnd}`);
      case "tools/list":
        if (!isBare(request.params)) return false;
        this.#answer(request.id, `{"tools":${this.#calls.listJson},${stamps}}`);
        return true;
      case "server/discover": {
        if (!isBare(request.params)) return false;
        const { capabilities, instructions } = this.#greeting;
        const own = JSON.stringify({ supportedVersions: [statelessVersion], capabilities, instructions });
        this.#answer(request.id, `${own.slice(0, -1)},${stamps}}`);
        return true;
      }
      default:
        return false;
    }
  }

  #call({ id, params }: Request, end: string): boolean {
    if (params === undefined || !isPlainCall(params)) return false;
    const name = params.name as string;
    if (!this.#calls.has(name)) {
      this.#writer.write(errorLine(id, rpcErrors.invalidParams, unknownToolMessage(name)));
      return true;
    }
    const call = new DirectCall();
    this.#inFlight.set(id, call);
    const running = this.#calls.run(name, params.arguments, (params._meta as Params | undefined)?.[requestKeyMember], call).then((outcome) => {
      // A second request under the same id may have taken the place.
      if (this.#inFlight.get(id) === call) this.#inFlight.delete(id);
      this.#running.delete(running);
      if (call.cancelled) return;
      this.#writer.whenRoom(() => {
        if (this.#writer.gone) return;
        const { json, texts, isError } = answerOf(outcome);
        const content = texts.map((text) => `{"type":"text","text":${JSON.stringify(text)}}`).join();
        this.#answer(id, `{"content":[${content}],"structuredContent":${json}${isError ? ',"isError":true' : ""}${end}}`);
      });
    });
    this.#running.add(running);
    return true;
  }

  #answer(id: RequestId, result: string): void {
    this.#writer.write(`{"result":${result},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`);
  }
}

const secretId = (): string => `holdfast-${randomHex(32)}`;

/** No parameters but `_meta`. */
function isBare(params: Params | undefined): boolean {
  for (const member in params) if (member !== "_meta") return false;
  return true;
}

/** `name`, `arguments` and `_meta` alone. An own `__proto__` is left to the SDK, which has its own opinion of it. */
function isPlainCall(params: Params): boolean {
  for (const member in params) if (member !== "name" && member !== "arguments" && member !== "_meta") return false;
  const { arguments: args } = params;
  return typeof params.name === "string" && (args === undefined || (isPlainObject(args) && !Object.hasOwn(args, "__proto__")));
}
