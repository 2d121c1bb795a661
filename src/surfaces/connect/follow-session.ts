import type { RetryDelay } from "../../kernel/retry-delay.ts";
import type { BridgeConnection } from "./bridge-connection.ts";
import { isEvents } from "./bridge-connection.ts";
import { discard, readAnswerEvents } from "./read-answer.ts";
import type { ConnectionFailure, Remote } from "./remote.ts";

export interface FollowOptions {
  readonly remote: Remote;
  readonly connection: BridgeConnection;
  readonly renewsCredential: () => boolean;
  readonly retryDelay: RetryDelay;
  readonly signal: AbortSignal;
  /** Resolves when there is room for more. */
  readonly pass: (line: string) => Promise<void>;
  readonly onMissed: (uris: readonly string[]) => void;
  readonly onRefused: (status: number) => void;
}

/**
 * Follows the stream on which a server of the earlier revisions sends unasked messages. A broken stream is reopened after the last event received.
 * Ends if the server has no such stream or rejects the client.
 */
export async function followSession({ remote, connection, renewsCredential, retryDelay, signal, pass, onMissed, onRefused }: FollowOptions): Promise<void> {
  let sessionId = connection.session.id;
  let lastEventId: string | undefined;
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    if (connection.session.id !== sessionId) lastEventId = undefined;
    sessionId = connection.session.id;
    const headers = { accept: "text/event-stream", ...connection.session.headers, ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }) };
    const response = await remote.open({ method: "GET", headers, signal }).catch((error: ConnectionFailure) => error);
    if (response instanceof Error) {
      if (response.isFinal || !(await retryDelay.wait())) return;
      continue;
    }
    const { statusCode = 0 } = response;
    if (statusCode !== 200 || !isEvents(response)) {
      discard(response);
      if (!(await mayFollow(statusCode, sessionId))) return;
      continue;
    }
    retryDelay.reset();
    // In a new session, or without an event id to continue from, missed events are unknown.
    if (!isFirst && lastEventId === undefined) onMissed(connection.session.subscribed);
    try {
      for await (const { id, data } of readAnswerEvents(response)) {
        if (id !== undefined) lastEventId = id;
        if (data !== "") await pass(data);
      }
    } catch {
      // The stream broke; complete events were already passed on.
    }
    if (!(await retryDelay.wait())) return;
  }

  async function mayFollow(status: number, stale: string | undefined): Promise<boolean> {
    if (status === 404 && stale !== undefined) return connection.renew(stale, retryDelay).catch(() => retryDelay.wait());
    if (status === 401 && renewsCredential()) return true;
    if (status === 429 || status >= 500) return retryDelay.wait();
    if (status !== 405) onRefused(status);
    return false;
  }
}
