import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { TooLong } from "../../kernel/server-events.ts";
import type { ConnectOptions } from "./connect-holdfast.ts";

/** What a header can carry. */
const tokenForm = /^[\x20-\x7e]*$/;

/** Sends one request to the library's routes. */
export async function openRequest(
  url: URL,
  { token, fetch = globalThis.fetch, body, signal }: Pick<ConnectOptions, "token" | "fetch"> & { readonly body: string | undefined; readonly signal: AbortSignal },
): Promise<Response> {
  const secret = typeof token === "function" ? await token() : token;
  // Checked here, because fetch would put the whole header into its error.
  if (secret !== undefined && !tokenForm.test(secret)) throw invalidInput("token", "must be printable ASCII");
  const headers = { ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }), ...(body === undefined ? {} : { "content-type": "application/json" }) };
  const response = await fetch(url, { method: body === undefined ? "GET" : "POST", headers, body, signal, redirect: "manual" });
  // A credential is not sent on to wherever an answer points.
  if (response.status >= 300 && response.status < 400) throw invalidInput("url", "the server answered with a redirect; pass the address that it redirects to");
  return response;
}

/** Reads the whole body as text. Rejects if the connection breaks or the body is too long. */
export async function readAnswerText(response: Response, bytesMax: number): Promise<string> {
  let text = "";
  try {
    for await (const part of bodyTexts(response, bytesMax)) text += part;
  } catch (error) {
    throw error instanceof TooLong ? new HoldfastError("limit_exceeded", `The server's answer has more than ${bytesMax} bytes.`) : error;
  }
  return text;
}

/** Yields the body in pieces; throws TooLong if it exceeds `bytesMax` bytes. */
export async function* bodyTexts(response: Response, bytesMax = Number.POSITIVE_INFINITY): AsyncGenerator<string> {
  if (response.body === null) return;
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      bytes += value.length;
      if (bytes > bytesMax) throw new TooLong();
      yield decoder.decode(value, { stream: true });
    }
    yield decoder.decode();
  } finally {
    // Ends the connection if the caller stops reading early.
    await reader.cancel().catch(() => {});
  }
}
