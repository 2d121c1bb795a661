import type { ServerResponse } from "node:http";
import { DirectCall } from "../direct-call.ts";

/**
 * One call over HTTP. When its caller goes away it is cancelled; that is looked at only for calls that wait, which are few
 * and which alone ask for the signal: what writes just finishes.
 */
export class HttpCall extends DirectCall {
  readonly #response: ServerResponse;
  #watched = false;

  constructor(response: ServerResponse) {
    super();
    this.#response = response;
  }

  override get signal(): AbortSignal {
    if (!this.#watched) {
      this.#watched = true;
      if (this.#response.destroyed) this.cancel();
      else this.#response.once("close", () => this.cancel());
    }
    return super.signal;
  }
}
