import type { IncomingMessage } from "node:http";
import type { Log } from "../../kernel/log.ts";
import type { RetryDelay } from "../../kernel/retry-delay.ts";
import { BridgeSession } from "./bridge-session.ts";
import type { BridgeCredential } from "./credential.ts";
import type { Outgoing } from "./outgoing.ts";
import { discard, readAnswerBody } from "./read-answer.ts";
import type { Remote } from "./remote.ts";
import { ConnectionFailure } from "./remote.ts";

export interface BridgeConnectionOptions {
  readonly remote: Remote;
  readonly credential: BridgeCredential;
  readonly log: Log;
}

const accepted = { "content-type": "application/json", accept: "application/json, text/event-stream" } as const;
const subscribeMethod = "resources/subscribe";
/** A proxy lost its connection to the server and cannot know whether the server received the request. */
const balancerLost: ReadonlySet<number | undefined> = new Set([502, 504]);

/** Sends messages, and keeps the session of a client of an earlier protocol revision across server restarts. */
export class BridgeConnection {
  readonly session = new BridgeSession();
  readonly #options: BridgeConnectionOptions;
  #renewal: Promise<boolean> | undefined;
  #asked = 0;

  constructor(options: BridgeConnectionOptions) {
    this.#options = options;
  }

  /** Sends a message and retries if that is safe and may help. Resolves with the head of the answer; rejects with a ConnectionFailure. */
  async post(message: Outgoing, retryDelay: RetryDelay): Promise<IncomingMessage> {
    for (;;) {
      const { id } = this.session;
      const isGreeting = message.method === "initialize";
      const own = message.envelope ?? (isGreeting ? {} : this.session.headers);
      const response = await this.#open(message, own, retryDelay);
      const { statusCode } = response;
      const mayComeAgain =
        ((statusCode === 429 || (statusCode === 503 && !message.isForeignCall)) && (await retryDelay.wait(retryAfterMs(response)))) ||
        (statusCode === 401 && this.#options.credential.renew()) ||
        (statusCode === 404 && id !== undefined && message.envelope === undefined && !isGreeting && (await this.renew(id, retryDelay)));
      if (!mayComeAgain) return response;
      discard(response);
    }
  }

  /** Called when the server no longer knows the session: repeats the client's handshake and subscriptions. Returns true if there is a new session. */
  renew(staleId: string, retryDelay: RetryDelay): Promise<boolean> {
    if (this.session.id !== staleId) return Promise.resolve(this.session.id !== undefined);
    this.#renewal ??= this.#greetAgain(retryDelay).finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async #open(message: Outgoing, own: Readonly<Record<string, string>>, retryDelay: RetryDelay): Promise<IncomingMessage> {
    for (;;) {
      try {
        const response = await this.#options.remote.open({ method: "POST", headers: { ...accepted, ...own }, body: message.body, signal: message.abort.signal });
        if (!balancerLost.has(response.statusCode)) return response;
        discard(response);
        throw new ConnectionFailure("cut", { code: `status ${response.statusCode}` });
      } catch (error) {
        const failure = error as ConnectionFailure;
        const maySend = !failure.isFinal && (failure.kind === "unreached" || message.isRepeatable);
        if (!maySend || !(await retryDelay.wait())) throw failure;
      }
    }
  }

  async #greetAgain(retryDelay: RetryDelay): Promise<boolean> {
    const { greeting, subscribed } = this.session;
    if (greeting === undefined) return false;
    const response = await this.post(own(greeting, "initialize"), retryDelay);
    const result = response.statusCode === 200 ? await resultOf(response) : undefined;
    if (result === undefined) return false;
    this.session.begin(greeting, response, result);
    this.#options.log("info", "session_renewed", { subscriptions: subscribed.length });
    discard(await this.post(own(Buffer.from(JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })), "notifications/initialized"), retryDelay));
    for (const uri of subscribed) {
      this.#asked += 1;
      const again = { jsonrpc: "2.0", id: `holdfast-connect-${this.#asked}`, method: subscribeMethod, params: { uri } };
      discard(await this.post(own(Buffer.from(JSON.stringify(again)), subscribeMethod), retryDelay));
    }
    return true;
  }
}

/** A message that the bridge itself sends on behalf of the client. */
const own = (body: Buffer, method: string): Outgoing => ({ body, ids: [], unanswered: new Set(), method, isRepeatable: true, isForeignCall: false, abort: new AbortController() });

async function resultOf(response: IncomingMessage): Promise<Readonly<Record<string, unknown>> | undefined> {
  const text = (await readAnswerBody(response)).toString("utf8");
  // The server may send the answer as an event.
  const line = isEvents(response) ? (/^data: ?(\{.*"result".*)$/m.exec(text)?.[1] ?? "") : text;
  try {
    return (JSON.parse(line) as { readonly result?: Readonly<Record<string, unknown>> }).result;
  } catch {
    return undefined;
  }
}

export const isEvents = ({ headers }: Pick<IncomingMessage, "headers">): boolean => headers["content-type"]?.toLowerCase().startsWith("text/event-stream") === true;

/** Reads the form in seconds, at most 30. The date form counts as 0. */
const retryAfterMs = ({ headers }: IncomingMessage): number => 1_000 * Math.min(30, Math.max(0, Number(headers["retry-after"] ?? 0) || 0));
