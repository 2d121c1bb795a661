import type { PgSession, PipelineError, Statement, StatementResult } from "./pg-session.ts";
import { outcomeUnknown, sqlState } from "./postgres-errors.ts";

/** Distributed servers may report this for a commit. */
const completionUnknown = "40003";

/** How a transaction begins: including its settings, if they do not persist on the connection. */
export interface Opening {
  readonly write: string;
  readonly read: string;
}

/**
 * One transaction on one connection: a first round trip that begins it, optional ones that read more, and a last one that ends it. Until the last one is sent,
 * nothing can have changed.
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

  /** For reading; begins the transaction with the first statements. */
  look(statements: readonly Statement[]): Promise<StatementResult[]> {
    return this.#state === "open" ? this.ask(statements) : this.#begin(this.#opening.read, statements);
  }

  /**
   * For writing; begins the transaction with locks, taken before the statements read anything. `lockWaitMs`: how long to wait for a lock; by default, most of a
   * deadline.
   */
  lock(statements: readonly Statement[], lockWaitMs?: number): Promise<StatementResult[]> {
    // 0 would mean forever.
    return this.#begin(lockWaitMs === undefined ? this.#opening.write : `${this.#opening.write}; SET LOCAL lock_timeout = ${Math.max(1, Math.ceil(lockWaitMs))}`, statements);
  }

  /** Sends statements within the open transaction. */
  ask(statements: readonly Statement[]): Promise<StatementResult[]> {
    return this.session.send(statements, this.deadlineMs);
  }

  async #begin(opening: string, statements: readonly Statement[]): Promise<StatementResult[]> {
    this.#state = "open";
    const [, ...answers] = await this.session.send([{ text: opening }, ...statements], this.deadlineMs);
    return answers;
  }

  /** An error from the server before the COMMIT, or from the COMMIT itself, means that nothing was changed. After any other failure, the outcome is unknown. */
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

  /** Rolls the transaction back if it is still open. */
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
