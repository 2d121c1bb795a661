import type { PgSession, PipelineError, Statement, StatementResult } from "./pg-session.ts";
import { outcomeUnknown, sqlState } from "./postgres-errors.ts";

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
  readonly session: PgSession;
  readonly deadlineMs: number;
  readonly #opening: Opening;
  #state: "new" | "open" | "ended" = "new";

  constructor(session: PgSession, deadlineMs: number, opening: Opening) {
    this.session = session;
    this.deadlineMs = deadlineMs;
    this.#opening = opening;
  }

  /** For reading; begins with the first statements asked. */
  look(statements: readonly Statement[]): Promise<StatementResult[]> {
    return this.#state === "open" ? this.ask(statements) : this.#begin(this.#opening.read, statements);
  }

  /** For writing; begins with locks, taken before the statements see anything. `patienceMs`: how long one of them is waited for, if not for most of a deadline. */
  lock(statements: readonly Statement[], lockWaitMs?: number): Promise<StatementResult[]> {
    // 0 would mean for ever.
    return this.#begin(lockWaitMs === undefined ? this.#opening.write : `${this.#opening.write}; SET LOCAL lock_timeout = ${Math.max(1, Math.ceil(lockWaitMs))}`, statements);
  }

  /** Inside of what has begun. */
  ask(statements: readonly Statement[]): Promise<StatementResult[]> {
    return this.session.send(statements, this.deadlineMs);
  }

  async #begin(opening: string, statements: readonly Statement[]): Promise<StatementResult[]> {
    this.#state = "open";
    const [, ...answers] = await this.session.send([{ text: opening }, ...statements], this.deadlineMs);
    return answers;
  }

  /** The server's own no, given before it came to the COMMIT or by the COMMIT itself, leaves nothing behind. Anything else leaves us in the dark. */
  async commit(statements: readonly Statement[]): Promise<StatementResult[]> {
    this.#state = "ended";
    try {
      return await this.session.send([...statements, { text: "COMMIT" }], this.deadlineMs);
    } catch (error) {
      const { position, cause } = error as PipelineError;
      const state = sqlState(cause);
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
