import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import type { BridgeCredential } from "./credential.ts";

/** The request was not answered. `unreached`: not a byte of it can have arrived, so that sending it again is safe. */
export class ConnectionFailure extends Error {
  readonly kind: "unreached" | "cut";
  /** What the system calls it. */
  readonly reason: string;
  /** Asking again will not help. */
  readonly isFinal: boolean;

  constructor(kind: "unreached" | "cut", cause: unknown) {
    const { code = "unknown reason" } = (cause ?? {}) as { readonly code?: string };
    super(`The connection failed: ${code}.`, { cause });
    this.kind = kind;
    this.reason = code;
    this.isFinal = finalReasons.test(code);
  }
}

/** A certificate that is not trusted today will not be in a second; neither is a protocol error. */
const finalReasons = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS|ERR_SSL|HPE_|ERR_INVALID/;

export interface RemoteRequest {
  readonly method: "POST" | "GET" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  readonly signal?: AbortSignal;
}

/** Idle connections are given up before a server, or something between, closes them under a request that is just being sent. */
const idleMsMax = 20_000;
const idleSocketsMax = 16;
/** How often a silent connection is asked by the system whether the other end is still there. */
const probeEveryMs = 15_000;

/** The server's end of the bridge: plain HTTP requests over connections that are kept. Redirects are not followed: the token is for one place. */
export class Remote {
  readonly #url: URL;
  readonly #credential: BridgeCredential;
  #client: Promise<{ readonly request: (url: URL, options: RequestOptions) => ClientRequest; readonly agent: Agent }> | undefined;

  constructor(url: URL, credential: BridgeCredential) {
    this.#url = url;
    this.#credential = credential;
  }

  /** Resolves when the answer's head is there; rejects with a ConnectionFailure. */
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
      // Later errors are the answer's; without a listener they would end the process.
      asked.on("error", fail);
      asked.end(body);
    });
  }

  async close(): Promise<void> {
    (await this.#client?.catch(() => undefined))?.agent.destroy();
  }
}

/** Only the one that is needed is loaded. */
async function loadClient(isSecure: boolean) {
  const { Agent, request } = isSecure ? await import("node:https") : await import("node:http");
  return { request, agent: new Agent({ keepAlive: true, keepAliveMsecs: probeEveryMs, maxFreeSockets: idleSocketsMax, timeout: idleMsMax }) };
}
