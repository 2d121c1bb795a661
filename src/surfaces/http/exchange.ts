import type { IncomingMessage, ServerResponse } from "node:http";
import type { Principal } from "../../domain/identity/principal.ts";
import type { Usage } from "./gate.ts";
import type { HeldSlot } from "./held-slots.ts";
import type { StreamKind } from "./http-metrics.ts";
import { requestIdOf } from "./request-marks.ts";
import type { RequestTarget } from "./request-target.ts";

/** One request on its way through the front, with what has been found out about it so far. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The client waits for our word before it sends its body. */
  readonly expectsContinue: boolean;
  readonly startedMs: number;
  /** When the metrics began to count it, by their clock. */
  readonly beganMs: number;
  target: RequestTarget | undefined;
  /** The route's pattern: our own word, for metrics and the log. */
  route = "none";
  /** Failures are reported as JSON-RPC errors. */
  isProtocol = false;
  principal: Principal | undefined;
  usage: Usage | undefined;
  /** Counted among the requests in flight. */
  isInside = false;
  stream: StreamKind | undefined;
  /** The place that the stream takes among those open. */
  streamSlot: HeldSlot | undefined;
  /** Ends what it counts for as one that waits; a batch may have several. */
  waits: Set<() => void> | undefined;
  /** Its place among the exchanges under way; see `ExchangeList`. */
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

  /** Gives up the body, or the memory that it counts for; set by the reader. */
  releaseBody: (() => void) | undefined;

  /** Its name in the log. */
  get id(): string {
    this.#id ??= requestIdOf(this.request.headers);
    return this.#id;
  }

  /** Made only when asked for: most requests never wait. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  /** The client is gone, or the server stops. */
  abort(): void {
    this.#aborted = true;
    this.#controller?.abort();
  }
}
