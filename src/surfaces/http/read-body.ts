import type { Holding } from "../../kernel/budget.ts";
import { Budget } from "../../kernel/budget.ts";
import type { Exchange } from "./exchange.ts";
import type { HttpLimits } from "./http-limits.ts";
import { Refusal } from "./refusal.ts";
import { principalKey } from "./tenants.ts";

const nothing = Buffer.alloc(0);
/** Smaller bodies are bounded by the number of requests in progress and are not worth counting. */
const smallBodyBytes = 16_384;

/** Limits the bodies held in memory, for all requests together and for each principal. A body that does not fit is not received until there is room. */
export class Bodies {
  readonly #bodyBytesMax: number;
  readonly #budget: Budget;
  #heldBytes = 0;

  constructor({ bodyBytesMax, bodiesBytesMax, bodiesPerPrincipalBytesMax, bodiesReserveBytesMax, bodiesWaitingPerPrincipalMax }: HttpLimits) {
    this.#bodyBytesMax = bodyBytesMax;
    this.#budget = new Budget(bodiesBytesMax, {
      ownerBytesMax: bodiesPerPrincipalBytesMax,
      reserveBytesMax: bodiesReserveBytesMax,
      ownerWaitingMax: bodiesWaitingPerPrincipalMax,
      whatWaits: "requests from this caller are already waiting for memory for their bodies",
    });
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** The number of requests whose bodies wait for room. */
  get waiting(): number {
    return this.#budget.waiting;
  }

  /** Reads the whole body. It counts as held until the exchange ends, becomes a stream or waits. */
  async read(exchange: Exchange): Promise<Buffer> {
    const { headers } = exchange.request;
    const declared = headers["content-length"];
    if (declared === "0" || (declared === undefined && headers["transfer-encoding"] === undefined)) return nothing;
    const declaredBytes = declared === undefined ? undefined : Number(declared);
    if (declaredBytes !== undefined && declaredBytes > this.#bodyBytesMax) throw tooLarge(this.#bodyBytesMax);
    if (headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity")
      throw new Refusal("invalid_input", "Content-Encoding: compressed bodies are not accepted.", { status: 415, reason: "content_type" });
    const memory = new BodyMemory(this.#budget.open(exchange.principal === undefined ? "" : principalKey(exchange.principal)));
    exchange.releaseBody = () => memory.release();
    if (declaredBytes !== undefined && declaredBytes > smallBodyBytes) await memory.take(declaredBytes);
    if (exchange.expectsContinue) exchange.response.writeContinue();
    return this.#receive(exchange, memory, declaredBytes);
  }

  #receive(exchange: Exchange, memory: BodyMemory, declaredBytes: number | undefined): Promise<Buffer> {
    const { request } = exchange;
    return new Promise((resolve, reject) => {
      // If the size is known, each chunk is copied into place as it arrives: joining chunks at the end would need twice the memory.
      let whole = declaredBytes === undefined || declaredBytes <= smallBodyBytes ? undefined : Buffer.allocUnsafeSlow(declaredBytes);
      const chunks: Buffer[] = [];
      let length = 0;
      const giveBack = (): void => {
        this.#heldBytes -= length;
        length = 0;
        chunks.length = 0;
        whole = undefined;
        memory.release();
      };
      const onData = (chunk: Buffer): void => {
        length += chunk.length;
        this.#heldBytes += chunk.length;
        if (length > this.#bodyBytesMax) return fail(tooLarge(this.#bodyBytesMax));
        if (whole === undefined) chunks.push(chunk);
        else chunk.copy(whole, length - chunk.length);
        if (declaredBytes !== undefined) return;
        // The size is unknown: the next chunk waits until there is room for this one.
        request.pause();
        memory.take(chunk.length).then(() => request.resume(), fail);
      };
      const fail = (error: Error): void => {
        request.off("data", onData);
        giveBack();
        reject(error);
      };
      request.on("data", onData);
      request.once("end", () => resolve(whole ?? (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length))));
      exchange.releaseBody = () => {
        // The caller disconnected in the middle: no response is possible, but the promise must settle.
        if (request.complete) giveBack();
        else fail(gone());
      };
    });
  }
}

/** The memory of one body. After its release it takes no more. */
class BodyMemory {
  readonly #holding: Holding;
  #isReleased = false;

  constructor(holding: Holding) {
    this.#holding = holding;
  }

  async take(bytes: number): Promise<void> {
    await this.#holding.reserve(bytes);
    if (!this.#isReleased) return;
    this.#holding.release();
    throw gone();
  }

  release(): void {
    this.#isReleased = true;
    this.#holding.release();
  }
}

const gone = (): Refusal => new Refusal("cancelled", "The caller closed the connection.");

const tooLarge = (bodyBytesMax: number): Refusal =>
  new Refusal("limit_exceeded", `A body must be at most ${bodyBytesMax} bytes. Store large data elsewhere and keep a reference.`, { status: 413 });
