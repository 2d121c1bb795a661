import type { Snapshot } from "../../store/store.ts";
import { BatchScheduler } from "./batch-scheduler.ts";
import type { RawEntry } from "./log-rows.ts";
import { entryColumns, toEntry } from "./log-rows.ts";
import type { PgNamespaceClock, PgNamespaceRow } from "./namespace-row.ts";
import { withNamespace } from "./namespace-row.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import type { PostgresConnections } from "./postgres-connections.ts";
import type { Tables } from "./schema.ts";
import { texts } from "./sql-arrays.ts";

/** Keys in one statement at most: their values may be large. */
const keysMax = 32;
/** Statements at once: few readers wait for nobody, many share. */
const statementsMax = 4;

interface Asked {
  readonly namespace: string;
  readonly key: string;
  readonly hasValue: boolean;
  readonly resolve: (snapshot: Snapshot) => void;
  readonly reject: (error: unknown) => void;
}

export interface PointReading {
  readonly tables: Tables;
  readonly clock: PgNamespaceClock;
  /** The facts that came with an answer, if the namespace may be read. */
  readonly readable: (answer: StatementResult, namespace: string) => PgNamespaceRow;
}

/** Combines reads of single keys that arrive at the same time into one statement. They all see one moment, which is later than each of the requests. */
export class PointReads {
  readonly #connections: PostgresConnections;
  readonly #reading: PointReading;
  readonly #scheduler = new BatchScheduler(statementsMax, () => this.#begin());
  #waiting: Asked[] = [];

  constructor(connections: PostgresConnections, reading: PointReading) {
    this.#connections = connections;
    this.#reading = reading;
  }

  read(namespace: string, key: string, hasValue: boolean): Promise<Snapshot> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ namespace, key, hasValue, resolve, reject });
      this.#scheduler.schedule();
    });
  }

  #begin(): boolean {
    const group = this.#take();
    if (group.length > 0) void this.#scheduler.run(() => this.#ask(group));
    return group.length > 0;
  }

  /** Those that ask the same of the same namespace as the first. */
  #take(): Asked[] {
    const [first] = this.#waiting;
    if (first === undefined) return [];
    const group: Asked[] = [];
    const left: Asked[] = [];
    for (const asked of this.#waiting) {
      const goesAlong = asked.namespace === first.namespace && asked.hasValue === first.hasValue && group.length < keysMax;
      (goesAlong ? group : left).push(asked);
    }
    this.#waiting = left;
    return group;
  }

  async #ask(group: readonly Asked[]): Promise<void> {
    const [{ namespace, hasValue }] = group as readonly [Asked];
    const { tables, clock, readable } = this.#reading;
    try {
      const answer = await this.#connections.ask(
        readKeys(
          tables,
          clock.parameters(namespace),
          group.map(({ key }) => key),
          hasValue,
        ),
      );
      const { revision, nowMs } = readable(answer, namespace);
      const found: (RawEntry | undefined)[] = [];
      for (const [, position, ...entry] of answer.rows as unknown as [string | null, number | null, ...RawEntry][]) if (position !== null) found[position - 1] = entry;
      for (const [i, { resolve }] of group.entries()) {
        const entry = found[i];
        resolve({ revision, nowMs, entries: entry === undefined ? [] : [toEntry(entry)], more: false });
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}

const readKeys = (t: Tables, parameters: readonly unknown[], keys: readonly string[], hasValue: boolean): Statement => ({
  name: hasValue ? "read-keys-values" : "read-keys",
  text: `${withNamespace(t)} SELECT CASE WHEN u.i = 1 THEN n.facts END, e.i, ${entryColumns("e")}${hasValue ? `, (SELECT l.v FROM ${t.log} l WHERE l.ns = n.id AND l.place = e.place)` : ""}
    FROM n CROSS JOIN unnest($4::text[]) WITH ORDINALITY AS u (k, i)
    LEFT JOIN LATERAL (SELECT u.i, kv.* FROM ${t.kv} kv WHERE kv.ns = n.id AND kv.k = u.k AND (kv.exp IS NULL OR kv.exp > n.now) LIMIT 1) e ON true`,
  values: [...parameters, texts(keys)],
});
