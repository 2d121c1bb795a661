import type { Log } from "../../kernel/log.ts";
import { isPlainCapabilities, isPlainImplementation } from "./era-envelope.ts";
import type { Greeting } from "./greeting.ts";
import { handshakeVersions, movingCacheHint, statelessVersion, staticCacheHint } from "./greeting.ts";
import type { Params, Request, RequestId } from "./json-rpc.ts";
import { errorLine, isPlainObject, rpcErrors } from "./json-rpc.ts";
import type { TracedRequest, TransportCall } from "./mcp-spans.ts";
import type { Resources } from "./resources.ts";
import { rpcFailureOf } from "./rpc-failure.ts";
import type { CallOutcome, ToolCalls } from "./tool-calls.ts";
import { answerOf, requestKeyMember, unknownToolMessage } from "./tool-calls.ts";

/**
 * The fast path's response to one request: a line, or work that ends in one. The line is built last because
 * its source data is several times smaller.
 */
export type DirectAnswer = string | ((call: TransportCall, connection?: string) => Promise<() => string>);

interface AnswersOptions {
  readonly calls: ToolCalls;
  readonly resources: Resources;
  readonly greeting: Greeting;
  readonly log: Log;
}

type Era = "handshake" | "stateless";

/** The parts of a result that differ between the two eras. */
interface Stamps {
  /** Appended to a one-time result, to a constant list, and to a resource that was read. */
  readonly moment: string;
  readonly lasting: string;
  readonly read: string;
}

/** Constant results, built on first use. They are large, so connections with the same handshake share them. */
const lastingResults = new WeakMap<Greeting, Map<string, string>>();

/**
 * Responds with exactly the SDK's bytes to requests whose shape is fully known. Returns `undefined` for everything else, however slightly unusual, so that the SDK handles it.
 * Both transports use it; they differ only in how messages arrive and leave.
 */
export class DirectAnswers {
  readonly #calls: ToolCalls;
  readonly #resources: Resources;
  readonly #greeting: Greeting;
  readonly #log: Log;
  readonly #stamps: Readonly<Record<Era, Stamps>>;
  readonly #lasting: Map<string, string>;
  /** The protocol version agreed in the handshake; set only if the connection has its own instance. */
  #agreed: string | undefined;

  constructor({ calls, resources, greeting, log }: AnswersOptions) {
    this.#calls = calls;
    this.#resources = resources;
    this.#greeting = greeting;
    this.#log = log;
    this.#lasting = lastingResults.get(greeting) ?? new Map();
    lastingResults.set(greeting, this.#lasting);
    const end = `"_meta":${JSON.stringify({ "io.modelcontextprotocol/serverInfo": greeting.serverInfo })}`;
    const hinted = ({ ttlMs, cacheScope }: typeof staticCacheHint | typeof movingCacheHint): string =>
      `,"resultType":"complete","ttlMs":${ttlMs},"cacheScope":"${cacheScope}",${end}`;
    this.#stamps = {
      handshake: { moment: "", lasting: "", read: "" },
      stateless: { moment: `,"resultType":"complete",${end}`, lasting: hinted(staticCacheHint), read: hinted(movingCacheHint) },
    };
  }

  /** The handshake itself. */
  initialize({ id, params }: Request): string | undefined {
    if (params === undefined || "_meta" in params || typeof params.protocolVersion !== "string") return undefined;
    if (!isPlainCapabilities(params.capabilities) || !isPlainImplementation(params.clientInfo)) return undefined;
    const { capabilities, serverInfo, instructions } = this.#greeting;
    this.#agreed = agreedVersion(params.protocolVersion);
    return answerLine(id, JSON.stringify({ protocolVersion: this.#agreed, capabilities, serverInfo, instructions }));
  }

  /** Any request after the handshake. */
  handshake(request: Request): DirectAnswer | undefined {
    if (request.method === "ping") return isBare(request.params) ? answerLine(request.id, "{}") : undefined;
    return this.#common(request, "handshake");
  }

  /** A request with a plain envelope. */
  stateless(request: Request): DirectAnswer | undefined {
    if (request.method !== "server/discover") return this.#common(request, "stateless");
    if (!isBare(request.params)) return undefined;
    const result = this.#lastingResult("discover", () => {
      const { capabilities, instructions } = this.#greeting;
      const own = JSON.stringify({ supportedVersions: [statelessVersion], capabilities, instructions });
      return `${own.slice(0, -1)}${this.#stamps.stateless.lasting}}`;
    });
    return answerLine(request.id, result);
  }

  #common(request: Request, era: Era): DirectAnswer | undefined {
    switch (request.method) {
      case "tools/call":
        return this.#call(request, era);
      case "tools/list":
        if (!isBare(request.params)) return undefined;
        return answerLine(
          request.id,
          this.#lastingResult(`tools ${era}`, () => `{"tools":${this.#calls.listJson}${this.#stamps[era].lasting}}`),
        );
      case "resources/read":
        return this.#read(request, era);
      default:
        return undefined;
    }
  }

  #call(request: Request, era: Era): DirectAnswer | undefined {
    const { id, params } = request;
    if (params === undefined || !isPlainCall(params)) return undefined;
    const name = params.name as string;
    if (!this.#calls.has(name)) return this.#calls.hasElsewhere(name) ? undefined : errorLine(id, rpcErrors.invalidParams, unknownToolMessage(name));
    const requestKey = (params._meta as Params | undefined)?.[requestKeyMember];
    return async (call, connection) => {
      const outcome = await this.#calls.run(name, params.arguments, requestKey, call, connection, this.#calls.spans && this.#traced(request, era, call));
      return () => callLine(id, outcome, this.#stamps[era].moment);
    };
  }

  #read(request: Request, era: Era): DirectAnswer | undefined {
    const { id, params } = request;
    const uri = params?.uri;
    if (typeof uri !== "string" || !isBare(params, "uri") || this.#resources.target(uri) === undefined) return undefined;
    return async (call, connection) => {
      const span = this.#calls.spans?.open({ ...this.#traced(request, era, call), uri, session: connection });
      try {
        const found = await this.#resources.read(uri, call);
        if (found === undefined) {
          span?.fail(String(rpcErrors.invalidParams));
          return () => errorLine(id, rpcErrors.invalidParams, `Resource not found: ${uri}`, { uri });
        }
        return () => answerLine(id, `{"contents":[${JSON.stringify({ uri, ...found })}]${this.#stamps[era].read}}`);
      } catch (error) {
        const { code, message, data } = rpcFailureOf(error, this.#log);
        span?.fail(String(code));
        return () => errorLine(id, code, message, data);
      } finally {
        span?.end();
      }
    };
  }

  #traced({ method, id, params }: Request, era: Era, { origin }: TransportCall): TracedRequest {
    const agreed = origin === undefined ? this.#agreed : undefined;
    return { method, id, meta: params?._meta, protocolVersion: era === "stateless" ? statelessVersion : agreed, origin };
  }

  #lastingResult(name: string, make: () => string): string {
    let result = this.#lasting.get(name);
    if (result === undefined) {
      result = make();
      this.#lasting.set(name, result);
    }
    return result;
  }
}

/** The protocol version that a handshake agrees on. */
export const agreedVersion = (asked: string): string => ((handshakeVersions as readonly string[]).includes(asked) ? asked : handshakeVersions[0]);

const answerLine = (id: RequestId, result: string): string => `{"result":${result},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`;

function callLine(id: RequestId, outcome: CallOutcome, end: string): string {
  const { json, texts, isError } = answerOf(outcome);
  const content = texts.map((text) => `{"type":"text","text":${JSON.stringify(text)}}`).join();
  return answerLine(id, `{"content":[${content}],"structuredContent":${json}${isError ? ',"isError":true' : ""}${end}}`);
}

/** No parameters except `_meta` and, optionally, one with this name. */
function isBare(params: Params | undefined, own?: string): boolean {
  for (const member in params) if (member !== "_meta" && member !== own) return false;
  return true;
}

/** Only `name`, `arguments` and `_meta`. An own property `__proto__` is left to the SDK, which handles it in its own way. */
function isPlainCall(params: Params): boolean {
  for (const member in params) if (member !== "name" && member !== "arguments" && member !== "_meta") return false;
  const { arguments: args } = params;
  return typeof params.name === "string" && (args === undefined || (isPlainObject(args) && !Object.hasOwn(args, "__proto__")));
}
