import type { IncomingMessage } from "node:http";
import type { Readable, Writable } from "node:stream";
import { Budget } from "../../kernel/budget.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { RetryDelay } from "../../kernel/retry-delay.ts";
import type { Message, RequestId } from "../mcp/json-rpc.ts";
import { errorLine, isNotification, isRequest, isRequestId, rpcErrors } from "../mcp/json-rpc.ts";
import { LineReader } from "../mcp/line-reader.ts";
import { LineWriter } from "../mcp/line-writer.ts";
import { messageLimits, readBatch, readMessage } from "../mcp/read-message.ts";
import { BridgeConnection, isEvents } from "./bridge-connection.ts";
import type { BridgeCredential } from "./credential.ts";
import { closedLine, refusalLine, unansweredLine } from "./failure-line.ts";
import { followSession } from "./follow-session.ts";
import { keepListening, listenedTo, updatedLine } from "./listen.ts";
import type { ServerMessage } from "./messages-in.ts";
import { messagesIn, noMcp, oneLine, WrongAnswer } from "./messages-in.ts";
import type { Outgoing } from "./outgoing.ts";
import { outgoing, outgoingBatch } from "./outgoing.ts";
import { discard, readAnswerBody, readAnswerEvents } from "./read-answer.ts";
import { ConnectionFailure, Remote } from "./remote.ts";

export interface BridgeOptions {
  readonly url: URL;
  readonly credential: BridgeCredential;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly clock: Clock;
  readonly log: Log;
  /** How long a request waits for an unreachable server before it is answered with an error; 15 s by default. */
  readonly retryForMs?: number;
  /** How long requests may continue after the client closes its side; 10 s by default. */
  readonly endMsMax?: number;
  /** Set for servers other than Holdfast, where a request key does not make it safe to send a call twice. */
  readonly isForeign?: boolean;
  /** Called for requests that the server will not answer, instead of writing the line to the client. */
  readonly onUnanswered?: (unanswered: Unanswered) => void;
}

/** A request that the server did not answer, and the error line for the client. */
export interface Unanswered {
  readonly id: RequestId;
  readonly line: string;
  /** False if the server cannot have acted on the request. */
  readonly mayHaveHappened: boolean;
}

/** With this many requests in flight, the bridge stops reading, and further requests wait on the client's side. */
const inFlightMax = 256;
/** Memory limit for answers on their way to a slow client. */
const answersBytesMax = 134_217_728;
const partBytes = 65_536;
const farewellMsMax = 1_000;
const otherAnswer = "answered a different request";

/**
 * Serves MCP over standard input and output by passing every message on to a server over HTTP. Resolves when the client has closed its side and got its
 * answers, or is gone. Resolves to false if the server did not answer the last requests.
 */
export const bridge = (options: BridgeOptions): Promise<boolean> => new Bridge(options).run();

type OnAnswer = (response: IncomingMessage, answer: ServerMessage) => void;
const listenMethod = "subscriptions/listen";

class Bridge {
  readonly #options: BridgeOptions;
  readonly #remote: Remote;
  readonly #connection: BridgeConnection;
  readonly #reader: LineReader;
  readonly #writer: LineWriter;
  readonly #budget = new Budget(answersBytesMax);
  /** Ends the session's event stream. */
  readonly #over = new AbortController();
  readonly #exchanges = new Set<Promise<void>>();
  readonly #byId = new Map<RequestId, Outgoing>();
  readonly #shownServer: string;
  #greeted: Promise<void> = Promise.resolve();
  #followed: string | undefined;
  /** Set when the client closes its side: after this time, an unreachable server is no longer retried. */
  #endsAtMs = Number.POSITIVE_INFINITY;
  #unansweredAtEnd = 0;

  constructor(options: BridgeOptions) {
    const { url, credential, log, stdin, stdout } = options;
    this.#options = options;
    this.#shownServer = url.href;
    this.#remote = new Remote(url, credential);
    this.#connection = new BridgeConnection({ remote: this.#remote, credential, log });
    this.#writer = new LineWriter(stdout, { onGone: () => void stdin.destroy(), onRoom: () => this.#resume() });
    this.#reader = new LineReader(
      {
        onLine: (line) => this.#take(line),
        mayTake: () => this.#exchanges.size < inFlightMax && !this.#writer.congested,
        onOverlong: () => this.#writer.write(errorLine(null, rpcErrors.invalidRequest, `A message must be at most ${messageLimits.bytesMax} bytes.`)),
      },
      messageLimits.refusableBytesMax,
    );
  }

  async run(): Promise<boolean> {
    const { stdin, clock, endMsMax = 10_000 } = this.#options;
    await new Promise<void>((resolve) => {
      stdin.on("data", (chunk: Buffer) => {
        if (!this.#reader.push(chunk)) stdin.pause();
      });
      stdin
        .once("end", resolve)
        .once("close", resolve)
        .once("error", () => resolve());
    });
    // Retries may use half of the time; the other half is for answers to requests already sent.
    this.#endsAtMs = clock.nowMs() + endMsMax / 2;
    this.#reader.end();
    const late = new AbortController();
    if (!this.#writer.gone) await Promise.race([this.#settled(), clock.sleep(endMsMax, late.signal)]);
    late.abort();
    this.#over.abort();
    for (const message of new Set(this.#byId.values())) this.#giveUp(message);
    await this.#sayFarewell();
    await this.#writer.finish();
    await this.#remote.close();
    return this.#unansweredAtEnd === 0 || this.#writer.gone;
  }

  /** No caller waits for the end of a subscription; every other request gets an error, because no answer will come. */
  #giveUp({ abort, method, unanswered, isRepeatable }: Outgoing): void {
    const isCancelled = abort.signal.aborted;
    abort.abort();
    if (isCancelled || method === listenMethod) return;
    this.#unansweredAtEnd += unanswered.size;
    for (const id of unanswered) void this.#leaveUnanswered({ id, line: closedLine(id, this.#shownServer, !isRepeatable), mayHaveHappened: true });
  }

  async #settled(): Promise<void> {
    while (this.#exchanges.size > 0) await Promise.allSettled(this.#exchanges);
  }

  #resume(): void {
    const { stdin } = this.#options;
    if (stdin.isPaused() && this.#reader.resume()) stdin.resume();
  }

  #take(line: Buffer): void {
    const batch = readBatch(line);
    if (batch !== undefined) {
      if (!batch.ok) return this.#writer.write(errorLine(null, batch.code, batch.problem));
      const messages = batch.lines.map(readMessage).flatMap((read) => (read.ok ? [read.message] : []));
      return this.#begin(outgoingBatch(line, messages), undefined);
    }
    const read = readMessage(line);
    if (!read.ok) return this.#writer.write(errorLine(read.id, read.code, read.problem));
    const { message } = read;
    if (isNotification(message) && message.method === "notifications/cancelled" && this.#cancelled(message.params?.requestId)) return;
    this.#begin(outgoing(line, message, this.#options.isForeign), message);
  }

  /**
   * Closing the connection cancels a request. Returns true if that is enough, as in the protocol without sessions. The earlier protocol needs the notification
   * too. The notification alone is not enough: on another connection it may overtake its request and would then be ignored.
   */
  #cancelled(id: unknown): boolean {
    const cancelled = isRequestId(id) ? this.#byId.get(id) : undefined;
    cancelled?.abort.abort();
    return cancelled?.envelope !== undefined;
  }

  #begin(message: Outgoing, original: Message | undefined): void {
    for (const id of message.ids) this.#byId.set(id, message);
    const exchange = this.#exchange(message, original)
      .catch((failure: unknown) => this.#fail(message, failure))
      .finally(() => {
        for (const id of message.ids) if (this.#byId.get(id) === message) this.#byId.delete(id);
        this.#exchanges.delete(exchange);
        this.#resume();
      });
    // A subscription lasts: no caller waits for its end, and it takes no other request's slot.
    if (message.method !== listenMethod) this.#exchanges.add(exchange);
  }

  async #exchange(message: Outgoing, original: Message | undefined): Promise<void> {
    if (original !== undefined && isRequest(original)) {
      if (original.method === "initialize") {
        this.#greeted = this.#greet(message).catch((failure: unknown) => this.#fail(message, failure));
        return this.#greeted;
      }
      if (original.method === listenMethod && message.envelope !== undefined) return this.#keepListening(message, original.id, original.params);
    }
    // Later messages belong to the session that the initialize request opens.
    if (message.envelope === undefined) await this.#greeted;
    const { params } = (original ?? {}) as { readonly params?: Readonly<Record<string, unknown>> };
    const answer = await this.#untilAnswered(message);
    if (answer && typeof params?.uri === "string") {
      if (message.method === "resources/subscribe") this.#connection.session.subscribe(params.uri);
      if (message.method === "resources/unsubscribe") this.#connection.session.unsubscribe(params.uri);
    }
    if (message.method === "notifications/initialized") this.#follow();
  }

  async #greet(message: Outgoing): Promise<void> {
    this.#connection.session.forget();
    await this.#untilAnswered(message, (response, { result }) => {
      if (result !== undefined) this.#connection.session.begin(message.body, response, result);
    });
  }

  /** Sends the message until its answer is complete, if it may be sent again. Returns true if it was answered with a result or needs no answer. */
  async #untilAnswered(message: Outgoing, onAnswer?: OnAnswer): Promise<boolean> {
    const retryDelay = this.#retryDelay(message.abort.signal);
    for (;;) {
      const response = await this.#connection.post(message, retryDelay);
      try {
        return await this.#deliver(message, response, onAnswer);
      } catch (failure) {
        if (!(failure instanceof ConnectionFailure) || !message.isRepeatable || !(await retryDelay.wait())) throw failure;
      }
    }
  }

  /** Passes on an answer. Rejects if the answer is incomplete. */
  async #deliver(message: Outgoing, response: IncomingMessage, onAnswer?: OnAnswer): Promise<boolean> {
    const { statusCode = 0, headers } = response;
    if (statusCode < 200 || statusCode > 299) return this.#refuse(message, response);
    if (isEvents(response)) return this.#deliverEvents(message, response, onAnswer);
    if (message.ids.length === 0 || statusCode === 202 || statusCode === 204) {
      discard(response);
      return this.#requireAnswered(message, "accepted this request without answering it");
    }
    const holding = this.#budget.open();
    await holding.reserve(Number(headers["content-length"] ?? partBytes) || partBytes);
    try {
      const text = (await readAnswerBody(response)).toString("utf8");
      const messages = messagesIn(text);
      // An error without an id belongs to this request: the server could not read as far as the id.
      if (messages === undefined || (messages.length === 1 && messages[0]?.id === null)) return this.#refuse(message, response, text);
      const isResult = await this.#passAnswers(message, messages, text, (answer) => onAnswer?.(response, answer));
      return this.#requireAnswered(message, otherAnswer) && isResult;
    } finally {
      holding.release();
    }
  }

  async #deliverEvents(message: Outgoing, response: IncomingMessage, onAnswer?: OnAnswer): Promise<boolean> {
    let isResult = true;
    let problem: string | undefined;
    for await (const { data } of readAnswerEvents(response)) {
      if (data === "") continue;
      const messages = messagesIn(data);
      if (messages === undefined) problem = noMcp;
      else if (!(await this.#passAnswers(message, messages, data, (answer) => onAnswer?.(response, answer)))) isResult = false;
      if (messages?.some(({ id, method }) => method === undefined && !message.ids.includes(id as RequestId))) problem ??= otherAnswer;
    }
    // Another attempt may bring the missing answers only if the stream contained nothing wrong.
    if (problem === undefined && message.unanswered.size > 0) throw new ConnectionFailure("cut", { code: "the stream ended" });
    return this.#requireAnswered(message, problem ?? otherAnswer) && isResult;
  }

  /** Passes on the server's messages, whichever request they answer. Returns true if no request of this message was answered with an error. */
  async #passAnswers(message: Outgoing, messages: readonly ServerMessage[], text: string, onAnswer: (answer: ServerMessage) => void): Promise<boolean> {
    const answers = messages.filter(({ id, method }) => method === undefined && message.unanswered.has(id as RequestId));
    await this.#pass(oneLine(text), () => {
      for (const answer of answers) {
        message.unanswered.delete(answer.id as RequestId);
        onAnswer(answer);
      }
    });
    return answers.every(({ error }) => error === undefined);
  }

  #requireAnswered({ unanswered }: Outgoing, problem: string): true {
    if (unanswered.size > 0) throw new WrongAnswer(problem);
    return true;
  }

  async #refuse(message: Outgoing, response: IncomingMessage, body?: string): Promise<boolean> {
    const { statusCode = 0 } = response;
    const text = body ?? (await readAnswerBody(response)).toString("utf8");
    if (message.ids.length === 0) this.#options.log("warn", "message_refused", { status: statusCode, method: message.method });
    // With a 3xx or 4xx status, the server did not act on the request. With any other status, it may have.
    for (const id of message.ids)
      await this.#leaveUnanswered({ id, line: refusalLine(id, response, text, this.#shownServer), mayHaveHappened: statusCode < 300 || statusCode > 499 });
    return false;
  }

  async #leaveUnanswered(unanswered: Unanswered): Promise<void> {
    const { onUnanswered } = this.#options;
    if (onUnanswered === undefined) await this.#pass(unanswered.line);
    else onUnanswered(unanswered);
  }

  #fail(message: Outgoing, failure: unknown): void {
    // The request was cancelled or given up, so no caller waits for an answer.
    if (message.abort.signal.aborted) return;
    this.#options.log("warn", "request_failed", { method: message.method, reason: failure instanceof ConnectionFailure ? failure.reason : String(failure) });
    if (Number.isFinite(this.#endsAtMs)) this.#unansweredAtEnd += message.unanswered.size;
    const mayHaveHappened = !(failure instanceof ConnectionFailure) || failure.kind === "cut";
    for (const id of message.unanswered) void this.#leaveUnanswered({ id, line: unansweredLine(id, failure, this.#shownServer, !message.isRepeatable), mayHaveHappened });
  }

  #keepListening(message: Outgoing, id: RequestId, params: Readonly<Record<string, unknown>> | undefined): Promise<void> {
    const { signal } = message.abort;
    const lasting = this.#retryDelay(signal, Number.POSITIVE_INFINITY);
    return keepListening({
      listened: listenedTo(id, params),
      signal,
      open: async (isFirst) => {
        const response = await this.#connection.post(message, isFirst ? this.#retryDelay(signal) : lasting);
        if (response.statusCode === 200) lasting.reset();
        return response;
      },
      wait: () => lasting.wait(),
      pass: (line) => this.#pass(line),
      deliver: async (response) => void (await this.#deliver(message, response)),
    });
  }

  /** Opens one stream per session; a server without sessions has no stream. */
  #follow(): void {
    const { id } = this.#connection.session;
    if (id === undefined || this.#followed !== undefined) return;
    this.#followed = id;
    const { signal } = this.#over;
    followSession({
      remote: this.#remote,
      connection: this.#connection,
      renewsCredential: () => this.#options.credential.renew(),
      retryDelay: this.#retryDelay(signal, Number.POSITIVE_INFINITY),
      signal,
      pass: (line) => this.#passOwn(line),
      onMissed: (uris) => this.#tellUpdated(uris),
      onRefused: (status) => this.#options.log("warn", "stream_refused", { status }),
    })
      .catch((error: unknown) => this.#options.log("warn", "stream_failed", { reason: String(error) }))
      .finally(() => {
        this.#followed = undefined;
      });
  }

  /** Passes on messages that the server sends unasked. Data that is not a message would only confuse the client, so it is dropped. */
  async #passOwn(text: string): Promise<void> {
    if (messagesIn(text) === undefined) this.#options.log("warn", "event_unreadable");
    else await this.#pass(oneLine(text));
  }

  #tellUpdated(uris: readonly string[]): void {
    for (const uri of uris) this.#writer.write(updatedLine(uri));
  }

  /** Writes when there is room, so that a slow client slows down reading from the server. */
  #pass(line: string, onWritten?: () => void): Promise<void> {
    return new Promise((resolve) =>
      this.#writer.whenRoom(() => {
        onWritten?.();
        this.#writer.write(line);
        resolve();
      }),
    );
  }

  #retryDelay(signal: AbortSignal, forMs = this.#options.retryForMs ?? 15_000): RetryDelay {
    return new RetryDelay({ clock: this.#options.clock, forMs, signal, endsAtMs: () => this.#endsAtMs });
  }

  /** Ends the session on the server, because it is no longer needed. */
  async #sayFarewell(): Promise<void> {
    const { headers, id } = this.#connection.session;
    if (id === undefined) return;
    const response = await this.#remote.open({ method: "DELETE", headers, signal: AbortSignal.timeout(farewellMsMax) }).catch(() => undefined);
    if (response !== undefined) discard(response);
  }
}
