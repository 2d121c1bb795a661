import type { ServerResponse } from "node:http";
import type { Revision } from "../../../store/store.ts";

/**
 * Pending updates of a stream. If the client does not read, updates wait, but there are never more of them than subscriptions:
 * however often a resource changes, the client is notified once.
 */
export class DueUpdates {
  readonly #response: ServerResponse;
  readonly #send: (updates: readonly (readonly [uri: string, revision: Revision])[]) => void;
  #due = new Map<string, Revision>();
  #waits = false;

  constructor(response: ServerResponse, send: (updates: readonly (readonly [uri: string, revision: Revision])[]) => void) {
    this.#response = response;
    this.#send = send;
  }

  add(uri: string, revision: Revision): void {
    this.#due.set(uri, Math.max(revision, this.#due.get(uri) ?? 0));
    if (this.#waits) return;
    this.#waits = true;
    // Collects the updates of one turn of the event loop; a full stream continues when the client has read.
    if (this.#response.writableNeedDrain) this.#response.once("drain", () => this.#flush());
    else setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#waits = false;
    if (this.#response.destroyed) return;
    const updates = [...this.#due].sort(([, a], [, b]) => a - b);
    this.#due = new Map();
    this.#send(updates);
  }
}
