import { Agent as HttpAgent, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Log } from "../kernel/log.ts";

export interface ExporterOptions<Item> {
  /** The collector's address, with or without `/v1/traces`. */
  readonly endpoint: string;
  /** Never shown. */
  readonly headers: Readonly<Record<string, string>>;
  readonly log: Log;
  body(items: readonly Item[]): string;
  /** Tests use shorter times. */
  readonly delayMs?: number;
  readonly timeoutMs?: number;
  readonly queueMax?: number;
}

/** Items in one request. */
const batchMax = 512;
const attemptsMax = 3;
/** The log reports lost spans at most once in this time. */
const complaintEveryMs = 60_000;
/** The collector is busy or unreachable; any other error status is final. */
const worthAnotherTry = new Set([408, 429, 502, 503, 504]);

/**
 * Sends items to a collector in the background, in batches. Whatever the collector does, no call waits for it and the buffer is bounded:
 * items that do not fit or cannot be delivered are dropped and counted.
 */
export class OtlpExporter<Item> {
  readonly #options: ExporterOptions<Item>;
  readonly #url: URL;
  readonly #agent: HttpAgent | HttpsAgent;
  readonly #delayMs: number;
  readonly #timeoutMs: number;
  readonly #queueMax: number;
  #queue: Item[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #closing = false;
  #complainedMs = Number.NEGATIVE_INFINITY;
  sent = 0;
  dropped = 0;

  constructor(options: ExporterOptions<Item>) {
    const { endpoint, delayMs = 1_000, timeoutMs = 5_000, queueMax = 4_096 } = options;
    this.#options = options;
    this.#url = new URL(endpoint.endsWith("/v1/traces") ? endpoint : `${endpoint.replace(/(?<!\/)\/+$/, "")}/v1/traces`);
    const keeping = { keepAlive: true, maxSockets: 1 };
    this.#agent = this.#url.protocol === "https:" ? new HttpsAgent(keeping) : new HttpAgent(keeping);
    [this.#delayMs, this.#timeoutMs, this.#queueMax] = [delayMs, timeoutMs, queueMax];
  }

  /** Returns at once. */
  add(item: Item): void {
    if (this.#closing || this.#queue.length >= this.#queueMax) {
      this.#drop(1, this.#closing ? "the process is exiting" : "the span queue is full");
      return;
    }
    this.#queue.push(item);
    if (this.#sending !== undefined) return;
    if (this.#queue.length >= batchMax) this.#start();
    else this.#schedule();
  }

  /** Delivers the remaining items, for at most this long. */
  async close(withinMs: number): Promise<void> {
    this.#closing = true;
    if (this.#queue.length > 0) this.#start();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs);
    });
    await Promise.race([this.#sending, late]);
    clearTimeout(timer);
    this.#drop(this.#queue.splice(0).length, "the process is exiting");
    this.#agent.destroy();
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
      if (this.#queue.length > 0) this.#schedule();
    });
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => this.#start(), this.#delayMs).unref();
  }

  async #sendAll(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, batchMax);
      const problem = await this.#deliver(this.#options.body(batch));
      if (problem === undefined) this.sent += batch.length;
      else this.#drop(batch.length, problem);
      // A few items are not worth a separate request.
      if (!this.#closing && this.#queue.length > 0 && this.#queue.length < batchMax) await this.#pause(this.#delayMs);
    }
  }

  /** Undefined: delivered. */
  async #deliver(body: string): Promise<string | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const { status, problem } = await this.#post(body);
      if (status !== undefined && status >= 200 && status < 300) return undefined;
      const isFinal = status !== undefined && !worthAnotherTry.has(status);
      if (isFinal || attempt >= attemptsMax || this.#closing) return status === undefined ? `the collector could not be reached (${problem})` : `the collector answered ${status}`;
      await this.#pause(this.#delayMs * 2 ** (attempt - 1));
    }
  }

  #post(body: string): Promise<{ readonly status?: number; readonly problem?: string }> {
    return new Promise((resolve) => {
      const start = this.#url.protocol === "https:" ? httpsRequest : httpRequest;
      const headers = { ...this.#options.headers, "content-type": "application/json", "content-length": Buffer.byteLength(body), "user-agent": "holdfast" };
      const request = start(this.#url, { method: "POST", agent: this.#agent, headers }, (response) => {
        // The response body is discarded: it contains nothing of interest and may be endless.
        response.resume();
        for (const event of ["end", "error", "close"]) response.once(event, () => finish({ status: response.statusCode }));
      });
      const limit = setTimeout(() => request.destroy(Object.assign(new Error("no answer in time"), { code: "timeout" })), this.#timeoutMs).unref();
      const finish = (outcome: { readonly status?: number; readonly problem?: string }): void => {
        clearTimeout(limit);
        resolve(outcome);
      };
      // Only the code, because the message may contain details that do not belong in the log.
      request.once("error", (error: NodeJS.ErrnoException) => finish({ problem: error.code ?? "error" }));
      request.end(body);
    });
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      setTimeout(resolve, ms).unref();
    });
  }

  #drop(count: number, problem: string): void {
    if (count === 0) return;
    this.dropped += count;
    if (performance.now() - this.#complainedMs < complaintEveryMs) return;
    this.#complainedMs = performance.now();
    this.#options.log("warn", "spans_dropped", { problem, dropped_so_far: this.dropped });
  }
}
