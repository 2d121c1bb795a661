import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import type { BridgeCredential } from "./credential.ts";

/** The request was not answered. `unreached` means that no byte of it can have arrived, so it is safe to send it again. */
export class ConnectionFailure extends Error {
  readonly kind: "unreached" | "cut";
  /** The system's error code. */
  readonly reason: string;
  /** True if a retry cannot help. */
  readonly isFinal: boolean;

  constructor(kind: "unreached" | "cut", cause: unknown) {
    const { code = "unknown reason" } = (cause ?? {}) as { readonly code?: string };
    super(`The connection failed: ${code}.`, { cause });
    this.kind = kind;
    this.reason = code;
    this.isFinal = finalReasons.test(code);
  }
}

/** An untrusted certificate or a protocol error does not go away by retrying. */
const finalReasons = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS|ERR_SSL|HPE_|ERR_INVALID/;

export interface RemoteRequest {
  readonly method: "POST" | "GET" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  readonly signal?: AbortSignal;
}

/** Sends plain HTTP requests to the server over persistent connections. Redirects are not followed, because the token is for this server only. */
export class Remote {
  readonly #url: URL;
  readonly #credential: BridgeCredential;
  #client: Promise<{ readonly request: (url: URL, options: RequestOptions) => ClientRequest; readonly agent: Agent }> | undefined;

  constructor(url: URL, credential: BridgeCredential) {
    this.#url = url;
    this.#credential = credential;
  }

  /** Resolves when the head of the answer has arrived; rejects with a ConnectionFailure. */
  async open({ method, headers, body, signal }: RemoteRequest): Promise<IncomingMessage> {
    this.#client ??= loadClient(this.#url.protocol === "https:");
    const { request, agent } = await this.#client;
    const length: Record<string, string> = body === undefined ? {} : { "content-length": String(body.length) };
    return new Promise((resolve, reject) => {
      let mayHaveArrived = false;
      const fail = (cause: unknown): void => reject(new ConnectionFailure(mayHaveArrived ? "cut" : "unreached", cause));
      let asked: ClientRequest;
      try {
        asked = request(this.#url, { method, agent, signal, headers: { ...headers, ...length, ...this.#credential.headers } });
      } catch (error) {
        return fail(error);
      }
      asked.once("socket", (socket) => {
        if (socket.connecting) socket.once(this.#url.protocol === "https:" ? "secureConnect" : "connect", () => (mayHaveArrived = true));
        else mayHaveArrived = true;
      });
      asked.once("response", resolve);
      // Errors after the response has started are reported by the response. Without a listener here they would end the process.
      asked.on("error", fail);
      asked.end(body);
    });
  }

  async close(): Promise<void> {
    (await this.#client?.catch(() => undefined))?.agent.destroy();
  }
}

/** The only module that can open a connection; loaded on the first request. */
const loadClient = async (isSecure: boolean) => (await import("./http-client.ts")).openHttpClient(isSecure);
