import type { IncomingMessage } from "node:http";
import { HoldfastError, isHoldfastError } from "../../../kernel/errors.ts";
import type { Log } from "../../../kernel/log.ts";
import type { DirectAnswer } from "../direct-answers.ts";
import { eraEnvelopeOf } from "../era-envelope.ts";
import { handshakeVersions } from "../greeting.ts";
import type { Message, Request, RequestId } from "../json-rpc.ts";
import { errorLine, isRequest, isRequestId, rpcErrors } from "../json-rpc.ts";
import { readMessage } from "../read-message.ts";
import { eventOf, httpFailure, sendAccepted, sendAnswer, sendRpcFailure, sendRpcJson, startEvents } from "./answer-http.ts";
import type { Fixtures } from "./fixtures.ts";
import { HttpCall } from "./http-call.ts";
import type { McpPost } from "./mcp-post.ts";
import type { McpSession, McpSessions } from "./mcp-sessions.ts";
import type { ResourceHubs } from "./resource-hubs.ts";
import type { SdkHttpHandler } from "./sdk-http-handler.ts";
import { SessionStream } from "./session-stream.ts";

interface HandshakeEraOptions {
  readonly log: Log;
  readonly sessions: McpSessions;
  readonly hubs: ResourceHubs;
  readonly fastPath: boolean;
  readonly fixtures: Fixtures | undefined;
  sdk(): Promise<SdkHttpHandler>;
  /** Resolves after a turn of the event loop, when the caller may continue. */
  nextTurn(access: McpPost["access"]): Promise<void>;
}

/** The total size of the responses to one batch, equal to the maximum size of a batch; later messages are rejected. */
export const batchAnswerCharactersMax = 8_388_608;

/** The first protocol version whose clients can read an event without a message. */
const primedVersion = "2025-11-25";

/** The protocol versions with a handshake, over HTTP. */
export class HandshakeEra {
  readonly #options: HandshakeEraOptions;
  /** Waiting calls of a session, by session and request id. A call without a session is cancelled only by closing its connection. */
  readonly #cancellable = new Map<string, HttpCall>();
  readonly #streams = new Map<string, SessionStream>();

  constructor(options: HandshakeEraOptions) {
    this.#options = options;
  }

  async post(post: McpPost, message: Message): Promise<void> {
    const { response, context, accepted } = post;
    if (isRequest(message) && message.method === "initialize") return this.#initialize(post, message);
    const session = await this.#admit(post, isRequest(message) ? message.id : null);
    if (session === "refused") return;
    if (!isRequest(message)) {
      this.#notice(message, session);
      return sendAccepted(response);
    }
    const direct = this.#options.fastPath ? context.answers.handshake(message) : undefined;
    if (typeof direct === "string") return sendAnswer(response, accepted, direct);
    const answer = direct === undefined ? await this.#sdkAnswer(post, message, session) : await this.#run(post, message.id, direct, session);
    if (answer === undefined) sendAccepted(response);
    else if (response.headersSent) response.end(eventOf(answer));
    else sendAnswer(response, accepted, answer);
  }

  /** Handles the messages of a batch, each as if it were a line of its own. */
  async postBatch(post: McpPost, lines: readonly Buffer[]): Promise<void> {
    const session = await this.#admit(post, null);
    if (session === "refused") return;
    const { response, accepted, access } = post;
    // Each message may listen for the caller's disconnect; this many listeners are not a leak.
    response.setMaxListeners(0);
    const answering: Promise<string | undefined>[] = [];
    let characters = 0;
    for (const [i, line] of lines.entries()) {
      if (i > 0) await this.#options.nextTurn(access);
      if (response.destroyed) return;
      // The next message starts when this one has a response or only waits for something.
      await new Promise<void>((resolve) => {
        const openWait = (end: () => void): (() => void) => {
          resolve();
          return access.openWait?.(end) ?? (() => {});
        };
        const refusal = i > 0 ? this.#refusalWithin(access, line, characters) : undefined;
        const answer = refusal ?? this.#batched({ ...post, access: { ...access, openWait } }, line, session);
        answering.push(
          Promise.resolve(answer).then((text) => {
            characters += text?.length ?? 0;
            return text === "" ? undefined : text;
          }),
        );
        answering.at(-1)?.then(
          () => resolve(),
          () => resolve(),
        );
      });
    }
    const answers = (await Promise.all(answering)).filter((answer) => answer !== undefined);
    if (answers.length === 0) return sendAccepted(response);
    if (accepted.json) return sendRpcJson(response, 200, `[${answers.join()}]`);
    startEvents(response);
    if (!response.destroyed) response.end(answers.map((answer) => eventOf(answer)).join(""));
  }

  /** The stream that notifies a session of changes. */
  async stream(post: McpPost): Promise<void> {
    const { request, response, access, context, accepted } = post;
    if (!accepted.events) return sendRpcFailure(response, 406, httpFailure, "Accept: must allow text/event-stream.");
    const session = await this.#admit(post, null);
    if (session === "refused") return;
    if (session === undefined) return refuseMethod(post);
    const { log, sessions, hubs } = this.#options;
    access.openStream?.();
    const version = versionOf(request);
    const stream = new SessionStream({
      session,
      context,
      sessions,
      hubs,
      response,
      log,
      resumeAfter: eventIdOf(request),
      primes: version !== undefined && version >= primedVersion,
    });
    // A message is sent on one stream only; a client that connects again has lost the earlier stream.
    this.#streams.get(session.id)?.end();
    this.#streams.set(session.id, stream);
    try {
      await stream.serve();
    } finally {
      if (this.#streams.get(session.id) === stream) this.#streams.delete(session.id);
    }
  }

  /** The client no longer needs its session. */
  async end(post: McpPost): Promise<void> {
    const { request, response, access } = post;
    const id = sessionIdOf(request);
    if (id === undefined) return refuseMethod(post);
    if (!(await this.#options.sessions.end(id, access))) return refuseSession(post, null);
    response.writeHead(200, { "content-length": 0 });
    response.end();
  }

  stop(): void {
    for (const stream of this.#streams.values()) stream.end();
  }

  async #initialize(post: McpPost, message: Request): Promise<void> {
    const { response, access, context, accepted } = post;
    const answer = (this.#options.fastPath ? context.answers.initialize(message) : undefined) ?? (await this.#sdkAnswer(post, message, undefined));
    if (answer === undefined) return sendAccepted(response);
    // Both paths write `result` first in a result, and `jsonrpc` first in an error.
    if (!answer.startsWith('{"result"')) return sendAnswer(response, accepted, answer);
    // Each invented name would take a slot forever, so such a client is served without a session.
    if ((await access.opensSession?.()) === false) return sendAnswer(response, accepted, answer);
    const { id } = await this.#options.sessions.open(access);
    sendAnswer(response, accepted, answer, { "mcp-session-id": id });
  }

  /** The session that the request names, or undefined if it names none. "refused": an error response was sent. */
  async #admit(post: McpPost, requestId: RequestId | null): Promise<McpSession | undefined | "refused"> {
    const { request, response, access } = post;
    const version = versionOf(request);
    if (version !== undefined && !isHandshakeVersion(version)) {
      sendRpcFailure(response, 400, httpFailure, `Bad Request: Unsupported protocol version: ${version} (supported versions: ${handshakeVersions.join(", ")})`, requestId);
      return "refused";
    }
    const id = sessionIdOf(request);
    if (id === undefined) return undefined;
    const session = await this.#options.sessions.find(id, access);
    if (session !== undefined) return session;
    refuseSession(post, requestId);
    return "refused";
  }

  async #run(post: McpPost, id: RequestId, answer: Exclude<DirectAnswer, string>, session: McpSession | undefined): Promise<string | undefined> {
    const call = this.#callOf(post, id, session);
    const make = await answer(call, session?.label);
    await post.gate.turn();
    this.#forget(id, call, session);
    return call.cancelled ? undefined : make();
  }

  async #sdkAnswer(post: McpPost, request: Request, session: McpSession | undefined, isBatched = false): Promise<string | undefined> {
    const { response, context, access, accepted } = post;
    const call = this.#callOf(post, request.id, session);
    const sdk = await this.#options.sdk();
    const { sessions } = this.#options;
    const subscriptions = {
      subscribe: async (uri: string) => {
        if (session === undefined) throw noSession();
        const { revision } = await access.base.store.position();
        await sessions.subscribe(session, access, uri, revision);
      },
      unsubscribe: async (uri: string) => {
        if (session === undefined) throw noSession();
        await sessions.unsubscribe(session, access, uri);
      },
    };
    const onNote = (line: string): void => {
      if (!accepted.events || isBatched || response.destroyed) return;
      startEvents(response);
      response.write(eventOf(line));
    };
    const answer = await sdk.handshake(request, { context, subscriptions, connection: session?.label, request: response.req, call }, call.signal, onNote);
    this.#forget(request.id, call, session);
    return answer;
  }

  /** Only a waiting call can be cancelled: any other call is finished before the cancellation could arrive. */
  #callOf(post: McpPost, id: RequestId, session: McpSession | undefined): HttpCall {
    return new HttpCall(post, session && ((call) => void this.#cancellable.set(callName(session, id), call)));
  }

  #forget(id: RequestId, call: HttpCall, session: McpSession | undefined): void {
    if (session === undefined || this.#cancellable.size === 0) return;
    const name = callName(session, id);
    // A second request with the same id may have replaced this one.
    if (this.#cancellable.get(name) === call) this.#cancellable.delete(name);
  }

  /** Handles a notification, or a response to a request that the product never sends. */
  #notice(message: Message, session: McpSession | undefined): void {
    if (!("method" in message)) return this.#options.fixtures?.answered(message);
    if (session === undefined || message.method !== "notifications/cancelled") return;
    const id = message.params?.requestId;
    if (isRequestId(id)) this.#cancellable.get(callName(session, id))?.cancel();
  }

  /** Why a message of a batch is rejected; empty if its sender expects no response. */
  #refusalWithin({ charge }: McpPost["access"], line: Buffer, characters: number): string | undefined {
    const refuse = (code: string, problem: string): string => {
      const read = readMessage(line);
      return read.ok && isRequest(read.message) ? errorLine(read.message.id, httpFailure, problem, { code }) : "";
    };
    if (characters > batchAnswerCharactersMax)
      return refuse("limit_exceeded", `The answers to one batch may have ${batchAnswerCharactersMax} characters; send this message again.`);
    try {
      charge?.();
      return undefined;
    } catch (error) {
      if (isHoldfastError(error)) return refuse(error.code, error.message);
      throw error;
    }
  }

  async #batched(post: McpPost, line: Buffer, session: McpSession | undefined): Promise<string | undefined> {
    const read = readMessage(line);
    if (!read.ok) return errorLine(read.id, read.code, read.problem);
    const { message } = read;
    if (!isRequest(message)) {
      this.#notice(message, session);
      return undefined;
    }
    if (message.method === "initialize") return errorLine(message.id, rpcErrors.invalidRequest, "The handshake cannot be part of a batch.");
    if (eraEnvelopeOf(message.params) !== "none") return errorLine(message.id, rpcErrors.invalidRequest, "Requests of this revision are no part of a batch.");
    const direct = this.#options.fastPath ? post.context.answers.handshake(message) : undefined;
    if (typeof direct === "string") return direct;
    return direct === undefined ? this.#sdkAnswer(post, message, session, true) : this.#run(post, message.id, direct, session);
  }
}

/** At most one header of this name: the front has rejected repeated ones, and Node joins the rest. */
export const versionOf = ({ headers }: IncomingMessage): string | undefined => headers["mcp-protocol-version"] as string | undefined;
export const isHandshakeVersion = (version: string): boolean => (handshakeVersions as readonly string[]).includes(version);

const sessionIdOf = ({ headers }: IncomingMessage): string | undefined => headers["mcp-session-id"] as string | undefined;
const callName = ({ id }: McpSession, requestId: RequestId): string => `${id} ${JSON.stringify(requestId)}`;

/** Another caller's session, an ended one and one that never existed get the same response. */
const refuseSession = ({ response }: McpPost, id: RequestId | null): void => sendRpcFailure(response, 404, -32_001, "Session not found", id);

/** Without a session there is nothing to stream and nothing to end. Users who open the address in a browser see this. */
export const refuseMethod = ({ response }: Pick<McpPost, "response">): void =>
  sendRpcFailure(response, 405, httpFailure, "Send MCP messages by POST; the dashboard is at /.", null, { allow: "POST" });

const noSession = (): HoldfastError => new HoldfastError("invalid_input", "Subscriptions require a session: send the id from the handshake as Mcp-Session-Id.");

function eventIdOf({ headers }: IncomingMessage): number | undefined {
  const id = headers["last-event-id"];
  return typeof id === "string" && /^\d{1,15}$/.test(id) ? Number(id) : undefined;
}
