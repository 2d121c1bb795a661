import type { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { isHoldfastError } from "../../kernel/errors.ts";
import type { AnswerGates } from "../../store/answer-gates.ts";
import { theClient } from "../../store/answer-gates.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { Message, Request, RequestId } from "./json-rpc.ts";
import { errorLine, isNotification, isRequest, rpcErrors } from "./json-rpc.ts";
import type { LineWriter } from "./line-writer.ts";
import { listenedUris } from "./listened-uris.ts";
import type { SdkParts } from "./sdk-server.ts";
import { createSdkServer } from "./sdk-server.ts";
import { Subscriptions } from "./subscriptions.ts";

interface SdkHandlerOptions extends Omit<SdkParts, "subscriptions" | "answering"> {
  readonly base: ToolBase;
  readonly gates: AnswerGates;
  readonly writer: LineWriter;
  /** A request was answered or cancelled. */
  readonly onSettled: () => void;
  /** The first message of a connection opened elsewhere: passed to the SDK first, and its response discarded. */
  readonly opening: Request | undefined;
}

type Transport = NonNullable<NonNullable<Parameters<typeof serveStdio>[1]>["transport"]>;
type SdkMessage = Parameters<Transport["send"]>[0];

/** The subscriber in the handshake era: the connection as a whole. */
const connectionItself = Symbol("connection");

/** The SDK's end of a connection. Loaded only when a message needs it: many connections never do. */
export class SdkHandler {
  readonly #writer: LineWriter;
  readonly #onSettled: () => void;
  readonly #subscriptions: Subscriptions;
  readonly #handle: { close(): Promise<void> };
  readonly #wire: Transport;
  readonly #openingId: RequestId | undefined;
  /** The number of requests per id without a response: a client may use an id twice. */
  readonly #unanswered = new Map<RequestId, number>();
  #unansweredCount = 0;
  #server: Server | undefined;
  #whenIdle: (() => void) | undefined;
  #order: Promise<void> = Promise.resolve();
  #lastRoom: Promise<void> = Promise.resolve();

  constructor(options: SdkHandlerOptions) {
    const { writer, onSettled, log, opening, gates } = options;
    this.#writer = writer;
    this.#onSettled = onSettled;
    this.#openingId = opening?.id;
    this.#subscriptions = new Subscriptions({
      base: options.base,
      log,
      // The SDK knows which listen requests subscribed to the URI.
      notify: (uri) => void this.#server?.sendResourceUpdated({ uri }).catch((error: unknown) => log("warn", "notification_failed", { problem: String(error) })),
    });
    this.#wire = { start: async () => {}, send: async (message) => this.#emit(message), close: async () => this.#wire.onclose?.() };
    this.#handle = serveStdio(
      () => {
        this.#server = createSdkServer({
          ...options,
          subscriptions: {
            subscribe: (uri) => this.#subscriptions.add(connectionItself, [uri]),
            unsubscribe: async (uri) => this.#subscriptions.remove(connectionItself, [uri]),
          },
          answering: async (signal, work) => {
            const gate = gates.open(theClient);
            try {
              const result = await work({ signal, gate });
              await this.#room();
              return result;
            } finally {
              setImmediate(() => gate.release());
            }
          },
        });
        return this.#server;
      },
      { transport: this.#wire, onerror: (error) => log("warn", "protocol_problem", { problem: error.message.slice(0, 300) }) },
    );
    if (opening !== undefined) this.#wire.onmessage?.(opening as SdkMessage);
  }

  /** Delivers messages in order, even if one has to wait for its subscription. */
  deliver(message: Message): void {
    const listened = isRequest(message) && message.method === "subscriptions/listen" ? listenedUris(message) : [];
    if (isRequest(message) && message.method !== "subscriptions/listen") {
      this.#unanswered.set(message.id, (this.#unanswered.get(message.id) ?? 0) + 1);
      this.#unansweredCount += 1;
    }
    this.#order = this.#order.then(async () => {
      if (isRequest(message) && listened.length > 0 && !(await this.#listen(message, listened))) return;
      if (isNotification(message) && message.method === "notifications/cancelled") this.#forget(message.params?.requestId);
      this.#wire.onmessage?.(message as SdkMessage);
    });
  }

  get unanswered(): number {
    return this.#unansweredCount;
  }

  /** Requests that the SDK silently dropped must not count as running forever. */
  forgetUnanswered(): void {
    this.#unanswered.clear();
    this.#unansweredCount = 0;
    this.#whenIdle?.();
  }

  /** Resolves when every request has its response. */
  settled(): Promise<void> {
    if (this.#unansweredCount === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenIdle = resolve;
    });
  }

  async close(): Promise<void> {
    this.#subscriptions.close();
    await this.#handle.close();
  }

  /** One at a time, each in its own turn: the SDK builds and sends a response within one turn, and it must be counted before the next is built. */
  #room(): Promise<void> {
    const room = this.#lastRoom.then(() => new Promise<void>((resolve) => this.#writer.whenRoom(resolve)));
    this.#lastRoom = room.then(() => new Promise((resolve) => setImmediate(resolve)));
    return room;
  }

  /** The watch is open before the SDK confirms the subscription, so that no change is missed in between. */
  async #listen({ id }: Request, uris: readonly string[]): Promise<boolean> {
    try {
      await this.#subscriptions.add(id, uris);
      return true;
    } catch (error) {
      const known = isHoldfastError(error);
      this.#writer.write(
        errorLine(id, known && error.code === "limit_exceeded" ? rpcErrors.invalidParams : rpcErrors.internal, known ? error.message : "The subscription could not be started."),
      );
      return false;
    }
  }

  /** Cancelled: the SDK will not respond. */
  #forget(id: unknown): void {
    this.#subscriptions.remove(id);
    this.#answered(id, this.#unanswered.get(id as RequestId));
  }

  #emit(message: SdkMessage): void {
    const answered = "result" in message || "error" in message ? message.id : undefined;
    if (answered !== undefined && answered === this.#openingId) return;
    this.#writer.write(JSON.stringify(message));
    if (answered === undefined) return;
    // A rejected subscription also ends here.
    this.#subscriptions.remove(answered);
    this.#answered(answered, 1);
  }

  #answered(id: unknown, count = 0): void {
    const open = this.#unanswered.get(id as RequestId);
    if (open === undefined) return;
    if (open > count) this.#unanswered.set(id as RequestId, open - count);
    else this.#unanswered.delete(id as RequestId);
    this.#unansweredCount -= count;
    this.#onSettled();
    if (this.#unansweredCount === 0) this.#whenIdle?.();
  }
}
