import type { FoundKey, RowReads } from "../../ledger/rows.ts";
import { BatchScheduler } from "./batch-scheduler.ts";
import type { RawEntry } from "./log-rows.ts";
import { entryColumns, toEntry } from "./log-rows.ts";
import type { PgNamespaceClock } from "./namespace-row.ts";
import { factsOf, withNamespace } from "./namespace-row.ts";
import type { Statement } from "./pg-session.ts";
import type { PostgresConnections } from "./postgres-connections.ts";
import type { Tables } from "./schema.ts";
import { texts } from "./sql-arrays.ts";

/** The maximum number of keys in one statement: their values may be large. */
const keysMax = 32;
/** Concurrent statements: a few readers need not wait, many share. */
const statementsMax = 4;

interface Asked {
  readonly reads: RowReads;
  readonly namespace: string;
  readonly key: string;
  readonly hasValue: boolean;
  readonly resolve: (found: FoundKey) => void;
  readonly reject: (error: unknown) => void;
}

/** Combines reads of single keys that arrive at the same time into one statement. They all see one moment, which is later than each request. */
export class PointReads {
  readonly #connections: PostgresConnections;
  readonly #tables: Tables;
  readonly #clock: PgNamespaceClock;
  readonly #scheduler = new BatchScheduler(statementsMax, () => this.#begin());
  #waiting: Asked[] = [];

  constructor(connections: PostgresConnections, tables: Tables, clock: PgNamespaceClock) {
    this.#connections = connections;
    this.#tables = tables;
    this.#clock = clock;
  }

  read(reads: RowReads, namespace: string, key: string, hasValue: boolean): Promise<FoundKey> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ reads, namespace, key, hasValue, resolve, reject });
      this.#scheduler.schedule();
    });
  }

  #begin(): boolean {
    const group = this.#take();
    if (group.length > 0) void this.#scheduler.run(() => this.#ask(group));
    return group.length > 0;
  }

  /** The requests for the same namespace and the same columns as the first. */
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
    const keys = group.map(({ key }) => key);
    try {
      const { rows } = await this.#connections.ask(readKeys(this.#tables, this.#clock.parameters(namespace), keys, hasValue));
      const found: (RawEntry | undefined)[] = [];
      for (const [, position, ...entry] of rows as unknown as [string | null, number | null, ...RawEntry][]) if (position !== null) found[position - 1] = entry;
      const space = factsOf(rows);
      for (const [i, { reads, resolve }] of group.entries()) resolve({ reads, space, entry: found[i] && toEntry(found[i]) });
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
