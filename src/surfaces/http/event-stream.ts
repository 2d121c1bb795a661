import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { ServerSentEvent } from "../dashboard/api-route.ts";
import { safetyHeaders } from "./answer.ts";

export interface EventStreamOptions {
  readonly heartbeatMs: number;
  /** Aborted when the client disconnects or the server stops: the stream ends. */
  readonly signal: AbortSignal;
}

const comment = ": keep-alive\n\n";

/**
 * Writes events as they come. The next one is requested when the client has received this one, so a slow reader makes the source wait
 * and this process does not grow. If the source fails, this rejects and the response stays unfinished.
 */
export async function sendEvents(response: ServerResponse, events: AsyncIterable<ServerSentEvent>, { heartbeatMs, signal }: EventStreamOptions): Promise<void> {
  response.writeHead(200, { ...safetyHeaders, "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" });
  // Sent immediately, so that the client learns that it is connected before anything happens.
  response.write(comment);
  const heartbeat = setInterval(() => {
    if (!response.writableNeedDrain) response.write(comment);
  }, heartbeatMs);
  const iterator = events[Symbol.asyncIterator]();
  const stopped = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), stopped]);
      if (next === undefined || next.done === true) break;
      if (!response.write(eventText(next.value))) await Promise.race([once(response, "drain").catch(() => {}), stopped]);
    }
    response.end();
  } finally {
    clearInterval(heartbeat);
    // Not awaited: a source that ignores its signal would block here.
    void Promise.resolve(iterator.return?.()).catch(() => {});
  }
}

/** JSON escapes line breaks, so data is one line; an id or a name with a line break would forge a field. */
export function eventText({ id, event, data }: ServerSentEvent): string {
  const field = (text: string): string => text.replaceAll(/[\r\n\0]/g, " ");
  return `${id === undefined ? "" : `id: ${field(id)}\n`}event: ${field(event)}\ndata: ${JSON.stringify(data)}\n\n`;
}
