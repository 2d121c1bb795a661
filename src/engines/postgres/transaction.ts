import type { PgSession, Statement, StatementResult } from "./pg-session.ts";
import { PipelineError } from "./pg-session.ts";
import { isAnswer, outcomeUnknown, sqlState } from "./postgres-errors.ts";

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

  async commit(statements: readonly Statement[]): Promise<StatementResult[]> {
    return this.#end([...statements, { text: "COMMIT" }], (position, state) => position < statements.length || /^(23|25|40)/.test(state));
  }

  /** All in one round trip: where the first statement divides by zero, the server does nothing of it and of what follows, and there is no answer. */
  async commitIf(statements: readonly Statement[]): Promise<StatementResult[] | undefined> {
    const { session } = this;
    // A statement by itself is a transaction, where nothing has to be set for it.
    const isAlone = statements.length === 1 && session.facts.isDirect;
    try {
      if (isAlone) return await this.#end(statements, (_, __, cause) => isAnswer(cause));
      const [, ...answers] = await this.#end(
        [{ text: this.#opening.write }, ...statements, { text: "COMMIT" }],
        (position, state) => position <= statements.length || /^(23|25|40)/.test(state),
      );
      return answers;
    } catch (error) {
      if (error instanceof PipelineError && error.position === (isAlone ? 0 : 1) && sqlState(error.cause) === divisionByZero) return undefined;
      throw error;
    }
  }

  /** The server's own no, given before it came to the COMMIT or by the COMMIT itself, leaves nothing behind. Anything else leaves us in the dark. */
  async #end(statements: readonly Statement[], isNo: (position: number, state: string, cause: unknown) => boolean): Promise<StatementResult[]> {
    this.#state = "ended";
    try {
      return await this.session.send(statements, this.deadlineMs);
    } catch (error) {
      const { position, cause } = error as PipelineError;
      const state = sqlState(cause);
      if (state !== undefined && state !== completionUnknown && isNo(position, state, cause)) throw error;
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
