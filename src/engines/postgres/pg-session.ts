import type { Client, ClientConfig, CustomTypesConfig, QueryResult } from "pg";
import { DeadlineError } from "./postgres-errors.ts";

/** One statement of a pipeline. With a name it is planned once per connection, where that is possible. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** Rows as arrays, in the order of the statement's columns. */
export interface StatementResult {
  readonly rows: readonly (readonly never[])[];
  readonly count: number;
}

/** Asks several statements that see one moment. */
export type Ask = (statements: readonly Statement[]) => Promise<StatementResult[]>;

/** What a new connection reports about the server behind it. */
export interface PgServerFacts {
  readonly version: string;
  /** Which history this is: the cluster's own number, its timeline, which a promotion or a restored backup changes, and the database's number. Null where the server does not say. */
  readonly identity: string | null;
  /** The server's process is the one that this connection talks to: no pooler stands between, and what is set or prepared here stays. */
  readonly isDirect: boolean;
}

/** What a failed pipeline got as far as: the position of the statement whose error came first. */
export class PipelineError extends Error {
  readonly position: number;

  constructor(position: number, cause: unknown) {
    super("A statement failed.", { cause });
    this.position = position;
  }
}

const bigint = 20;
/** Revisions, versions and times are whole numbers that JavaScript holds exactly. */
const wholeNumbers = (types: typeof import("pg").types): CustomTypesConfig =>
  ({ getTypeParser: (id: number, format: "text" | "binary") => (id === bigint ? Number : types.getTypeParser(id, format)) }) as CustomTypesConfig;

/**
 * One connection. Several statements go out in one write and are answered in order; each is a step of its own for the server,
 * so after a failure the ones behind it in the same transaction fail too, and a COMMIT behind them commits nothing.
 */
export class PgSession {
  readonly client: Client;
  facts: PgServerFacts = { version: "", identity: null, isDirect: false };
  #lost = false;

  private constructor(client: Client) {
    this.client = client;
    client.on("error", () => {
      this.#lost = true;
    });
    client.on("end", () => {
      this.#lost = true;
    });
  }

  static async open(pg: typeof import("pg"), config: ClientConfig, deadlineMs: number): Promise<PgSession> {
    const session = new PgSession(new pg.Client({ ...config, types: wholeNumbers(pg.types), pipeline: true, keepAlive: true, keepAliveInitialDelayMillis: 10_000 }));
    let timer: NodeJS.Timeout | undefined;
    try {
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new DeadlineError()), remaining(deadlineMs));
      });
      await Promise.race([session.client.connect(), late]);
      return session;
    } catch (error) {
      session.destroy();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  get isEncrypted(): boolean {
    return (this.client.connection.stream as { readonly encrypted?: boolean }).encrypted === true;
  }

  get isLost(): boolean {
    return this.#lost;
  }

  /** `deadlineMs` by `performance.now()`. Rejects with what went wrong first, once every statement is settled. */
  send(statements: readonly Statement[], deadlineMs: number): Promise<StatementResult[]> {
    return new Promise((resolve, reject) => {
      const answers: StatementResult[] = new Array(statements.length);
      let open = statements.length;
      let failure: PipelineError | undefined;
      const timer = setTimeout(() => {
        failure ??= new PipelineError(statements.length, new DeadlineError());
        this.destroy();
      }, remaining(deadlineMs));
      const settle = (): void => {
        open -= 1;
        if (open > 0) return;
        clearTimeout(timer);
        if (failure === undefined) resolve(answers);
        else reject(failure);
      };
      const { stream } = this.client.connection;
      stream.cork();
      for (const [i, statement] of statements.entries()) {
        const done = (error: unknown, result: QueryResult): void => {
          if (error) failure ??= new PipelineError(i, error);
          else answers[i] = { rows: (result.rows ?? []) as unknown as StatementResult["rows"], count: result.rowCount ?? 0 };
          settle();
        };
        this.client.query(this.#config(statement), done as never);
      }
      stream.uncork();
    });
  }

  #config({ name, text, values }: Statement) {
    return { name: this.facts.isDirect ? name : undefined, text, values: values as unknown[] | undefined, rowMode: "array" };
  }

  /** One that nobody holds does not keep the process alive. */
  hold(isHeld: boolean): void {
    const { stream } = this.client.connection as unknown as { readonly stream: { ref(): void; unref(): void } };
    if (isHeld) stream.ref();
    else stream.unref();
  }

  /** Says goodbye; for a connection that is in order. */
  async close(): Promise<void> {
    this.#lost = true;
    // Whoever closes waits for it: nothing else may be keeping the process alive.
    this.hold(true);
    await Promise.race([this.client.end().catch(() => undefined), new Promise((resolve) => setTimeout(resolve, 500).unref())]);
    this.destroy();
  }

  /** Cuts the connection: whatever it still waits for fails at once. */
  destroy(): void {
    this.#lost = true;
    this.client.connection.stream.destroy();
  }
}

export const remaining = (deadlineMs: number): number => Math.max(0, deadlineMs - performance.now());
