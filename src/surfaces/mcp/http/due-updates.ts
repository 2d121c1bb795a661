import type { ServerResponse } from "node:http";
import type { Revision } from "../../../store/store.ts";

/**
 * What a stream has still to say. A client that does not read makes it wait, and what waits never grows beyond what was subscribed to:
 * however often a thing changes, "read again" is said once.
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
    // Gathers the updates of one turn; a full stream continues when it has been read.
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
