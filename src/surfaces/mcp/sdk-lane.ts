import type { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { isHoldfastError } from "../../kernel/errors.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { Message, Request, RequestId } from "./json-rpc.ts";
import { errorLine, isNotification, isPlainObject, isRequest, rpcErrors } from "./json-rpc.ts";
import type { SdkParts } from "./sdk-server.ts";
import { createSdkServer } from "./sdk-server.ts";
import { Subscriptions } from "./subscriptions.ts";

interface LaneOptions extends Omit<SdkParts, "subscriptions"> {
  readonly base: ToolBase;
  readonly send: (line: string) => void;
  /** A connection opened elsewhere: told to the SDK first, its answer swallowed. */
  readonly opening: Request | undefined;
}

type Transport = NonNullable<NonNullable<Parameters<typeof serveStdio>[1]>["transport"]>;
type SdkMessage = Parameters<Transport["send"]>[0];

/** The SDK's end of a connection. Loaded only when a message needs it: many connections never do. */
export class SdkLane {
  readonly #send: (line: string) => void;
  readonly #subscriptions: Subscriptions;
  readonly #handle: { close(): Promise<void> };
  readonly #wire: Transport;
  readonly #openingId: RequestId | undefined;
  readonly #unanswered = new Set<RequestId>();
  #server: Server | undefined;
  #whenIdle: (() => void) | undefined;
  #order: Promise<void> = Promise.resolve();

  constructor(options: LaneOptions) {
    const { send, log, opening } = options;
    this.#send = send;
    this.#openingId = opening?.id;
    this.#subscriptions = new Subscriptions(
      options.base,
      log,
      (uri) => void this.#server?.sendResourceUpdated({ uri }).catch((error: unknown) => log("warn", "notification_failed", { problem: String(error) })),
    );
    this.#wire = { start: async () => {}, send: async (message) => this.#emit(message), close: async () => this.#wire.onclose?.() };
    this.#handle = serveStdio(
      () => {
        this.#server = createSdkServer({ ...options, subscriptions: this.#subscriptions });
        return this.#server;
      },
      { transport: this.#wire, onerror: (error) => log("warn", "protocol_problem", { problem: error.message.slice(0, 300) }) },
    );
    if (opening !== undefined) this.#wire.onmessage?.(opening as SdkMessage);
  }

  /** In the order given, also where something must happen first. */
  deliver(message: Message): void {
    const listened = isRequest(message) && message.method === "subscriptions/listen" ? listenedUris(message) : undefined;
    if (isRequest(message) && message.method !== "subscriptions/listen") this.#unanswered.add(message.id);
    this.#order = this.#order.then(async () => {
      if (isRequest(message) && listened !== undefined && !(await this.#listen(message, listened))) return;
      if (isNotification(message) && message.method === "notifications/cancelled") this.#forget(message.params?.requestId);
      this.#wire.onmessage?.(message as SdkMessage);
    });
  }

  /** Resolves when no request is without its answer. */
  settled(): Promise<void> {
    if (this.#unanswered.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenIdle = resolve;
    });
  }

  async close(): Promise<void> {
    this.#subscriptions.close();
    await this.#handle.close();
  }

  /** The watch stands before the SDK confirms the subscription, so that no change falls between. */
  async #listen({ id }: Request, uris: readonly string[]): Promise<boolean> {
    try {
      await this.#subscriptions.add(id, uris);
      return true;
    } catch (error) {
      const known = isHoldfastError(error);
      this.#send(
        errorLine(id, known && error.code === "limit_exceeded" ? rpcErrors.invalidParams : rpcErrors.internal, known ? error.message : "The subscription could not be started."),
      );
      return false;
    }
  }

  #forget(id: unknown): void {
    this.#subscriptions.remove(id);
    this.#answered(id);
  }

  #emit(message: SdkMessage): void {
    const answered = "result" in message || "error" in message ? message.id : undefined;
    if (answered !== undefined && answered === this.#openingId) return;
    this.#send(JSON.stringify(message));
    // A refused subscription ends here too.
    if (answered !== undefined) this.#forget(answered);
  }

  #answered(id: unknown): void {
    if (this.#unanswered.delete(id as RequestId) && this.#unanswered.size === 0) this.#whenIdle?.();
  }
}

function listenedUris({ params }: Request): readonly string[] | undefined {
  const filter = params?.notifications;
  const uris = isPlainObject(filter) ? filter.resourceSubscriptions : undefined;
  return Array.isArray(uris) && uris.length > 0 && uris.every((uri) => typeof uri === "string") ? uris : undefined;
}
