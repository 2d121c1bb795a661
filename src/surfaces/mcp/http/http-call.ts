import type { IncomingMessage, ServerResponse } from "node:http";
import { DirectCall } from "../direct-call.ts";
import type { CallOrigin, TransportCall } from "../mcp-spans.ts";
import type { McpPost } from "./mcp-post.ts";

/**
 * One call over HTTP, cancelled when its caller disconnects. The disconnect is watched only for waiting calls: they are few,
 * and only they use the signal. Calls that write simply finish.
 */
export class HttpCall extends DirectCall implements TransportCall {
  readonly #response: ServerResponse;
  readonly #openWait: McpPost["access"]["openWait"];
  readonly #onSignal: ((call: HttpCall) => void) | undefined;
  #watched = false;

  /** `onSignal`: called when the call's abort signal is first used. */
  constructor({ response, gate, access }: Pick<McpPost, "response" | "gate" | "access">, onSignal?: (call: HttpCall) => void) {
    super(gate);
    this.#response = response;
    this.#openWait = access.openWait;
    this.#onSignal = onSignal;
  }

  onWait(end: () => void): () => void {
    return this.#openWait?.(end) ?? (() => {});
  }

  /** Read only if calls are traced. */
  get origin(): CallOrigin {
    return originOf(this.#response.req);
  }

  override get signal(): AbortSignal {
    if (!this.#watched) {
      this.#watched = true;
      this.#onSignal?.(this);
      if (this.#response.destroyed) this.cancel();
      else this.#response.once("close", () => this.cancel());
    }
    return super.signal;
  }
}

/** What a span reports about the request that carried the message. */
export const originOf = ({ headers, httpVersion, socket }: IncomingMessage): CallOrigin => ({
  protocolVersion: headers["mcp-protocol-version"] as string | undefined,
  context: { traceparent: headers.traceparent, tracestate: headers.tracestate },
  attributes: { "network.protocol.name": "http", "network.protocol.version": httpVersion, "client.address": socket.remoteAddress, "client.port": socket.remotePort },
});
