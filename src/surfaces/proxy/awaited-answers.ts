import type { ServerMessage } from "../connect/messages-in.ts";
import type { RequestId } from "../mcp/json-rpc.ts";
import { isRequestId } from "../mcp/json-rpc.ts";
import type { SentOutcome } from "./judge-answer.ts";

type Loss = Omit<Extract<SentOutcome, { readonly kind: "lost" }>, "kind">;

/** Receives an answer, or the news of its loss, before the client does. */
interface Awaited {
  answered(message: ServerMessage, text: string): void;
  lost(loss: Loss): void;
}

/** How many abandoned calls are remembered, so that a late answer can still be recorded. */
const lateMax = 1_000;

/** The requests whose answers the proxy handles itself instead of passing them on. */
export class AwaitedAnswers {
  readonly #byId = new Map<RequestId, Awaited>();
  readonly #late: RequestId[] = [];

  get size(): number {
    return this.#byId.size;
  }

  has(id: RequestId): boolean {
    return this.#byId.has(id);
  }

  set(id: RequestId, awaited: Awaited): void {
    this.#byId.set(id, awaited);
  }

  /** Resolves with the outcome of a call. An answer that arrives after the call was given up goes to `onLate`, because it is still the true outcome. */
  outcomeOf(id: RequestId, onLate: (outcome: SentOutcome) => void): Promise<SentOutcome> {
    return new Promise((resolve) => {
      let report = (outcome: SentOutcome): void => {
        report = onLate;
        resolve(outcome);
      };
      this.#byId.set(id, {
        answered: (message, text) => report({ kind: "answered", message, text }),
        lost: (loss) => report({ kind: "lost", ...loss }),
      });
    });
  }

  /** Returns a function that gives up the call, unless the call has been answered by then. */
  giveUp(id: RequestId, reason: string): () => void {
    const awaited = this.#byId.get(id);
    return () => {
      if (awaited === undefined || this.#byId.get(id) !== awaited) return;
      this.#late.push(id);
      if (this.#late.length > lateMax) this.#byId.delete(this.#late.shift() as RequestId);
      awaited.lost({ reason, mayHaveHappened: true });
    };
  }

  wants({ id, method }: ServerMessage): boolean {
    return method === undefined && isRequestId(id) && this.#byId.has(id);
  }

  /** Returns false if nothing waits for this message. */
  answer(message: ServerMessage, text: string): boolean {
    if (!this.wants(message)) return false;
    const id = message.id as RequestId;
    const awaited = this.#byId.get(id);
    this.#byId.delete(id);
    awaited?.answered(message, text);
    return true;
  }

  lose(id: RequestId, loss: Loss): boolean {
    const awaited = this.#byId.get(id);
    this.#byId.delete(id);
    awaited?.lost(loss);
    return awaited !== undefined;
  }

  loseAll(loss: Loss): void {
    for (const id of [...this.#byId.keys()]) this.lose(id, loss);
  }
}
