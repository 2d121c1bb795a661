import type { ErrorCode } from "../kernel/errors.ts";
import { HoldfastError } from "../kernel/errors.ts";
import type { Embedder } from "../search/embedder.ts";
import { dimensionsMax } from "../search/short-vector.ts";

export interface EndpointOptions {
  /** With or without a trailing `/embeddings`. */
  readonly url: string;
  readonly model: string;
  /** Sent as a bearer token; never in a message or a log. */
  readonly key?: string;
}

/** The limit for one response: 64 texts with the most dimensions, and twenty characters per number. */
const answerBytesMax = 8_388_608;

/** Of the statuses from 400 to 499 those that say nothing about the texts: key, address, time and rate. */
const textlessStatuses: readonly number[] = [401, 403, 404, 408, 429];
const isRefusal = (status: number): boolean => status >= 400 && status < 500 && !textlessStatuses.includes(status);

/** An endpoint that implements OpenAI's `/v1/embeddings`: Ollama, LM Studio, text-embeddings-inference and others. */
export function openEndpointEmbedder({ url, model, key }: EndpointOptions): Embedder {
  let end = url.length;
  while (url[end - 1] === "/") end -= 1;
  const address = `${url.slice(0, end).replace(/\/embeddings$/, "")}/embeddings`;
  const headers = { "content-type": "application/json", accept: "application/json", ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) };
  return {
    modelId: `endpoint:${model}`,
    async embed(texts, _as, signal) {
      // A redirect could lead to a machine other than the allowed one.
      const response = await fetch(address, { method: "POST", redirect: "error", headers, signal, body: JSON.stringify({ model, input: texts, encoding_format: "float" }) }).catch(
        (cause: unknown) => {
          throw unanswered(signal.aborted ? "did not answer in time" : "cannot be reached", cause);
        },
      );
      if (!response.ok) {
        await response.body?.cancel();
        throw unanswered(`answered with status ${response.status}`, undefined, isRefusal(response.status) ? "invalid_input" : "unavailable");
      }
      return requireVectors(await readJson(response, signal), texts.length);
    },
  };
}

const unanswered = (problem: string, cause?: unknown, code: ErrorCode = "unavailable"): HoldfastError => new HoldfastError(code, `The embedding endpoint ${problem}.`, { cause });

async function readJson(response: Response, signal: AbortSignal): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    // Leaving the loop closes the connection, so an endless response is not read to its end.
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes > answerBytesMax) throw unanswered(`sent more than ${answerBytesMax} bytes`);
      chunks.push(chunk);
    }
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch (cause) {
    if (cause instanceof HoldfastError) throw cause;
    throw unanswered(signal.aborted ? "did not answer in time" : "sent something that is not JSON", cause);
  }
}

function requireVectors(answer: unknown, count: number): readonly ArrayLike<number>[] {
  const data = (answer as { readonly data?: unknown } | null)?.data;
  if (!Array.isArray(data) || data.length !== count) throw unanswered(`did not send ${count} vectors in "data"`);
  const vectors: ArrayLike<number>[] = [];
  for (const [i, item] of data.entries()) {
    const { index = i, embedding } = (item ?? {}) as { readonly index?: unknown; readonly embedding?: unknown };
    const isVector = Array.isArray(embedding) && embedding.length > 0 && embedding.length <= dimensionsMax && embedding.every((value) => Number.isFinite(value));
    if (!isVector || typeof index !== "number" || !(index in data) || index in vectors)
      throw unanswered(`sent an "embedding" that is not a list of 1 to ${dimensionsMax} numbers, or a text's twice`);
    vectors[index] = embedding as number[];
  }
  if (vectors.some(({ length }) => length !== vectors[0]?.length)) throw unanswered("sent vectors of different lengths");
  return vectors;
}
