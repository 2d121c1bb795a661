import { outcomeUnknown, sqlState } from "./postgres-errors.ts";
import type { Answer, Session, Statement } from "./session.ts";
import { PipelineError, remaining } from "./session.ts";

const divisionByZero = "22012";
/** Said of a commit by servers that are several machines. */
const completionUnknown = "40003";

/** How a transaction begins: with its settings where they do not stay with the connection. */
export interface Opening {
  readonly write: string;
  readonly read: string;
}

/**
 * One transaction on one connection: a first round trip that begins it, others that look further, a last one that ends it.
 * Until the last is sent, nothing can have changed.
 */
export class Transaction {
  readonly session: Session;
  readonly deadlineMs: number;
  /** Enough for the server to give up waiting for a lock and to say so. */
  readonly hasTime: boolean;
  readonly #opening: Opening;
  #state: "new" | "open" | "ended" = "new";

  constructor(session: Session, deadlineMs: number, lockMs: number, opening: Opening) {
    this.session = session;
    this.deadlineMs = deadlineMs;
    this.hasTime = remaining(deadlineMs) > lockMs;
    this.#opening = opening;
  }

  /** For reading; begins with the first statements asked. */
  look(statements: readonly Statement[]): Promise<Answer[]> {
    return this.#state === "open" ? this.ask(statements) : this.#begin(this.#opening.read, statements);
  }

  /** For writing; begins with a lock, taken before the statements see anything. */
  lock(lock: string, statements: readonly Statement[]): Promise<Answer[]> {
    return this.#begin(`${this.#opening.write}; ${lock}`, statements);
  }

  /** Inside of what has begun. */
  ask(statements: readonly Statement[]): Promise<Answer[]> {
    return this.session.send(statements, this.deadlineMs);
  }

  async #begin(opening: string, statements: readonly Statement[]): Promise<Answer[]> {
    this.#state = "open";
    const [, ...answers] = await this.session.send([{ text: opening }, ...statements], this.deadlineMs);
    return answers;
  }

  commit(statements: readonly Statement[]): Promise<Answer[]> {
    return this.#end(statements);
  }

  /** All in one round trip: where the guard divides by zero, the server does nothing of what follows, and the answer is `false`. */
  async commitIf(guard: string, statements: readonly Statement[]): Promise<boolean> {
    try {
      await this.#end([{ text: `${this.#opening.write}; ${guard}` }, ...statements]);
      return true;
    } catch (error) {
      if (error instanceof PipelineError && error.position === 0 && sqlState(error.cause) === divisionByZero) return false;
      throw error;
    }
  }

  async #end(statements: readonly Statement[]): Promise<Answer[]> {
    this.#state = "ended";
    try {
      return await this.session.send([...statements, { text: "COMMIT" }], this.deadlineMs);
    } catch (error) {
      const { position, cause } = error as PipelineError;
      const state = sqlState(cause);
      // The server's own no, given before it came to the COMMIT or by the COMMIT itself, leaves nothing behind. Anything else leaves us in the dark.
      if (state !== undefined && state !== completionUnknown && (position < statements.length || /^(23|25|40)/.test(state))) throw error;
      throw outcomeUnknown(cause);
    }
  }

  /** Ends it without a trace, if it is still open. */
  async abandon(): Promise<void> {
    if (this.#state !== "open") return;
    this.#state = "ended";
    if (this.session.isLost) return;
    try {
      await this.session.send([{ text: "ROLLBACK" }], Math.min(this.deadlineMs, performance.now() + 1_000));
    } catch {
      this.session.destroy();
    }
  }
}
