import { randomHex } from "../../kernel/ids.ts";
import type { AnswerGates } from "../../store/answer-gates.ts";
import { theClient } from "../../store/answer-gates.ts";
import type { DirectAnswer, DirectAnswers } from "./direct-answers.ts";
import { DirectCall } from "./direct-call.ts";
import type { EraEnvelope } from "./era-envelope.ts";
import { envelopeOf, eraEnvelopeOf } from "./era-envelope.ts";
import type { Message, Params, Request, RequestId } from "./json-rpc.ts";
import { isRequest, isRequestId } from "./json-rpc.ts";
import type { LineWriter } from "./line-writer.ts";

/** "sdk": the connection began with a message that only the SDK may judge, so the SDK gets every message. */
type Era = "handshake" | "stateless" | "sdk";

/**
 * Handles the most frequent requests: sends the same bytes as the SDK, without its cost and without loading it.
 * It takes only messages whose shape it knows completely. Everything else, however slightly unusual, goes to the SDK.
 */
export class FastPath {
  readonly #answers: DirectAnswers;
  readonly #writer: LineWriter;
  readonly #gates: AnswerGates;
  readonly #inFlight = new Map<RequestId, DirectCall>();
  readonly #running = new Set<Promise<void>>();
  #era: Era | undefined;
  #opening: Request | undefined;

  constructor(answers: DirectAnswers, writer: LineWriter, gates: AnswerGates) {
    this.#answers = answers;
    this.#writer = writer;
    this.#gates = gates;
  }

  /**
   * The first message for the SDK when it joins a connection that was opened here, so that it serves the same era.
   * Its response is not sent to the client; its id is random, so no client uses the same one.
   */
  get opening(): Request | undefined {
    return this.#opening;
  }

  /** True: a response was sent or is being produced. `alone`: the SDK has not been started. */
  take(message: Message, alone: boolean): boolean {
    if (this.#era === "sdk" || !("method" in message)) return false;
    const claim = eraEnvelopeOf(message.params);
    if (this.#era === undefined) return this.#open(message, claim);
    if (!isRequest(message)) return this.#notice(message.method, message.params, alone);
    if (this.#era === "handshake") return this.#answer(message.id, this.#answers.handshake(message));
    return claim === "plain" && this.#answer(message.id, this.#answers.stateless(message));
  }

  /** The number of unfinished calls. */
  get running(): number {
    return this.#running.size;
  }

  /** The client disconnected or the time is up. */
  cancelAll(): void {
    for (const call of this.#inFlight.values()) call.cancel();
  }

  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** The SDK's rules: a claim decides, `initialize` or no claim means the handshake era, discovery decides nothing. */
  #open(message: Message & { readonly method: string; readonly params?: Params }, claim: EraEnvelope): boolean {
    if (claim === "other" || (message.method === "initialize" && claim !== "none")) {
      this.#era = "sdk";
      return false;
    }
    if (claim === "none") {
      this.#era = "handshake";
      if (!isRequest(message) || message.method !== "initialize" || !this.#answer(message.id, this.#answers.initialize(message))) return false;
      this.#opening = { ...message, id: secretId() };
      return true;
    }
    if (isRequest(message) && message.method === "server/discover") {
      // The SDK would not learn of this opening if it were started later.
      if (!this.#answer(message.id, this.#answers.stateless(message))) this.#era = "sdk";
      return this.#era === undefined;
    }
    this.#era = "stateless";
    if (!isRequest(message) || !this.#answer(message.id, this.#answers.stateless(message))) return false;
    // This era has no ping: the SDK rejects it, but learns the era from it.
    this.#opening = { jsonrpc: "2.0", id: secretId(), method: "ping", params: { _meta: envelopeOf(message.params) } };
    return true;
  }

  #notice(method: string, params: Params | undefined, alone: boolean): boolean {
    if (method === "notifications/initialized") return alone;
    if (method !== "notifications/cancelled") return false;
    const id = params?.requestId;
    const call = isRequestId(id) ? this.#inFlight.get(id) : undefined;
    call?.cancel();
    return call !== undefined || alone;
  }

  #answer(id: RequestId, answer: DirectAnswer | undefined): boolean {
    if (answer === undefined) return false;
    if (typeof answer === "string") this.#writer.write(answer);
    else this.#run(id, answer);
    return true;
  }

  #run(id: RequestId, answer: Exclude<DirectAnswer, string>): void {
    const call = new DirectCall(this.#gates.open(theClient));
    this.#inFlight.set(id, call);
    const running = answer(call).then((make) => {
      // A second request with the same id may have replaced this one.
      if (this.#inFlight.get(id) === call) this.#inFlight.delete(id);
      this.#running.delete(running);
      if (call.cancelled) return call.gate.release();
      this.#writer.whenRoom(() => {
        if (!this.#writer.gone) this.#writer.write(make());
        call.gate.release();
      });
    });
    this.#running.add(running);
  }
}

const secretId = (): string => `holdfast-${randomHex(32)}`;
