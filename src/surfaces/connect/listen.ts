import type { IncomingMessage } from "node:http";
import type { RequestId } from "../mcp/json-rpc.ts";
import { isPlainObject } from "../mcp/json-rpc.ts";
import { isEvents } from "./bridge-connection.ts";
import { requireMessage } from "./messages-in.ts";
import { readAnswerEvents } from "./read-answer.ts";

const subscriptionIdKey = "io.modelcontextprotocol/subscriptionId";

export interface Listened {
  readonly id: RequestId;
  readonly uris: readonly string[];
}

/** The resources that a subscription in the protocol without sessions requests. */
export const listenedTo = (id: RequestId, params: Readonly<Record<string, unknown>> | undefined): Listened => {
  const wanted = isPlainObject(params?.notifications) ? params.notifications.resourceSubscriptions : undefined;
  return { id, uris: Array.isArray(wanted) ? wanted.filter((uri) => typeof uri === "string") : [] };
};

export interface KeepListeningOptions {
  readonly listened: Listened;
  readonly signal: AbortSignal;
  /** Sends the request, for the first time or again. */
  readonly open: (isFirst: boolean) => Promise<IncomingMessage>;
  /** Waits before the next attempt; returns false if there will be none. */
  readonly wait: () => Promise<boolean>;
  readonly pass: (line: string) => Promise<void>;
  /** Delivers an answer that is not a stream. */
  readonly deliver: (response: IncomingMessage) => Promise<void>;
}

/**
 * Keeps a subscription open for as long as its client wants it. If the server stops or the connection breaks, the subscription is reopened. The client then
 * gets an update for every resource, because changes may have been missed, but no second confirmation. Rejects if the first attempt fails.
 */
export async function keepListening({ listened, signal, open, wait, pass, deliver }: KeepListeningOptions): Promise<void> {
  let isConfirmed = false;
  do {
    const response = await open(!isConfirmed);
    if (response.statusCode !== 200 || !isEvents(response)) return deliver(response);
    try {
      for await (const { data } of readAnswerEvents(response)) {
        if (data === "") continue;
        const kind = kindOf(data, listened.id);
        if (kind === "refused") return pass(data);
        // The server is shutting down in an orderly way and may be back soon.
        if (kind === "over") break;
        if (kind === "confirmed" && isConfirmed) for (const uri of listened.uris) await pass(updatedLine(uri, listened.id));
        else await pass(data);
        if (kind === "confirmed") isConfirmed = true;
      }
    } catch (error) {
      if (!isConfirmed) throw error;
    }
  } while (!signal.aborted && (await wait()));
}

function kindOf(data: string, id: RequestId): "confirmed" | "over" | "refused" | "other" {
  const message = requireMessage(data);
  if (message.method === "notifications/subscriptions/acknowledged") return "confirmed";
  if (message.method !== undefined || message.id !== id) return "other";
  return message.error === undefined ? "over" : "refused";
}

/** Makes the client read the resource again, so that it misses nothing. `id` is the subscription's id, in the protocol without sessions. */
export const updatedLine = (uri: string, id?: RequestId): string =>
  JSON.stringify({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri, ...(id === undefined ? {} : { _meta: { [subscriptionIdKey]: id } }) } });
