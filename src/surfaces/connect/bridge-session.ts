import type { IncomingMessage } from "node:http";

/** Further URIs are not remembered. The server's own limit is far lower. */
const subscribedMax = 4_096;

/** The session between a client of an earlier revision and the server, kept to repeat the handshake if the server drops it. */
export class BridgeSession {
  /** The client's initialize message, exactly as sent. */
  #greeting: Buffer | undefined;
  #id: string | undefined;
  #version: string | undefined;
  readonly #subscribed = new Set<string>();

  get id(): string | undefined {
    return this.#id;
  }

  get greeting(): Buffer | undefined {
    return this.#greeting;
  }

  get subscribed(): readonly string[] {
    return [...this.#subscribed];
  }

  get headers(): Readonly<Record<string, string>> {
    return {
      ...(this.#id === undefined ? {} : { "mcp-session-id": this.#id }),
      ...(this.#version === undefined ? {} : { "mcp-protocol-version": this.#version }),
    };
  }

  /** Called when the server has answered an initialize request. */
  begin(greeting: Buffer, { headers }: Pick<IncomingMessage, "headers">, result: Readonly<Record<string, unknown>>): void {
    const id = headers["mcp-session-id"];
    this.#greeting = greeting;
    this.#id = typeof id === "string" && /^[\x21-\x7e]{1,1024}$/.test(id) ? id : undefined;
    this.#version = typeof result.protocolVersion === "string" && /^[\w.-]{1,64}$/.test(result.protocolVersion) ? result.protocolVersion : undefined;
  }

  /** A client that sends initialize again starts a new session. */
  forget(): void {
    this.#id = undefined;
    this.#version = undefined;
    this.#subscribed.clear();
  }

  subscribe(uri: string): void {
    if (this.#subscribed.size < subscribedMax) this.#subscribed.add(uri);
  }

  unsubscribe(uri: string): void {
    this.#subscribed.delete(uri);
  }
}
