import type { Exchange } from "./exchange.ts";
import type { HttpLimits } from "./http-limits.ts";
import { Refusal, retryAfter } from "./refusal.ts";

const nothing = Buffer.alloc(0);

/** Bodies held in memory, of all requests together. */
export class Bodies {
  readonly #limits: HttpLimits;
  #heldBytes = 0;

  constructor(limits: HttpLimits) {
    this.#limits = limits;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** The whole body. It counts as held until the exchange ends or becomes a stream. */
  read(exchange: Exchange): Promise<Buffer> {
    const { headers } = exchange.request;
    const declared = headers["content-length"];
    if (declared === "0" || (declared === undefined && headers["transfer-encoding"] === undefined)) return Promise.resolve(nothing);
    const { bodyBytesMax } = this.#limits;
    if (declared !== undefined && Number(declared) > bodyBytesMax) return Promise.reject(tooLarge(bodyBytesMax));
    if (headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity")
      return Promise.reject(new Refusal("invalid_input", "Content-Encoding: compressed bodies are not taken.", { status: 415, reason: "content_type" }));
    if (exchange.expectsContinue) exchange.response.writeContinue();
    return this.#receive(exchange);
  }

  #receive(exchange: Exchange): Promise<Buffer> {
    const { request } = exchange;
    const { bodyBytesMax, bodiesBytesMax } = this.#limits;
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let length = 0;
      const giveBack = (): void => {
        this.#heldBytes -= length;
        length = 0;
        chunks.length = 0;
      };
      const onData = (chunk: Buffer): void => {
        length += chunk.length;
        this.#heldBytes += chunk.length;
        if (length > bodyBytesMax) fail(tooLarge(bodyBytesMax));
        else if (this.#heldBytes > bodiesBytesMax) fail(new Refusal("unavailable", "Too many bodies are being received; nothing was changed.", { headers: retryAfter(1_000) }));
        else chunks.push(chunk);
      };
      const fail = (error: Error): void => {
        request.off("data", onData);
        giveBack();
        reject(error);
      };
      request.on("data", onData);
      request.once("end", () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)));
      exchange.releaseBody = () => {
        // Gone in the middle: there is nobody to answer, but the promise must end.
        if (request.complete) giveBack();
        else fail(new Refusal("cancelled", "The caller went away."));
      };
    });
  }
}

const tooLarge = (bodyBytesMax: number): Refusal =>
  new Refusal("limit_exceeded", `A body may have ${bodyBytesMax} bytes. Store large data elsewhere and keep a reference.`, { status: 413 });
