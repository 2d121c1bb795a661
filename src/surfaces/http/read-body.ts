import type { Holding } from "../../kernel/budget.ts";
import { Budget } from "../../kernel/budget.ts";
import type { Exchange } from "./exchange.ts";
import type { HttpLimits } from "./http-limits.ts";
import { Refusal } from "./refusal.ts";
import { principalKey } from "./tenants.ts";

const nothing = Buffer.alloc(0);
/** Smaller bodies are bounded by the number of requests in flight, and are not worth counting. */
const smallBodyBytes = 16_384;

/** Bodies held in memory, of all requests together and of each principal. One that finds no room stays with its sender until there is some. */
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
      whatWaits: "requests of this caller are already waiting for memory to receive their bodies",
    });
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Requests whose bodies wait for room. */
  get waiting(): number {
    return this.#budget.waiting;
  }

  /** The whole body. It counts as held until the exchange ends or becomes a stream. */
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
      // Where its size is known, each piece is copied to its place as it comes: putting many together at the end would take memory for all of them twice.
      const whole = declaredBytes === undefined || declaredBytes <= smallBodyBytes ? undefined : Buffer.allocUnsafeSlow(declaredBytes);
      const chunks: Buffer[] = [];
      let length = 0;
      const giveBack = (): void => {
        this.#heldBytes -= length;
        length = 0;
        chunks.length = 0;
        memory.release();
      };
      const onData = (chunk: Buffer): void => {
        length += chunk.length;
        this.#heldBytes += chunk.length;
        if (length > this.#bodyBytesMax) return fail(tooLarge(this.#bodyBytesMax));
        if (whole === undefined) chunks.push(chunk);
        else chunk.copy(whole, length - chunk.length);
        if (declaredBytes !== undefined) return;
        // How much will come is not known: what comes next waits until there is room for what is here.
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
        // The caller left in the middle: there is no one to answer, but the promise must settle.
        if (request.complete) giveBack();
        else fail(gone());
      };
    });
  }
}

/** What one body holds. Released, it takes nothing any more. */
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
  new Refusal("limit_exceeded", `A body may have ${bodyBytesMax} bytes. Store large data elsewhere and keep a reference.`, { status: 413 });
