import type { IncomingMessage } from "node:http";
import { ConnectionFailure } from "./remote.ts";

/** The most that one message of a server may have; Holdfast's own have a fraction of it. */
export const answerBytesMax = 67_108_864;

/** What a line of an event takes beside its text. */
const lineCost = 64;

export class TooLong extends Error {}

/** The whole body. Rejects when it breaks off, or with TooLong. */
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

/** Reads a little of an answer that is not needed, so that its connection can be used again, and gives up on a long one. */
export function discard(response: IncomingMessage): void {
  response.once("error", () => {});
  if (Number(response.headers["content-length"] ?? Number.POSITIVE_INFINITY) <= 65_536) response.resume();
  else response.destroy();
}

export interface ServerEvent {
  readonly id?: string;
  readonly data: string;
}

/**
 * Server-sent events, one at a time: the next is read when the caller asks for it, so that a client that does not read makes the server wait.
 * Ends when the stream does; rejects when it breaks off.
 */
export async function* readAnswerEvents(response: IncomingMessage): AsyncGenerator<ServerEvent, void, void> {
  const lines = new EventLines();
  let id: string | undefined;
  let data: string[] = [];
  let length = 0;
  response.setEncoding("utf8");
  try {
    for await (const text of response as AsyncIterable<string>) {
      for (const line of lines.push(text)) {
        if (line === "") {
          if (id !== undefined || data.length > 0) yield { id, data: data.join("\n") };
          id = undefined;
          data = [];
          length = 0;
          continue;
        }
        const [, name, value = ""] = /^([^:]*)(?::\x20?(.*))?$/s.exec(line) ?? [];
        if (name === "id" && !value.includes("\0")) id = value;
        if (name !== "data") continue;
        // A line takes room even when it is empty.
        length += value.length + lineCost;
        if (length > answerBytesMax) throw new TooLong();
        data.push(value);
      }
    }
  } catch (error) {
    throw error instanceof TooLong ? error : new ConnectionFailure("cut", error);
  }
}

/** Cuts text into lines, which end in LF, CR or both, wherever the pieces of the text are cut. Each piece is looked at once. */
class EventLines {
  #rest = "";
  /** The last piece ended in CR: an LF that begins the next one belongs to it. */
  #endedInCr = false;

  push(text: string): string[] {
    const lines = (this.#endedInCr && text.startsWith("\n") ? text.slice(1) : text).split(/\r\n|\n|\r/);
    this.#endedInCr = text.endsWith("\r");
    lines[0] = this.#rest + lines[0];
    this.#rest = lines.pop() as string;
    if (this.#rest.length > answerBytesMax) throw new TooLong();
    return lines;
  }
}
