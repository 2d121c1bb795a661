import type { IncomingMessage, ServerResponse } from "node:http";
import type { Principal } from "../../domain/identity/principal.ts";
import type { Usage } from "./gate.ts";
import type { HeldSlot } from "./held-slots.ts";
import type { StreamKind } from "./http-metrics.ts";
import { requestIdOf } from "./request-marks.ts";
import type { RequestTarget } from "./request-target.ts";

/** One request in the front, with everything known about it so far. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The client waits for "100 Continue" before it sends its body. */
  readonly expectsContinue: boolean;
  readonly startedMs: number;
  /** When the metrics began to count it, by their own clock. */
  readonly beganMs: number;
  target: RequestTarget | undefined;
  /** The route's pattern, which contains nothing from the caller; for metrics and the log. */
  route = "none";
  /** Failures are reported as JSON-RPC errors. */
  isProtocol = false;
  principal: Principal | undefined;
  usage: Usage | undefined;
  /** Counted among the requests in flight. */
  isInside = false;
  stream: StreamKind | undefined;
  /** The slot of its open stream. */
  streamSlot: HeldSlot | undefined;
  /** Functions that end its waits; a batch may have several. */
  waits: Set<() => void> | undefined;
  /** Links of the list of exchanges in progress; see `ExchangeList`. */
  isListed = false;
  previous: Exchange | undefined;
  next: Exchange | undefined;
  #id: string | undefined;
  #controller: AbortController | undefined;
  #aborted = false;

  constructor(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean, beganMs: number) {
    this.request = request;
    this.response = response;
    this.expectsContinue = expectsContinue;
    this.startedMs = performance.now();
    this.beganMs = beganMs;
  }

  /** Discards the body, or releases the memory it counts for; set by the reader. */
  releaseBody: (() => void) | undefined;

  /** Its id in the log. */
  get id(): string {
    this.#id ??= requestIdOf(this.request.headers);
    return this.#id;
  }

  /** Created on first use: most requests never wait. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  /** The client disconnected or the server stops. */
  abort(): void {
    this.#aborted = true;
    this.#controller?.abort();
  }
}
