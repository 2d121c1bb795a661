import type { Server } from "@modelcontextprotocol/server";
import type { Request } from "../json-rpc.ts";

type Transport = Parameters<Server["connect"]>[0];
type SdkMessage = Parameters<Transport["send"]>[0];

/** An SDK connection that lives for one request. Messages that the server sends before the response are passed on as they come. */
class ExchangeTransport implements Transport {
  onmessage?: Transport["onmessage"];
  onclose?: Transport["onclose"];
  onerror?: Transport["onerror"];
  readonly answer: Promise<string | undefined>;
  readonly #id: Request["id"];
  readonly #onNote: (line: string) => void;
  #settle: (line: string | undefined) => void = () => {};

  constructor(id: Request["id"], onNote: (line: string) => void) {
    this.#id = id;
    this.#onNote = onNote;
    this.answer = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  async start(): Promise<void> {}

  async send(message: SdkMessage): Promise<void> {
    const isAnswer = ("result" in message || "error" in message) && message.id === this.#id;
    if (isAnswer) this.#settle(JSON.stringify(message));
    else this.#onNote(JSON.stringify(message));
  }

  async close(): Promise<void> {
    this.#settle(undefined);
    this.onclose?.();
  }
}

/** Serves one request with an SDK server created for it. Undefined: the request was cancelled and has no response. */
export async function exchange(server: Server, request: Request, signal: AbortSignal, onNote: (line: string) => void): Promise<string | undefined> {
  const transport = new ExchangeTransport(request.id, onNote);
  await server.connect(transport);
  const cancel = (): void => void server.close();
  signal.addEventListener("abort", cancel, { once: true });
  if (signal.aborted) cancel();
  else transport.onmessage?.(request as SdkMessage);
  const line = await transport.answer;
  signal.removeEventListener("abort", cancel);
  await server.close();
  return line;
}
