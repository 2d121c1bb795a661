import type { Client, ClientConfig, CustomTypesConfig, QueryResult } from "pg";
import type { Work } from "../../ledger/rows.ts";
import { DeadlineError } from "./postgres-errors.ts";

/** One statement of a pipeline. A named statement is planned once per connection, if possible. */
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

/** Sends statements. Within a transaction, they see one moment. */
export type Ask = (statements: readonly Statement[]) => Promise<StatementResult[]>;

/** The result of one statement, within work on rows. Such work yields statements. */
export function* one(statement: Statement): Generator<readonly Statement[], StatementResult, StatementResult[]> {
  const [answer] = yield [statement];
  return answer as StatementResult;
}

/** Runs work on rows and sends its statements with `ask`. */
export async function runWork<T>(work: Work<T>, ask: Ask): Promise<T> {
  for (let step = work.next(); ; step = work.next((await ask(step.value as readonly Statement[])) as never)) if (step.done) return step.value;
}

/** What a new connection reports about the server behind it. */
export interface PgServerFacts {
  readonly version: string;
  /**
   * Identifies the history: the cluster's system identifier, its timeline, which changes with a promotion or a restored backup, and the database's oid. Null if the
   * server does not report them.
   */
  readonly identity: string | null;
  /** The connection leads directly to the server process, without a pooler, so settings and prepared statements persist. */
  readonly isDirect: boolean;
}

/** How far a failed pipeline got: the index of the statement that failed first. */
export class PipelineError extends Error {
  readonly position: number;

  constructor(position: number, cause: unknown) {
    super("A statement failed.", { cause });
    this.position = position;
  }
}

const bigint = 20;
/** Revisions, versions and times are integers that JavaScript represents exactly. */
const wholeNumbers = (types: typeof import("pg").types): CustomTypesConfig =>
  ({ getTypeParser: (id: number, format: "text" | "binary") => (id === bigint ? Number : types.getTypeParser(id, format)) }) as CustomTypesConfig;

/**
 * One connection. Several statements are sent in one write and answered in order. The server executes each separately,
 * so after a failure the later ones in the same transaction fail too, and a COMMIT after them commits nothing.
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

  /** `deadlineMs` by `performance.now()`. Rejects with the first error, once every statement is settled. */
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

  /** A connection that is not held does not keep the process alive. */
  hold(isHeld: boolean): void {
    const { stream } = this.client.connection as unknown as { readonly stream: { ref(): void; unref(): void } };
    if (isHeld) stream.ref();
    else stream.unref();
  }

  /** Closes the connection properly; only for a connection that works. */
  async close(): Promise<void> {
    this.#lost = true;
    // The caller waits for this, and nothing else may be keeping the process alive.
    this.hold(true);
    await Promise.race([this.client.end().catch(() => undefined), new Promise((resolve) => setTimeout(resolve, 500).unref())]);
    this.destroy();
  }

  /** Cuts the connection: everything it still waits for fails at once. */
  destroy(): void {
    this.#lost = true;
    this.client.connection.stream.destroy();
  }
}

export const remaining = (deadlineMs: number): number => Math.max(0, deadlineMs - performance.now());
