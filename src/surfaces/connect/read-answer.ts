import type { IncomingMessage } from "node:http";
import type { ServerEvent } from "../../kernel/server-events.ts";
import { parseServerEvents, TooLong } from "../../kernel/server-events.ts";
import { ConnectionFailure } from "./remote.ts";

/** The maximum size of one server message; messages of a Holdfast server are far smaller. */
export const answerBytesMax = 67_108_864;

/** Reads the whole body. Rejects if the connection breaks, or with TooLong. */
export async function readAnswerBody(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > answerBytesMax) throw new TooLong();
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof TooLong ? error : new ConnectionFailure("cut", error);
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes);
}

/** Drops an answer that is not needed. A short one is read, so that its connection can be reused; otherwise the connection is closed. */
export function discard(response: IncomingMessage): void {
  response.once("error", () => {});
  if (Number(response.headers["content-length"] ?? Number.POSITIVE_INFINITY) <= 65_536) response.resume();
  else response.destroy();
}

/** Yields server-sent events one at a time. Ends when the stream ends; throws if the connection breaks. */
export async function* readAnswerEvents(response: IncomingMessage): AsyncGenerator<ServerEvent, void, void> {
  response.setEncoding("utf8");
  try {
    yield* parseServerEvents(response as AsyncIterable<string>, answerBytesMax);
  } catch (error) {
    throw error instanceof TooLong ? error : new ConnectionFailure("cut", error);
  }
}
