import { HoldfastError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import type { Ask, PgSession, Statement, StatementResult } from "./pg-session.ts";
import { PipelineError, remaining } from "./pg-session.ts";
import { Pool } from "./pool.ts";
import { DeadlineError, isAnswer, isTransient, translatePostgresError } from "./postgres-errors.ts";
import { keepDurable, transactionSettings } from "./server.ts";
import type { ServerSettings } from "./server-settings.ts";
import type { Opening } from "./transaction.ts";
import { Transaction } from "./transaction.ts";

/** How often to retry work that left no trace: a transaction that lost against another, or a connection that turned out to be dead. */
const attemptsMax = { lostRace: 6, lostConnection: 2 } as const;

/** All access to the server: every call has a deadline, translates errors, and retries only work that left no trace. */
export class PostgresConnections {
  readonly #open: (deadlineMs: number) => Promise<PgSession>;
  readonly #pool: Pool<PgSession>;
  readonly #deadlineMs: number;
  readonly #openings: { readonly direct: Opening; readonly pooled: Opening };
  readonly #log: Log;

  constructor(open: (deadlineMs: number) => Promise<PgSession>, settings: ServerSettings, log: Log) {
    this.#open = open;
    this.#pool = new Pool(open, settings.connectionsMax);
    this.#deadlineMs = settings.deadlineMs;
    this.#log = log;
    const write = "BEGIN ISOLATION LEVEL READ COMMITTED";
    const read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    const local = transactionSettings(settings)
      .map(([name, value]) => `; SET LOCAL ${name} = ${value}`)
      .join("");
    this.#openings = { direct: { write, read }, pooled: { write: `${write}${local}; ${keepDurable(true)}`, read: `${read}${local}` } };
  }

  get connections(): number {
    return this.#pool.connections;
  }

  /** Runs a single statement. Retried once if the connection breaks, so it must be safe to run twice. */
  ask(statement: Statement): Promise<StatementResult> {
    return this.withSession(async (session, deadlineMs) => (await session.send([statement], deadlineMs))[0] as StatementResult);
  }

  /** Runs several statements that see one moment. */
  reading<T>(work: (ask: Ask) => Promise<T>): Promise<T> {
    return this.withSession((session, deadlineMs) => this.#within(session, deadlineMs, (tx) => work((statements) => tx.look(statements))));
  }

  /** `work` may run several times, but never after its commit was sent. */
  writing<T>(work: (tx: Transaction) => Promise<T>, deadlineMs = this.deadlineFromNow()): Promise<T> {
    return this.withSession((session) => this.#within(session, deadlineMs, work), deadlineMs);
  }

  /** By `performance.now()`. */
  deadlineFromNow(): number {
    return performance.now() + this.#deadlineMs;
  }

  async withSession<T>(work: (session: PgSession, deadlineMs: number) => Promise<T>, deadlineMs = this.deadlineFromNow()): Promise<T> {
    let lostRaces = 0;
    let lostConnections = 0;
    for (;;) {
      let wasReached = false;
      try {
        return await this.#pool.use(deadlineMs, (session) => {
          wasReached = true;
          return work(session, deadlineMs);
        });
      } catch (error) {
        const cause = error instanceof PipelineError ? error.cause : error;
        if (cause instanceof HoldfastError) {
          if (cause.code === "outcome_unknown") this.#pool.dropIdle();
          throw cause;
        }
        if (isTransient(cause) && lostRaces < attemptsMax.lostRace) {
          lostRaces += 1;
          await new Promise((resolve) => setTimeout(resolve, Math.min(remaining(deadlineMs), Math.random() * 10 * 2 ** lostRaces)));
          continue;
        }
        if (!isAnswer(cause)) {
          if (wasReached) this.#pool.dropIdle();
          if (wasReached && !(cause instanceof DeadlineError) && lostConnections < attemptsMax.lostConnection && remaining(deadlineMs) > 0) {
            lostConnections += 1;
            continue;
          }
        }
        this.#log("warn", "postgres_failed", { reason: (cause as Error).message, code: (cause as { readonly code?: string }).code });
        throw translatePostgresError(cause);
      }
    }
  }

  /** A connection outside the pool, for a caller that keeps it. */
  async openApart(): Promise<PgSession> {
    try {
      return await this.#open(performance.now() + this.#deadlineMs);
    } catch (error) {
      throw translatePostgresError(error);
    }
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #within<T>(session: PgSession, deadlineMs: number, work: (tx: Transaction) => Promise<T>): Promise<T> {
    const tx = new Transaction(session, deadlineMs, this.#openings[session.facts.isDirect ? "direct" : "pooled"]);
    try {
      return await work(tx);
    } finally {
      await tx.abandon();
    }
  }
}
