import { HoldfastError } from "../../kernel/errors.ts";
import type { NamespaceHandle } from "./commit-batch.ts";
import { Contention, StaleNamespaceError } from "./commit-batch.ts";
import type { PgNamespaceClock } from "./namespace-row.ts";
import { factsOf, insertNamespace, readNamespace } from "./namespace-row.ts";
import type { PostgresConnections } from "./postgres-connections.ts";
import type { Tables } from "./schema.ts";

const attemptsMax = 20;
/** The maximum number of namespaces for which more than the id is remembered. */
const handlesMax = 128;

/** The namespaces that this process writes to: their ids, and more data about the most recent ones. */
export class NamespaceHandles {
  readonly #connections: PostgresConnections;
  readonly #tables: Tables;
  readonly #clock: PgNamespaceClock;
  readonly #ids = new Map<string, number>();
  readonly #handles = new Map<string, NamespaceHandle>();

  constructor(connections: PostgresConnections, tables: Tables, clock: PgNamespaceClock) {
    this.#connections = connections;
    this.#tables = tables;
    this.#clock = clock;
  }

  known(namespace: string): NamespaceHandle | undefined {
    return this.#handles.get(namespace);
  }

  /** For a new namespace, inserts its row first. */
  async require(namespace: string): Promise<NamespaceHandle> {
    const id = this.#ids.get(namespace) ?? (await this.#ensureId(namespace));
    const known = this.#handles.get(namespace);
    if (known?.id === id) return known;
    const logPosition = { tables: this.#tables, clock: this.#clock, namespace, id, contention: new Contention() };
    this.#handles.set(namespace, logPosition);
    const [oldest] = this.#handles.keys();
    if (this.#handles.size > handlesMax) this.#handles.delete(oldest as string);
    return logPosition;
  }

  forget(namespace: string): void {
    this.#ids.delete(namespace);
    this.#handles.delete(namespace);
  }

  /** Allows a retry if the remembered namespace turned out to be a different one. Throws any other error, and this one too if it keeps occurring. */
  requireStale(error: unknown, namespace: string, attempt: number): void {
    if (!(error instanceof StaleNamespaceError)) throw error;
    this.forget(namespace);
    if (attempt === attemptsMax) throw new HoldfastError("unavailable", "Other processes kept recreating the namespace; nothing was changed.", { hint: "Try again." });
  }

  async #ensureId(namespace: string): Promise<number> {
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
      const facts = await this.#connections.ask(readNamespace(this.#tables, this.#clock.parameters(namespace)));
      const { id } = factsOf(facts.rows);
      if (id > 0) {
        this.#ids.set(namespace, id);
        return id;
      }
      await this.#connections.ask(insertNamespace(this.#tables, namespace));
    }
    throw new HoldfastError("unavailable", "Too many processes created namespaces at the same time; nothing was changed.", { hint: "Try again." });
  }
}
